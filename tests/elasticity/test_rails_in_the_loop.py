"""Guard rails around a query made of a fluid: they hold what harms, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import pytest

from elasticity.fluid import Fluid, Step, mean_slots
from penstock.elasticity.adapting import Adapting
from penstock.elasticity.autoscale_plus import AutoScalePlus
from penstock.elasticity.batch_time_ratio import BatchTimeRatio
from penstock.elasticity.decision import Decision
from penstock.elasticity.fuzzy import Fuzzy
from penstock.elasticity.incremental import Incremental
from penstock.elasticity.observation import Observation, OperatorObservation
from penstock.elasticity.rails.guard_rails import GuardRails
from penstock.elasticity.replica_pool import ReplicaPool


@dataclass(frozen=True)
class Warming(Fluid):
    """A query whose slots are of use from their fifth batch on only."""

    batches: list[int] = field(default_factory=list)  # the slots of each

    def _batch(self, rows: int, slots: int) -> tuple[float, tuple[OperatorObservation, ...]]:
        self.batches.append(slots)
        warm = Fluid(fixed_seconds=self.fixed_seconds, useful_slots=min(self.batches[-5:]))
        return warm._batch(rows, slots)


@dataclass(frozen=True)
class Clogged(Fluid):
    """A query of which only 5 slots are of use, up to its 150th batch."""

    batches: list[int] = field(default_factory=list)

    def _batch(self, rows: int, slots: int) -> tuple[float, tuple[OperatorObservation, ...]]:
        self.batches.append(slots)
        useful = 5 if len(self.batches) < 150 else 10**9
        return Fluid(useful_slots=useful)._batch(rows, slots)


@dataclass(frozen=True)
class Leftover:
    """A policy that is told of some more rows that wait, always."""

    policy: Adapting
    rows: Callable[[int], int]  # by the number of the batch

    def decide(self, seen: Observation) -> Decision:
        more = self.rows(seen.batch_id)
        sources = (replace(s, waiting_rows=(s.waiting_rows or 0) + more) for s in seen.sources)
        return self.policy.decide(replace(seen, sources=tuple(sources)))

    def save(self) -> dict[str, Any]:
        return self.policy.save()

    def load(self, state: dict[str, Any]) -> None:
        self.policy.load(state)


def latest(steps: list[Step]) -> float:
    return max(step.oldest_seconds for step in steps)


def test_a_deadline_is_kept_after_which_nothing_comes_any_more() -> None:
    """30 000 rows come within a second, 5 minutes of one slot, and none before or after."""

    def burst(second: float) -> float:
        return 30_000.0 if 20 <= second < 21 else 0.0

    def latest_row(max_latency: str | None) -> float:
        policy = Incremental(rails=GuardRails(max_latency=max_latency), start_slots=2)
        return latest(Fluid(most_rows=1_000).run(policy, burst, 150.0))

    assert latest_row(None) > 60.0
    assert latest_row("40 seconds") < 40.0


@pytest.mark.parametrize(
    ("make", "most"), [(AutoScalePlus, 13.5), (ReplicaPool, 10.0), (Fuzzy, 9.0)]
)
def test_bursts_that_come_and_go_are_no_oscillation(
    make: Callable[[], Adapting], most: float
) -> None:
    """5 s of 2000 rows/s every minute, and 50 rows/s, half a slot's work, between."""
    steps = Fluid().run(make(), lambda second: 2_000.0 if second % 60 < 5 else 50.0, 900.0)
    assert not any("oscillation" in step.decision.held_by for step in steps)
    assert mean_slots(steps) < most


@pytest.mark.parametrize("make", [AutoScalePlus, ReplicaPool, Incremental, Fuzzy])
def test_slots_that_must_warm_up_are_not_taken_for_useless(make: Callable[[], Adapting]) -> None:
    fluid = Warming(trigger_seconds=0.5, most_rows=400)
    steps = fluid.run(make(), lambda second: 100.0 if second < 60 else 700.0, 300.0)
    assert not any("scale-out does not help" in step.decision.held_by for step in steps)
    assert latest(steps) < 60.0
    assert (steps[-1].seen.waiting_rows or 0) < 2_000


@pytest.mark.parametrize("make", [AutoScalePlus, Fuzzy])
def test_a_hold_does_not_outlive_the_slots_it_was_about(make: Callable[[], Adapting]) -> None:
    """More than 5 slots do not help at first; then a quiet time, and a load that needs 4."""

    def rate(second: float) -> float:
        return 650.0 if second < 40 else (20.0 if second < 160 else 400.0)

    steps = Clogged(most_rows=800).run(make(), rate, 300.0, slots=4)
    assert latest(steps) < 30.0


@pytest.mark.parametrize("make", [Incremental, Fuzzy, BatchTimeRatio])
def test_slots_that_never_come_do_not_freeze_the_plan(make: Callable[[], Adapting]) -> None:
    """The load needs 5 slots, there are 4 and will never be more; then it needs one."""
    fluid = Fluid(startup_seconds=1e9, most_rows=600)
    steps = fluid.run(make(), lambda second: 500.0 if second < 30 else 20.0, 400.0, slots=4)
    assert max(step.decision.slots for step in steps) > 4
    assert steps[-1].decision.slots == 1


EVERY = [AutoScalePlus, ReplicaPool, Incremental, Fuzzy]


@pytest.mark.parametrize("make", EVERY)
@pytest.mark.parametrize("rows", [lambda batch: 1, lambda batch: batch % 2], ids=["one", "now"])
def test_a_row_that_always_waits_keeps_no_slots(
    make: Callable[[], Adapting], rows: Callable[[int], int]
) -> None:
    policy = Leftover(make(), rows)
    steps = Fluid().run(policy, lambda second: 50.0, 600.0, slots=16)
    assert steps[-1].decision.slots == 1


@pytest.mark.parametrize("make", [AutoScalePlus, ReplicaPool])
def test_a_backlog_that_grows_keeps_them(make: Callable[[], Adapting]) -> None:
    policy = Leftover(make(), lambda batch: 10 * batch)
    steps = Fluid().run(policy, lambda second: 50.0, 200.0, slots=16)
    assert steps[-1].decision.slots > 1


def test_batches_late_for_what_they_cost_without_rows_keep_no_slots() -> None:
    """An interval in batches: the plan is for the trigger, which no batch can keep to."""
    policy = AutoScalePlus(interval=10)
    steps = Fluid(fixed_seconds=1.2).run(policy, lambda second: 2.0, 300.0, slots=16)
    assert steps[-1].decision.slots == 1


def test_batches_late_for_their_rows_keep_slots_and_say_so() -> None:
    """Batches of 2 s, of which 1.5 s are work, and a policy that finds them idle."""
    policy = Incremental(low=3.0, high=4.0)
    steps = Fluid(fixed_seconds=0.5).run(policy, lambda second: 300.0, 60.0, slots=4)
    late = [step.decision for step in steps if "rows wait" in step.decision.held_by]
    assert late
    assert "; batches take longer than their trigger; still 4" in late[-1].reason


def dearest_hour(steps: list[Step]) -> float:
    """Return the slot-seconds of the hour, from any decision on, that costs most."""
    plans = [(step.seen.at_seconds, step.decision.slots) for step in steps]
    return max(
        sum(n * max(0.0, min(b, t + 3_600) - max(a, t)) for (a, n), (b, _) in pairwise(plans))
        for t, _ in plans[::60]
    )


@pytest.mark.parametrize(("rate", "most_rows"), [(250.0, 1_500), (600.0, None)])
def test_no_hour_costs_more_than_the_ceiling(rate: float, most_rows: int | None) -> None:
    """More comes than is paid for: batches grow to many control intervals."""
    ceiling = 7_200.0
    policy = ReplicaPool(rails=GuardRails(slot_seconds_per_hour=ceiling))
    steps = Fluid(most_rows=most_rows).run(policy, lambda second: rate, 4_000.0, slots=16)
    assert 0.8 * ceiling < dearest_hour(steps) <= ceiling


def test_the_start_is_within_the_ceiling() -> None:
    policy = AutoScalePlus(rails=GuardRails(slot_seconds_per_hour=3_600))
    decision = policy.decide(Observation(-1, 1e6, 0.0, 1.0, slots=16, most_slots=16))
    assert decision.slots == 1
    assert decision.held_by == ("cost ceiling",)
    assert "all there are (3600 slot-seconds an hour leave 1 slot)" in decision.reason
