"""After each micro-batch: monitor and analyse. The batch is committed; nothing here fails it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from penstock.elasticity.observation import Observation, SourceObservation
from penstock.elasticity.shed_rows import ShedRows
from penstock.engine.control_loop import ControlLoop
from penstock.engine.failed_rows import rows_failed
from penstock.engine.measurement import Measured, observe_operators
from penstock.engine.progress import Progress
from penstock.journal.events import BatchFinished, FaultSeen, KnownEvent, SourceProgress
from penstock.journal.window_events import RowsLate
from penstock.secrets import logger
from penstock.topology.dag import Topology
from penstock.topology.jobs import Job
from penstock.topology.operators import Compute, LateRows

_log = logger("penstock.engine")


class Monitor:
    """Turns measurements into an observation, journals it, and shows it to the policy.

    ``shed`` tells what the batch read and did not process, by source.
    """

    def __init__(
        self,
        topology: Topology,
        jobs: Sequence[Job],
        loop: ControlLoop,
        write: Callable[[KnownEvent], None],
        shed: Callable[[], Mapping[str, ShedRows]] = dict,
    ) -> None:
        self._topology = topology
        self.jobs = jobs
        self._loop = loop
        self._write = write
        self._shed = shed
        self.last: Observation | None = None

    def after_batch(
        self,
        frame: Observation,
        measured: Measured,
        watermarks: Mapping[str, int | None],
        progress: Progress | None,
        more: Callable[[], Iterable[KnownEvent]],
    ) -> None:
        """Complete ``frame`` with what was measured, journal it and ``more``, show it around."""
        try:
            self.last = seen = self._observation(frame, measured, progress)
        except Exception as error:
            self._failed(frame.batch_id, error)
            return
        try:
            for event in chain(self._events(seen, measured, watermarks, progress), more()):
                self._write(event)
        except Exception as error:
            self._failed(frame.batch_id, error)
        self._loop.observe(seen)

    def _failed(self, batch_id: int, error: Exception) -> None:
        _log.warning("measuring micro-batch %d failed: %s", batch_id, error)
        self._write(FaultSeen(batch_id, "measurement failed", str(error)))

    def _observation(
        self, frame: Observation, measured: Measured, progress: Progress | None
    ) -> Observation:
        operators = observe_operators(self._topology, self.jobs, measured)
        rows = {operator.name: operator.rows_out for operator in operators}
        waiting = progress.waiting if progress else {}
        shed = {name: each.rows for name, each in self._shed().items()}
        sources = tuple(
            SourceObservation(
                name, rows[name], _left(waiting.get(name), rows[name], shed.get(name))
            )
            for name in (source.name for source in self._topology.sources)
        )
        jobs = sum(times.spark_jobs for times in measured.jobs.values())
        return replace(frame, operators=operators, sources=sources, jobs=jobs)

    def _events(
        self,
        seen: Observation,
        measured: Measured,
        watermarks: Mapping[str, int | None],
        progress: Progress | None,
    ) -> Iterator[KnownEvent]:
        known = [mark for mark in watermarks.values() if mark is not None]
        mark = min(known) / 1e6 if known and len(known) == len(watermarks) else None
        yield BatchFinished(seen, mark, seen.at_seconds)
        for operator in seen.operators:
            if self._counts_late(operator.name) and operator.rows_out:
                yield RowsLate(seen.batch_id, operator.name, operator.rows_out)
            if operator.failed_rows:
                tallies = measured.tallies.get(operator.name, ())
                yield rows_failed(seen.batch_id, operator.name, operator.failed_rows, tallies)
        if progress is not None:
            for name, waiting in progress.waiting.items():
                yield SourceProgress(progress.batch_id, name, waiting, progress.durations_seconds)

    def _counts_late(self, name: str) -> bool:
        """Whether an operator tells how many rows were late: where windows do, they alone."""
        operator = self._topology[name]
        if not isinstance(operator, LateRows):
            return False
        beside = self._topology.consumers[operator.inputs[0]]
        return not any(isinstance(each, Compute) for each in beside)


def _left(waiting: int | None, taken: int, shed: int | None) -> int | None:
    """Return the rows that a batch left behind, of those that waited when it was planned.

    Spark tells how many waited when the batch before was planned: this batch took from them, also
    what it shed.
    """
    return None if waiting is None else max(0, waiting - taken - (shed or 0))
