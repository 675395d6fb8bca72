"""A running query, as its owner sees it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from py4j.protocol import Py4JError
from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery

from penstock.arguments import check_wait, checked
from penstock.elasticity.decision import Decision
from penstock.elasticity.observation import Observation
from penstock.engine.failures import as_query_error
from penstock.engine.own_queries import note_ended
from penstock.engine.patient_sinks import StopRequested
from penstock.engine.progress import Progress, parse_progress
from penstock.engine.runner import Runner
from penstock.errors import ConfigurationError, PenstockError
from penstock.journal.events import QueryStopped
from penstock.journal.writer import JournalWriter
from penstock.secrets import logger
from penstock.topology.adaptation import Operation, Strategy, check_strategy
from penstock.topology.dag import Topology
from penstock.topology.explain import Format, explain

State = Literal["running", "stopped", "failed"]
_LOOK_EVERY_SECONDS = 0.2
_ENDS_WITHIN_SECONDS = 0.01

_log = logger("penstock.engine")


@dataclass(frozen=True, slots=True)
class QueryStatus:
    """What a query is doing now, by its last finished micro-batch.

    ``state`` is ``"running"``, ``"stopped"`` or ``"failed"``; ``last`` is the whole observation,
    and ``watermarks_seconds`` is by source. Before the first micro-batch ``batch_id`` and ``last``
    are None; after a restart it starts anew.
    """

    state: State
    batch_id: int | None = None
    rows_in: int = 0
    rows_per_second: float = 0.0
    batch_seconds: float = 0.0
    waiting_rows: int | None = None
    slots: int = 0
    watermarks_seconds: Mapping[str, float | None] = field(default_factory=dict)
    last: Observation | None = None


class Query:
    """A topology that runs. Stop it with ``stop()``, wait for it with ``await_termination()``."""

    def __init__(
        self, spark_query: StreamingQuery, runner: Runner, journal: JournalWriter, journal_dir: str
    ) -> None:
        self._spark_query = spark_query
        self._run_id = str(spark_query.runId)
        self._runner = runner
        self._journal = journal
        self._closed = False
        self._at_end: list[Callable[[], object]] = []
        self.journal_dir = journal_dir
        self.metrics_address: str | None = None
        self.dashboard_address: str | None = None
        self._closing = threading.Lock()
        runner.progress = self._progress
        runner.admitting.query = spark_query
        # A query may end while nobody waits for it; its journal must not stay open then.
        self._watcher = threading.Thread(target=self._watch, name="penstock-end", daemon=True)
        self._watcher.start()

    @property
    def id(self) -> str:
        """The query's identity, the same after a restart from its checkpoint."""
        return self._runner.checkpoint.query_id

    @property
    def topology(self) -> Topology:
        """What runs."""
        return self._runner.topology

    @property
    def is_active(self) -> bool:
        """Whether the query still runs."""
        return bool(self._spark_query.isActive)

    def explain(self, format: Format = "text") -> str:
        """Show operators, the components they run in now, and what runs in the JVM and in Python.

        ``format="html"`` is a page with a picture, ``"mermaid"`` a drawing as text.
        """
        return explain(self._runner.regrouping.components, format)

    def adapt(self, *operations: Operation, strategy: Strategy | None = None) -> tuple[str, ...]:
        """Change which operators run together, or with how many slots, between two micro-batches.

        Takes ``Migrate``, ``RePartition``, ``Split`` and ``Combine``, which are applied together
        before the next micro-batch begins. ``strategy`` is ``"instant"``, ``"smooth"`` or
        ``"disruptive"``, where there is a choice; unless said, the least disruptive. Returns the
        operations that they come down to; without a next micro-batch they come to nothing. Raises
        ``ConfigurationError`` where the plan that they lead to can't run, or the query has ended.
        The optimiser may change it again; ``Optimiser(period=0)`` does not.
        """
        if not operations or not all(isinstance(each, Operation) for each in operations):
            raise ConfigurationError(
                "adapt takes operations. Write for example adapt(ps.Split('by_area'))."
            )
        check_strategy(strategy)
        if not self.is_active:
            raise ConfigurationError(
                "the query has ended, and there is no micro-batch before which its plan could "
                "change. Start it again with run(...), and ask while it runs."
            )
        return self._runner.regrouping.ask(operations, strategy, "asked for by the user")

    @checked
    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait until the query ends, at most ``timeout`` seconds; raise what made it fail.

        Returns whether it has ended.
        """
        check_wait("Query.await_termination", "timeout", timeout)
        deadline = None if timeout is None else time.monotonic() + timeout
        while self.is_active:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return False
            try:
                wait = _LOOK_EVERY_SECONDS if left is None else min(left, _LOOK_EVERY_SECONDS)
                self._spark_query.awaitTermination(max(wait, 0.001))  # type: ignore[arg-type]
            except StreamingQueryException:
                # Told a moment before the query counts as ended, and only then is it known why.
                time.sleep(_ENDS_WITHIN_SECONDS)
        self._close()
        failure = self.exception()
        if failure is not None:
            raise failure
        return True

    @checked
    def stop(self, timeout: float | None = 60.0) -> None:
        """End the query after the micro-batch that is running.

        After ``timeout`` seconds the batch is broken off; a restart runs it again from its start,
        so nothing is lost or doubled either way. Called by a sink in the middle of a batch it
        returns at once, and the query ends when that batch is done.
        """
        # Before anything else: a mistake must not end the query.
        check_wait("Query.stop", "timeout", timeout)
        self._runner.stopping = True
        if self._runner.is_running_here():
            threading.Thread(target=self.stop, args=(timeout,), daemon=True).start()
            return
        if self._runner.busy.acquire(timeout=-1 if timeout is None else timeout):
            # Not kept: Spark's stop waits for its thread, which may be waiting for this lock.
            self._runner.busy.release()
        else:
            self._runner.breaking_off = True
        self._spark_query.stop()
        self._close()

    def exception(self) -> PenstockError | None:
        """Return what made the query fail, or None."""
        if self.is_active:
            return None
        cause = self._spark_query.exception()
        if cause is None or self._was_stopped_before(cause):
            return None
        return self._runner.failure or as_query_error(cause, self._runner.places)

    def status(self) -> QueryStatus:
        """Return what the query is doing now."""
        last, progress = self._runner.monitor.last, self._progress()
        state: State = "running" if self.is_active else "stopped"
        if self.exception() is not None:
            state = "failed"
        marks = self._runner.watermarks_micros
        return QueryStatus(
            state=state,
            batch_id=last.batch_id if last else None,
            rows_in=last.rows_in if last else 0,
            rows_per_second=last.rows_in / last.batch_seconds if last else 0.0,
            batch_seconds=last.batch_seconds if last else 0.0,
            waiting_rows=_total(progress.waiting) if progress else None,
            slots=self._runner.planning.slots_in_use,
            watermarks_seconds={
                name: None if mark is None else mark / 1e6 for name, mark in marks.items()
            },
            last=last,
        )

    def decisions(self) -> list[Decision]:
        """Return the decisions taken so far, oldest first, each with its reason."""
        return list(self._runner.planning.loop.decisions)

    @checked
    def when_ended(self, then: Callable[[], object]) -> None:
        """Have ``then`` called once the query has ended; at once where it has."""
        with self._closing:
            if not self._closed:
                self._at_end.append(then)
                return
        _call(then)

    def _was_stopped_before(self, cause: BaseException) -> bool:
        """Whether the query ended because a stop kept its next batch from starting."""
        return self._runner.failure is None and StopRequested.__name__ in str(cause)

    def _progress(self) -> Progress | None:
        java: Any = self._spark_query._jsq
        report = java.lastProgress()
        if report is None:
            return None
        return parse_progress(report.json(), self._runner.checkpoint.sources)

    def _watch(self) -> None:
        with suppress(StreamingQueryException, Py4JError):
            self._spark_query.awaitTermination()
        with suppress(Py4JError):  # Spark itself may be gone
            self._close()

    def _close(self) -> None:
        with self._closing:
            if self._closed or self.is_active:
                return
            self._closed = True
            self._end()

    def _end(self) -> None:
        failure = self.exception()
        reason = "failed" if failure else "ended"
        try:
            self._runner.close()
        finally:
            self._journal.write(QueryStopped(reason, str(failure) if failure else None))
            self._journal.close()
            self._runner.checkpoint.lock.release()
            note_ended(self._run_id)
            for then in self._at_end:
                _call(then)


def _total(waiting: Mapping[str, int | None]) -> int | None:
    told = [rows for rows in waiting.values() if rows is not None]
    return sum(told) if told else None


def _call(then: Callable[[], object]) -> None:
    """Do what is left to do after the end, of which nothing may pass for a failure of the query."""
    try:
        then()
    except Exception as error:
        _log.warning("something to be done after the query failed: %s", error)
