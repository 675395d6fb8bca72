"""Recorded batches and recorded slots, run again in the simulator."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from penstock.elasticity.decision import Decision
from penstock.elasticity.observation import Observation
from penstock.replay.arrivals import Arrivals
from penstock.replay.batches import Conditions, PlannedBatch, Replayed, run_batches
from penstock.simulation.batch_costs import BatchCosts
from penstock.simulation.micro_batch.operators import batch_operators
from penstock.simulation.micro_batch.query import SimulatedQuery
from penstock.simulation.topology import SimulatedTopology


def recorded_decision(seen: Observation) -> Decision:
    """Return the plan that a recorded batch ran by: its slots, and every operator's tasks.

    Tasks that are estimated are Spark's own, and were no part of a plan.
    """
    slots = seen.slots_in_use
    tasks = {
        each.name: min(each.tasks, slots)
        for each in seen.operators
        if each.tasks > 0 and not each.estimated
    }
    return Decision(slots, "as recorded", tasks)


def predicted_seconds(
    topology: SimulatedTopology, costs: BatchCosts, batches: Sequence[Observation]
) -> list[float]:
    """Predict how long each batch took, from its rows at the sources, its slots and its tasks."""
    query = SimulatedQuery(batch_operators(topology, fused=True), costs, _conditions())
    return [
        query.seconds(
            PlannedBatch(
                batch_id=each.batch_id,
                started_seconds=each.started_seconds,
                rows=each.rows_in,
                left_rows=0,
                slots=each.slots_in_use,
                decision=recorded_decision(each),
            )
        )
        for each in batches
    ]


def _conditions() -> Conditions:
    # Only what a policy would be shown depends on these, and there is none.
    return Conditions(1, 1, 1, None, limit_seconds=inf, ended_seconds=0.0)


@dataclass(frozen=True, slots=True)
class RecordedSlots:
    """A policy that plans what a recorded run planned, at the same times.

    ``times_seconds`` are those at which batches began; each decision holds from its time on.
    """

    times_seconds: tuple[float, ...]
    decisions: tuple[Decision, ...]

    @classmethod
    def of(cls, batches: Sequence[Observation]) -> RecordedSlots:
        """Take them from the batches of a run."""
        return cls(
            tuple(each.started_seconds for each in batches),
            tuple(recorded_decision(each) for each in batches),
        )

    def decide(self, observation: Observation) -> Decision:
        """Return what was planned at that time."""
        number = bisect_right(self.times_seconds, observation.at_seconds) - 1
        return self.decisions[max(0, number)]


def simulate_again(
    topology: SimulatedTopology,
    costs: BatchCosts,
    arrivals: Arrivals,
    batches: Sequence[Observation],
) -> Replayed:
    """Run a recorded load with the recorded slots: when batches begin and end is predicted, too."""
    slots = [each.slots_in_use for each in batches]
    conditions = Conditions(
        least_slots=min(slots),
        most_slots=max(slots),
        start_slots=slots[0],
        trigger_seconds=batches[0].trigger_seconds,
        limit_seconds=inf,
        ended_seconds=batches[-1].at_seconds,
        executor_seconds=0.0,
        cores=costs.cores,
    )
    query = SimulatedQuery(batch_operators(topology, fused=True), costs, conditions)
    return run_batches(arrivals, query, RecordedSlots.of(batches), conditions)
