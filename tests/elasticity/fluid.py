"""A query as a fluid: rows come at a rate, wait, and are done by slots. No Spark, no randomness."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from penstock.elasticity.decision import Decision, Policy
from penstock.elasticity.observation import Observation, OperatorObservation, SourceObservation


@dataclass(frozen=True)
class Step:
    """One micro-batch, and what the policy said after it."""

    seen: Observation
    decision: Decision
    oldest_seconds: float  # how long the oldest row of the batch took, from arrival to commit


@dataclass(frozen=True)
class Fluid:
    """A source, ``parse`` and ``score``, which gets half of what parse takes in.

    ``startup_seconds`` is how long a new slot takes to come (0: at once); ``most_rows`` the read
    limit of a batch.
    """

    parse_seconds: float = 0.002
    score_seconds: float = 0.016
    fixed_seconds: float = 0.1
    trigger_seconds: float = 1.0
    most_slots: int = 16
    startup_seconds: float = 0.0
    most_rows: int | None = None
    useful_slots: int = 10**9  # more than these do not make it faster

    def run(
        self, policy: Policy, rate: Callable[[float], float], seconds: float, slots: int = 2
    ) -> list[Step]:
        """Return all micro-batches of a run that lasts so long."""
        epoch, now, batch = 1_000_000.0, 0.0, 0
        start = Observation(-1, epoch, 0.0, self.trigger_seconds, slots, most_slots=self.most_slots)
        planned = policy.decide(start).slots
        coming: list[tuple[float, int]] = []
        arrived: list[tuple[float, float]] = []  # cohorts that wait: when, how many
        drawn = 0.0
        steps = []
        while now < seconds:
            arrived, drawn = _arrivals(arrived, rate, drawn, now)
            if planned < slots:
                slots, coming = planned, []
            elif planned > slots and (not coming or coming[-1][1] < planned):
                coming.append((now + self.startup_seconds, planned))
            slots = max([slots, *(n for at, n in coming if at <= now)])
            waiting = sum(rows for _, rows in arrived)
            taken = int(min(waiting, self.most_rows or waiting))
            oldest = arrived[0][0] if arrived else now
            arrived = _without(arrived, taken)
            took, operators = self._batch(taken, slots)
            at = epoch + now + took
            source = SourceObservation("clicks", taken, int(waiting) - taken)
            seen = Observation(
                batch,
                at,
                took,
                self.trigger_seconds,
                slots,
                operators,
                (source,),
                used_slots=slots,
                most_slots=self.most_slots,
            )
            decision = policy.decide(seen)
            planned = max(1, min(decision.slots, self.most_slots))
            steps.append(Step(seen, decision, now + took - oldest))
            now = max(now + took, self.trigger_seconds * (now // self.trigger_seconds + 1))
            batch += 1
        return steps

    def _batch(self, rows: int, slots: int) -> tuple[float, tuple[OperatorObservation, ...]]:
        wide = min(slots, self.useful_slots)
        parse, score = rows * self.parse_seconds, (rows // 2) * self.score_seconds
        each_parse, each_score = parse / wide, score / wide
        operators = (
            OperatorObservation("clicks", rows, rows, 0.0, 0, 0.0, 0.0),
            OperatorObservation(
                "parse", rows, rows // 2, parse, slots, each_parse, each_parse, inputs=("clicks",)
            ),
            OperatorObservation(
                "score",
                rows // 2,
                rows // 2,
                score,
                slots,
                each_score,
                each_score,
                inputs=("parse",),
            ),
        )
        return self.fixed_seconds + each_parse + each_score, operators


def _arrivals(
    waiting: list[tuple[float, float]], rate: Callable[[float], float], drawn: float, now: float
) -> tuple[list[tuple[float, float]], float]:
    """Add what came up to now, in steps of a tenth of a second."""
    step = 0.1
    while drawn + step <= now + 1e-9:
        waiting = [*waiting, (drawn, rate(drawn) * step)]
        drawn += step
    return waiting, drawn


def _without(waiting: list[tuple[float, float]], rows: float) -> list[tuple[float, float]]:
    """Take the oldest rows away."""
    left = []
    for at, count in waiting:
        taken = min(count, rows)
        rows -= taken
        if count - taken > 1e-9:
            left.append((at, count - taken))
    return left


def mean_slots(steps: list[Step]) -> float:
    """Return the slots planned, weighted by time."""
    spans = [
        (after.seen.started_seconds - before.seen.started_seconds, before.decision.slots)
        for before, after in pairwise(steps)
    ]
    return sum(span * slots for span, slots in spans) / sum(span for span, _ in spans)


def changes(steps: list[Step]) -> list[int]:
    """Return every number of slots planned, once for each change."""
    planned = [steps[0].decision.slots]
    for step in steps:
        if step.decision.slots != planned[-1]:
            planned.append(step.decision.slots)
    return planned
