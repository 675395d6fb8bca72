"""Runs a policy against a load, in a model of Spark's micro-batches.

A micro-batch takes all rows that are there when it begins, or as many as it may read. Rows that
arrive meanwhile wait for the next one, which begins when the trigger says, or at once where the
trigger has passed. How long a batch takes, and what a policy sees of it, is the query's to say.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from penstock.elasticity.decision import Decision, Policy
from penstock.elasticity.observation import Observation
from penstock.replay.arrivals import Arrivals
from penstock.replay.latencies import Latencies
from penstock.replay.pool import ReplayedSlots

# As often as Spark tells that a query has nothing to do.
IDLE_SECONDS = 10.0
# A policy that has kept its slots for an hour of this is asked less often, or a log with an idle
# week in it would take minutes; often enough still to have slots ready before a daily peak.
_LONG_IDLE_TIMES = 360
_LONG_IDLE_SECONDS = 600.0
# So that rounding of times can't keep a row from ever having arrived.
_SHORTEST_WAIT_SECONDS = 0.001
# Times since the epoch are no more exact than this.
_INSTANT_SECONDS = 1e-6


@dataclass(frozen=True, slots=True)
class Conditions:
    """What a replay is made under; ``limit_seconds`` is when a batch counts as too long.

    ``ended_seconds`` is the end of what was recorded: slots cost until then at least.
    ``most_rows`` is how many a batch may read; None is all that are there.
    """

    least_slots: int
    most_slots: int
    start_slots: int
    trigger_seconds: float | None
    limit_seconds: float
    ended_seconds: float
    executor_seconds: float = 15.0
    tells_waiting: bool = False
    cores: int | None = None
    most_rows: int | None = None


@dataclass(frozen=True, slots=True)
class PlannedBatch:
    """A micro-batch before it runs: ``left_rows`` had arrived, and are not read by it.

    One without rows is a moment at which the query had nothing to do.
    """

    batch_id: int
    started_seconds: float
    rows: int
    left_rows: int
    slots: int
    decision: Decision


class BatchedQuery(Protocol):
    """What runs in the micro-batches."""

    def seconds(self, batch: PlannedBatch) -> float:
        """Return how long a batch takes."""
        ...

    def seen(self, batch: PlannedBatch, seconds: float, slots_after: int) -> Observation | None:
        """Return what a policy is shown of a batch; None where it is not asked."""
        ...


@dataclass(frozen=True, slots=True)
class ReplayedBatch:
    """One micro-batch of the model; ``waiting_rows`` is what had arrived when it was over."""

    started_seconds: float
    seconds: float
    rows: int
    slots: int
    waiting_rows: int

    @property
    def ended_seconds(self) -> float:
        """When it was over."""
        return self.started_seconds + self.seconds


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a policy would have done with a load, and what would have come of it.

    ``timeline`` is when the number of slots changed, and to what. ``latencies`` has every row.
    """

    batches: tuple[ReplayedBatch, ...]
    timeline: tuple[tuple[float, int], ...]
    slot_seconds: float
    behind_seconds: float
    mean_latency_seconds: float
    p95_latency_seconds: float
    changes: int
    decisions: tuple[Decision, ...]
    latencies: Latencies = field(default_factory=Latencies, repr=False, compare=False)

    @property
    def rows(self) -> int:
        """Rows that were processed: in the end, all that arrived."""
        return sum(batch.rows for batch in self.batches)

    @property
    def ended_seconds(self) -> float:
        """When the last row was done; when it began, if there was none."""
        return self.batches[-1].ended_seconds if self.batches else self.timeline[0][0]


def run_batches(
    arrivals: Arrivals,
    query: BatchedQuery,
    policy: Policy,
    conditions: Conditions,
    on_batch: Callable[[float], object] = lambda share: None,
) -> Replayed:
    """Let a policy meet the load; ``on_batch`` is told how much of it is done, as a share."""
    run = _Run(arrivals, query, policy, conditions)
    while run.step():
        on_batch(run.done_rows / max(1, arrivals.rows))
    return run.result()


class _Run:
    def __init__(
        self, arrivals: Arrivals, query: BatchedQuery, policy: Policy, given: Conditions
    ) -> None:
        self._arrivals, self._query, self._policy, self._given = arrivals, query, policy, given
        self._origin = self._at = arrivals.times_seconds[0]
        self._latencies = Latencies()
        self._batches: list[ReplayedBatch] = []
        self._decisions: list[Decision] = []
        self._behind = 0.0
        self._idle_times = 0
        self.done_rows = 0
        first = policy.decide(
            Observation(
                batch_id=-1,
                at_seconds=self._at,
                batch_seconds=0.0,
                trigger_seconds=given.trigger_seconds,
                slots=given.start_slots,
                most_slots=given.most_slots,
                cores=given.cores,
            )
        )
        self._decisions.append(first)
        # A query starts with the slots that its policy begins with.
        self._pool = ReplayedSlots(
            first.slots,
            at_seconds=self._at,
            least=given.least_slots,
            most=given.most_slots,
            executor_seconds=given.executor_seconds,
        )

    def step(self) -> bool:
        """Run a batch, or let some time pass without one; say whether there is more to come."""
        rows = self._arrivals.until(self._at) - self.done_rows
        if rows > 0:
            self._batch(rows)
        else:
            self._wait()
        # Slots cost until the end of the recording, so that policies are asked until then.
        idle_until = self._next_trigger(self._at + IDLE_SECONDS)
        return self.done_rows < self._arrivals.rows or idle_until <= self._given.ended_seconds

    def result(self) -> Replayed:
        ended = self._batches[-1].ended_seconds if self._batches else self._origin
        self._pool.ready(max(self._given.ended_seconds, ended))
        return Replayed(
            batches=tuple(self._batches),
            timeline=tuple(self._pool.timeline),
            slot_seconds=self._pool.slot_seconds,
            behind_seconds=self._behind,
            mean_latency_seconds=self._latencies.mean_seconds,
            p95_latency_seconds=self._latencies.quantile_seconds(0.95),
            changes=self._pool.changes,
            decisions=tuple(self._decisions),
            latencies=self._latencies,
        )

    def _batch(self, arrived: int) -> None:
        self._idle_times = 0
        rows = arrived if self._given.most_rows is None else min(arrived, self._given.most_rows)
        batch = self._planned(len(self._batches), rows, arrived - rows)
        started, seconds = batch.started_seconds, self._query.seconds(batch)
        end = started + seconds
        for piece in self._arrivals.pieces(self.done_rows, self.done_rows + rows):
            self._latencies.add(piece, end)
        self.done_rows += rows
        if seconds > self._given.limit_seconds:
            self._behind += seconds
        waiting = self._arrivals.until(end) - self.done_rows
        self._batches.append(ReplayedBatch(started, seconds, rows, batch.slots, waiting))
        self._decide(batch, seconds)
        self._at = max(end, self._trigger_after(started))

    def _wait(self) -> None:
        """Pass over a time without rows; Spark tells now and then that there is nothing to do."""
        long = self._idle_times >= _LONG_IDLE_TIMES
        pause = _LONG_IDLE_SECONDS if long else IDLE_SECONDS
        idle_until, start = self._next_trigger(self._at + pause), math.inf
        if self.done_rows < self._arrivals.rows:
            next_row = self._arrivals.when(self.done_rows + 1)
            start = max(self._next_trigger(next_row), self._at + _SHORTEST_WAIT_SECONDS)
        elif idle_until > self._given.ended_seconds:
            self._at = self._given.ended_seconds
            return
        if start > idle_until:
            self._at, before = idle_until, self._decisions[-1].slots
            self._decide(self._planned(len(self._batches) - 1, 0, 0), 0.0)
            same = self._decisions[-1].slots == before
            self._idle_times = self._idle_times + 1 if same else 0
        else:
            self._at = start

    def _next_trigger(self, at_seconds: float) -> float:
        """Return the first trigger from then on; Spark's are at whole multiples of their time."""
        trigger = self._given.trigger_seconds
        if trigger is None:
            return at_seconds
        return math.ceil((at_seconds - _INSTANT_SECONDS) / trigger) * trigger

    def _trigger_after(self, started_seconds: float) -> float:
        """Return when Spark begins the next batch at the earliest.

        That is the first trigger after this one began. A batch that began late, because the one
        before it took too long, is followed at once where it runs past that.
        """
        trigger = self._given.trigger_seconds
        if trigger is None:
            return started_seconds
        return (math.floor((started_seconds + _INSTANT_SECONDS) / trigger) + 1) * trigger

    def _planned(self, batch_id: int, rows: int, left_rows: int) -> PlannedBatch:
        slots = self._pool.ready(self._at)
        return PlannedBatch(batch_id, self._at, rows, left_rows, slots, self._decisions[-1])

    def _decide(self, batch: PlannedBatch, seconds: float) -> None:
        end = batch.started_seconds + seconds
        seen = self._query.seen(batch, seconds, self._pool.ready(end))
        if seen is None:
            return
        decision = self._policy.decide(seen)
        if decision != self._decisions[-1]:
            self._decisions.append(decision)
        self._pool.ask(decision.slots, end)
