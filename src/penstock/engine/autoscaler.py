"""Looks after the slots of streaming queries that somebody else started."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from types import TracebackType

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from penstock.arguments import checked
from penstock.elasticity.control import carried_out
from penstock.elasticity.decision import Decision, Policy
from penstock.elasticity.query_progress import QueryProgress, TaskTimes, parse_query_progress
from penstock.elasticity.watched_queries import Pool, WatchedQueries, decision_for_query
from penstock.engine.autoscale_status import AutoscaleStatus, QueryDecision, status_of
from penstock.engine.known_secrets import learn_secrets
from penstock.engine.own_queries import is_own
from penstock.engine.progress_listener import Ended, Heard, ProgressListener, Reported, WasIdle
from penstock.engine.session import spark_version
from penstock.engine.slots import ElasticSlots, Slots, local_cores
from penstock.engine.spark_queries import SparkQueries
from penstock.engine.taking_control import TakingControl
from penstock.errors import text_of
from penstock.journal.control_file import WatchedControl
from penstock.journal.events import (
    BatchFinished,
    DecisionMade,
    FaultSeen,
    ForecastMade,
    KnownEvent,
    QueryStarted,
    QueryStopped,
    SlotsChanged,
)
from penstock.journal.writer import JournalWriter
from penstock.secrets import logger
from penstock.version import __version__

KEPT_DECISIONS = 1_000
LOOK_SECONDS = 1.0
_STOP_SECONDS = 10.0

_log = logger("penstock.autoscale")


@dataclass(frozen=True, slots=True)
class AutoscaleSetting:
    """What an autoscaler is made with; ``pool`` is None where nothing is to be changed."""

    policy: Policy
    slots: Slots
    pool: ElasticSlots | None
    most_slots: int | None
    queries: frozenset[str] | None
    clock: Callable[[], float]


class _Stop:
    """Put in the queue to end the thread."""


class Autoscaler:
    """Watches the streaming queries of a session. ``stop()`` takes it away again.

    Spark's threads only leave what they tell in a queue; a thread of its own does the rest, so no
    query ever waits for this, and whatever goes wrong here is journaled and fails no query.
    """

    def __init__(
        self, spark: SparkSession, setting: AutoscaleSetting, journal: JournalWriter | None
    ) -> None:
        learn_secrets(spark)
        self._spark = spark
        self._setting = setting
        self._journal = journal
        self._asked = TakingControl(
            WatchedControl(journal.directory) if journal is not None else None, self._write
        )
        self._queries = WatchedQueries(setting.policy)
        self._spark_queries = SparkQueries(spark)
        self._decisions: deque[QueryDecision] = deque(maxlen=KEPT_DECISIONS)
        self._heard: SimpleQueue[Heard | _Stop] = SimpleQueue()
        self._planned: int | None = None
        self._looking = threading.Lock()
        self._stopping = threading.Lock()
        self._stopped = False
        self._closed = threading.Event()
        self._at_end: list[Callable[[], object]] = []
        self.metrics_address: str | None = None
        self._settled = False
        self._cores = local_cores(spark.sparkContext)
        self._thread = threading.Thread(target=self._run, name="penstock-autoscale", daemon=True)
        self._listener = ProgressListener(self._heard.put)
        if setting.pool is not None:
            setting.pool.attach(spark, self._write)
        try:
            self._pool = self._look()
            spark.streams.addListener(self._listener)
        except BaseException:
            if setting.pool is not None:
                setting.pool.detach()
            raise
        self._thread.start()

    def decisions(self) -> list[QueryDecision]:
        """Return the last 1,000 decisions, oldest first; one that changes nothing is not there."""
        return list(self._decisions)

    def status(self) -> AutoscaleStatus:
        """Return which queries are looked after, and what each should have."""
        with self._looking:
            queries = tuple(status_of(query) for query in self._queries.by_run.values())
            planned = self._planned if self._planned is not None else self._pool.slots
        return AutoscaleStatus(
            state="stopped" if self._stopped else "watching",
            dry_run=self._setting.pool is None,
            slots=self._pool.slots,
            planned_slots=planned,
            queries=queries,
        )

    def stop(self) -> None:
        """Stop watching, and leave the session as it was found; queries run on."""
        with self._stopping:
            if self._stopped:
                return
            self._stopped = True
            with suppress(Py4JError, OSError):  # Spark itself may be gone
                self._spark.streams.removeListener(self._listener)
            self._heard.put(_Stop())
            self._thread.join(_STOP_SECONDS)
            # A thread that is still at work must not ask a pool that is somebody else's by then.
            self._closed.set()
            if self._setting.pool is not None:
                self._setting.pool.detach()
            if self._journal is not None:
                self._journal.close()
            for then in self._at_end:
                then()

    @checked
    def when_ended(self, then: Callable[[], object]) -> None:
        """Have ``then`` called when it was stopped; at once where it is."""
        with self._stopping:
            if not self._stopped:
                self._at_end.append(then)
                return
        then()

    def __enter__(self) -> Autoscaler:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def _run(self) -> None:
        while True:
            self._settled = False
            pile = _pile(self._heard, LOOK_SECONDS)
            self._look_at_control()
            for heard in pile:
                if isinstance(heard, _Stop) or self._closed.is_set():
                    return
                try:
                    self._take(heard)
                except Exception as error:
                    self._fault(None, "watching a query failed", error)

    def _look_at_control(self) -> None:
        """Let what somebody asks for take effect now, where that is new."""
        try:
            if self._asked.look(None) and self._queries.by_run and not self._closed.is_set():
                self._have(self._asked.control.describe())
        except Exception as error:
            self._fault(None, "following a control failed", error)

    def _take(self, heard: Heard) -> None:
        if isinstance(heard, Reported):
            self._after(parse_query_progress(heard.json))
        elif isinstance(heard, WasIdle):
            query = self._queries.by_run.get(heard.run_id)
            if query is not None:
                self._after(query.progress.idle_at(self._setting.clock()))
        else:
            self._end(heard)

    def _after(self, progress: QueryProgress) -> None:
        """Journal what a query reported, let its policy decide, and have the slots for it."""
        if is_own(progress.run_id):
            # The first report of a query can come before ps.run has said that it is its own.
            self._drop(progress.run_id, "left alone", None, "looks after itself")
            return
        if not self._is_chosen(progress):
            return
        times = self._task_times(progress)
        self._pool = self._look()
        if self._closed.is_set():
            return
        if progress.run_id not in self._queries.by_run and not self._begin(progress):
            return
        with self._looking:
            seen = self._queries.see(progress, self._pool, times)
            query = self._queries.by_run[progress.run_id]
        self._write(BatchFinished(seen, committed_seconds=seen.at_seconds, query=progress.title))
        try:
            decision = decision_for_query(query.policy.decide(seen))
        except Exception as error:
            self._fault(seen.batch_id, f"the policy of {progress.title} failed", error)
            return
        if self._closed.is_set():
            return
        if decision != query.decision:
            with self._looking:
                query.decision = decision
            self._tell(progress, decision)
        self._have(decision.reason)

    def _task_times(self, progress: QueryProgress) -> TaskTimes | None:
        # Waiting once is enough for all reports of a pile: their batches had run before it.
        if progress.ran_batch and not self._settled:
            self._spark_queries.settle()
            self._settled = True
        return self._spark_queries.task_times(progress)

    def _is_chosen(self, progress: QueryProgress) -> bool:
        chosen = self._setting.queries
        return chosen is None or progress.name in chosen or progress.query_id in chosen

    def _begin(self, progress: QueryProgress) -> bool:
        """Take up a query; say whether its policy could begin."""

        def trigger() -> tuple[bool, float | None]:
            return self._spark_queries.trigger(progress.run_id)

        try:
            with self._looking:
                query = self._queries.begin(progress, self._pool, trigger)
        except Exception as error:
            self._fault(progress.batch_id, f"the policy of {progress.title} failed", error)
            return False
        sources = ", ".join(source.name for source in progress.sources)
        self._write(
            QueryStarted(
                query_id=progress.query_id,
                name=progress.title,
                topology=f"{progress.title} <- {sources}",
                penstock_version=__version__,
                spark_version=spark_version(),
                slots=self._pool.slots,
            )
        )
        self._tell(progress, query.decision, batch_id=-1)
        return True

    def _tell(
        self, progress: QueryProgress, decision: Decision, batch_id: int | None = None
    ) -> None:
        batch_id = progress.batch_id if batch_id is None else batch_id
        self._decisions.append(QueryDecision(progress.title, batch_id, decision))
        forecast = ForecastMade.of(batch_id, decision, progress.title)
        if forecast is not None:
            self._write(forecast)
        self._write(DecisionMade(batch_id, decision, progress.title))
        _log.info("%s: %d slots: %s", progress.title, decision.slots, decision.reason)

    def _have(self, reason: str) -> None:
        """Have the slots that all queries together should have, as far as the control allows."""
        wanted = Decision(self._queries.planned(self._pool), reason)
        in_force = self._planned if self._planned is not None else self._pool.slots
        decision = carried_out(
            self._asked.control, wanted, Decision(in_force, reason), self._pool.most_slots
        )
        planned, reason = decision.slots, decision.reason
        if planned == self._planned or self._closed.is_set():
            return
        self._planned = planned
        if self._setting.pool is not None:
            self._setting.pool.ask(planned)
            return
        there = self._pool.slots
        self._write(
            SlotsChanged(planned, there, there, there, f"dry run, nothing is changed: {reason}")
        )

    def _end(self, ended: Ended) -> None:
        error = ended.error.strip().splitlines()[0] if ended.error else None
        self._drop(ended.run_id, "failed" if error else "ended", error, "has ended")

    def _drop(self, run_id: str, reason: str, error: str | None, why: str) -> None:
        with self._looking:
            query = self._queries.end(run_id)
        if query is None:
            return
        title = query.progress.title
        self._write(QueryStopped(reason, error, title))
        self._pool = self._look()
        self._have(f"{title} {why}")

    def _look(self) -> Pool:
        slots = max(1, self._setting.slots.available(self._spark.sparkContext))
        return Pool(slots, self._setting.most_slots, self._cores)

    def _write(self, event: KnownEvent) -> None:
        if self._journal is not None:
            self._journal.write(event)

    def _fault(self, batch_id: int | None, what: str, error: Exception) -> None:
        _log.warning("%s: %s", what, text_of(error))
        self._write(FaultSeen(batch_id, what, f"{type(error).__name__}: {text_of(error)}"))


def _pile(queue: SimpleQueue[Heard | _Stop], seconds: float) -> list[Heard | _Stop]:
    """Wait for something in the queue, for a time, and take all that is there."""
    pile: list[Heard | _Stop] = []
    with suppress(Empty):
        pile.append(queue.get(timeout=seconds))
        while True:
            pile.append(queue.get_nowait())
    return pile
