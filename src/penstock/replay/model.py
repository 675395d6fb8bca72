"""Runs a policy against a recorded load: its query is known by what its batches took.

The time of a micro-batch is a fixed part and its rows' work shared by the slots.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.elasticity.decision import Policy
from penstock.elasticity.observation import Observation, SourceObservation
from penstock.elasticity.query_progress import QueryProgress, TaskTimes, observe
from penstock.replay.arrivals import Arrivals
from penstock.replay.batches import Conditions, PlannedBatch, Replayed, run_batches
from penstock.replay.work import Work


def replay(
    arrivals: Arrivals,
    work: Work,
    policy: Policy,
    conditions: Conditions,
    on_batch: Callable[[float], object] = lambda share: None,
) -> Replayed:
    """Let a policy meet the load; ``on_batch`` is told how much of it is done, as a share."""
    return run_batches(arrivals, _LoggedQuery(work, conditions), policy, conditions, on_batch)


@dataclass(frozen=True, slots=True)
class _LoggedQuery:
    """A query as whoever watches it from outside knows it: one operator, one source."""

    work: Work
    given: Conditions

    def seconds(self, batch: PlannedBatch) -> float:
        return self.work.batch_seconds(batch.rows, batch.slots)

    def seen(self, batch: PlannedBatch, seconds: float, slots_after: int) -> Observation:
        rows, slots = batch.rows, batch.slots
        busy = rows * self.work.slot_seconds_per_row
        progress = QueryProgress(
            query_id="",
            run_id="",
            name="query",
            batch_id=batch.batch_id,
            started_seconds=batch.started_seconds,
            batch_seconds=seconds,
            sources=(SourceObservation("source", rows, 0 if self.given.tells_waiting else None),),
        )
        return observe(
            progress,
            slots=slots,
            most_slots=self.given.most_slots,
            trigger_seconds=self.given.trigger_seconds,
            times=TaskTimes(busy, slots if rows else 0, busy / slots, 1 if rows else 0),
        )
