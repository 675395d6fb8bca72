"""After each micro-batch: monitor, analyse, plan. The batch is committed; nothing here fails it."""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from penstock.elasticity.decision import Decision, Policy
from penstock.elasticity.observation import Observation, SourceObservation
from penstock.engine.measurement import Measured, observe_operators
from penstock.engine.progress import Progress
from penstock.errors import ConfigurationError
from penstock.journal.events import (
    BatchFinished,
    DecisionMade,
    FaultSeen,
    KnownEvent,
    RowsFailed,
    RowsLate,
    SourceProgress,
)
from penstock.topology.dag import Topology
from penstock.topology.jobs import Job
from penstock.topology.operators import Compute, LateRows

KEPT_DECISIONS = 1_000

_log = logging.getLogger("penstock.engine")


class Monitor:
    """Turns measurements into an observation, journals it, and asks the policy what comes next.

    ``decision`` is the one in force. A policy that raises is journaled and the decision stays.
    """

    def __init__(
        self,
        topology: Topology,
        jobs: Sequence[Job],
        policy: Policy,
        write: Callable[[KnownEvent], None],
        start: Observation,
    ) -> None:
        self._topology = topology
        self._jobs = jobs
        self._policy = policy
        self._write = write
        self.decisions: deque[Decision] = deque(maxlen=KEPT_DECISIONS)
        self.last: Observation | None = None
        self._adopt(start.batch_id, _checked(policy.decide(start)))

    def after_batch(
        self,
        frame: Observation,
        measured: Measured,
        watermarks: Mapping[str, int | None],
        progress: Progress | None,
        more: Callable[[], Iterable[KnownEvent]],
    ) -> None:
        """Complete ``frame`` with what was measured, journal it and ``more``, and decide."""
        try:
            self.last = self._observation(frame, measured, progress)
            for event in self._events(self.last, measured, watermarks, progress):
                self._write(event)
            for event in more():
                self._write(event)
            self._decide(self.last)
        except Exception as error:
            _log.warning("measuring micro-batch %d failed: %s", frame.batch_id, error)
            self._write(FaultSeen(frame.batch_id, "measurement failed", str(error)))

    def _observation(
        self, frame: Observation, measured: Measured, progress: Progress | None
    ) -> Observation:
        operators = observe_operators(self._topology, self._jobs, measured)
        rows = {operator.name: operator.rows_out for operator in operators}
        waiting = progress.waiting if progress else {}
        sources = tuple(
            SourceObservation(source.name, rows[source.name], waiting.get(source.name))
            for source in self._topology.sources
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
                reasons: Counter[str] = Counter()
                for tally in measured.tallies.get(operator.name, ()):
                    reasons.update(tally.failures)
                yield RowsFailed(seen.batch_id, operator.name, operator.failed_rows, dict(reasons))
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

    def _decide(self, observation: Observation) -> None:
        try:
            decision = _checked(self._policy.decide(observation))
        except Exception as error:
            _log.warning("the policy failed, the last plan stays: %s", error)
            detail = f"{type(error).__name__}: {error}"
            self._write(FaultSeen(observation.batch_id, "policy failed", detail))
            return
        if decision != self.decision:
            self._adopt(observation.batch_id, decision)

    def _adopt(self, batch_id: int, decision: Decision) -> None:
        self.decision = decision
        self.decisions.append(decision)
        self._write(DecisionMade(batch_id, decision))


def _checked(decision: object) -> Decision:
    if not isinstance(decision, Decision):
        raise ConfigurationError(
            f"the policy returned a {type(decision).__name__}. Return Decision(slots, reason)."
        )
    return decision
