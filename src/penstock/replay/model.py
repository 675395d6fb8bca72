"""Runs a policy against a recorded load, in a model of Spark's micro-batches.

A micro-batch takes all rows that are there when it begins, and its time is a fixed part and its
rows' work shared by the slots. Rows that arrive meanwhile wait for the next one, which begins when
the trigger says, or at once where the trigger has passed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from penstock.elasticity.decision import Decision, Policy
from penstock.elasticity.observation import Observation, SourceObservation
from penstock.elasticity.query_progress import QueryProgress, TaskTimes, observe
from penstock.replay.arrivals import Arrivals
from penstock.replay.latencies import Latencies
from penstock.replay.pool import ReplayedSlots
from penstock.replay.work import Work

# As often as Spark tells that a query has nothing to do.
IDLE_SECONDS = 10.0
# A policy that has kept its slots for an hour of this is asked less often, or a log with an idle
# week in it would take minutes; often enough still to have slots ready before a daily peak.
_LONG_IDLE_TIMES = 360
_LONG_IDLE_SECONDS = 600.0
# So that rounding of times can't keep a row from ever having arrived.
_SHORTEST_WAIT_SECONDS = 0.001


@dataclass(frozen=True, slots=True)
class Conditions:
    """What a replay is made under; ``limit_seconds`` is when a batch counts as too long.

    ``ended_seconds`` is the end of what was recorded: slots cost until then at least.
    """

    least_slots: int
    most_slots: int
    start_slots: int
    trigger_seconds: float | None
    limit_seconds: float
    ended_seconds: float
    executor_seconds: float = 15.0
    tells_waiting: bool = False


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

    ``timeline`` is when the number of slots changed, and to what.
    """

    batches: tuple[ReplayedBatch, ...]
    timeline: tuple[tuple[float, int], ...]
    slot_seconds: float
    behind_seconds: float
    mean_latency_seconds: float
    p95_latency_seconds: float
    changes: int
    decisions: tuple[Decision, ...]

    @property
    def rows(self) -> int:
        """Rows that were processed: in the end, all that arrived."""
        return sum(batch.rows for batch in self.batches)

    @property
    def ended_seconds(self) -> float:
        """When the last row was done; when it began, if there was none."""
        return self.batches[-1].ended_seconds if self.batches else self.timeline[0][0]


def replay(
    arrivals: Arrivals,
    work: Work,
    policy: Policy,
    conditions: Conditions,
    on_batch: Callable[[float], object] = lambda share: None,
) -> Replayed:
    """Let a policy meet the load; ``on_batch`` is told how much of it is done, as a share."""
    run = _Run(arrivals, work, policy, conditions)
    while run.step():
        on_batch(run.done_rows / max(1, arrivals.rows))
    return run.result()


class _Run:
    def __init__(self, arrivals: Arrivals, work: Work, policy: Policy, given: Conditions) -> None:
        self._arrivals, self._work, self._policy, self._given = arrivals, work, policy, given
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
        )

    def _batch(self, rows: int) -> None:
        self._idle_times = 0
        started, slots = self._at, self._pool.ready(self._at)
        seconds = self._work.batch_seconds(rows, slots)
        end = started + seconds
        for piece in self._arrivals.pieces(self.done_rows, self.done_rows + rows):
            self._latencies.add(piece, end)
        self.done_rows += rows
        if seconds > self._given.limit_seconds:
            self._behind += seconds
        waiting = self._arrivals.until(end) - self.done_rows
        self._batches.append(ReplayedBatch(started, seconds, rows, slots, waiting))
        self._decide(started, seconds, rows, slots)
        self._at = end
        if self._given.trigger_seconds is not None and seconds < self._given.trigger_seconds:
            self._at = self._next_trigger(end)

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
            self._decide(self._at, 0.0, 0, self._pool.ready(self._at))
            same = self._decisions[-1].slots == before
            self._idle_times = self._idle_times + 1 if same else 0
        else:
            self._at = start

    def _next_trigger(self, at_seconds: float) -> float:
        trigger = self._given.trigger_seconds
        if trigger is None:
            return at_seconds
        return self._origin + math.ceil((at_seconds - self._origin) / trigger - 1e-9) * trigger

    def _decide(self, started: float, seconds: float, rows: int, slots: int) -> None:
        busy = rows * self._work.slot_seconds_per_row
        progress = QueryProgress(
            query_id="",
            run_id="",
            name="query",
            batch_id=len(self._batches) - 1,
            started_seconds=started,
            batch_seconds=seconds,
            sources=(SourceObservation("source", rows, 0 if self._given.tells_waiting else None),),
        )
        seen = observe(
            progress,
            slots=slots,
            most_slots=self._given.most_slots,
            trigger_seconds=self._given.trigger_seconds,
            times=TaskTimes(busy, slots if rows else 0, busy / slots, 1 if rows else 0),
        )
        decision = self._policy.decide(seen)
        if decision != self._decisions[-1]:
            self._decisions.append(decision)
        self._pool.ask(decision.slots, seen.at_seconds)
