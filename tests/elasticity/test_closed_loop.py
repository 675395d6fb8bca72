"""Policies steering a query made of a fluid: they keep up, let go, and do not swing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import sin

import pytest

from elasticity.fluid import Fluid, Step, changes, mean_slots
from penstock.elasticity.adapting import Adapting
from penstock.elasticity.autoscale_plus import AutoScalePlus
from penstock.elasticity.batch_time_ratio import BatchTimeRatio
from penstock.elasticity.fuzzy import Fuzzy
from penstock.elasticity.incremental import Incremental
from penstock.elasticity.observation import OperatorObservation
from penstock.elasticity.rails.guard_rails import GuardRails
from penstock.elasticity.replica_pool import ReplicaPool

FORECASTING: dict[str, Callable[[], Adapting]] = {
    "AutoScalePlus": AutoScalePlus,
    "ReplicaPool": ReplicaPool,
}
ALL: dict[str, Callable[[], Adapting]] = {
    **FORECASTING,
    "Incremental": Incremental,
    "Fuzzy": Fuzzy,
    "BatchTimeRatio": BatchTimeRatio,
}
forecasting = pytest.mark.parametrize("make", FORECASTING.values(), ids=FORECASTING.keys())
every = pytest.mark.parametrize("make", ALL.values(), ids=ALL.keys())


def ramp(second: float) -> float:
    """From 100 rows/s (1 slot's work) to 1000 (10) in a minute and a half, and down at once."""
    if second < 60 or second >= 220:
        return 100.0
    return min(1_000.0, 100.0 + 10.0 * (second - 60))


def noise(second: float) -> float:
    """Around 400 rows/s, which keep 4 slots busy."""
    return 400.0 * (1 + 0.15 * sin(1.7 * second) + 0.1 * sin(5.1 * second))


def latest(steps: list[Step]) -> float:
    return max(step.oldest_seconds for step in steps)


@forecasting
def test_it_keeps_up_with_a_ramp_and_lets_go_after_it(make: Callable[[], Adapting]) -> None:
    steps = Fluid().run(make(), ramp, 320.0)
    assert latest(steps) < 3.0
    planned = changes(steps)
    assert max(planned) >= 11
    assert planned[-1] <= 2
    assert mean_slots(steps) < 0.6 * 16


@forecasting
def test_slots_that_take_15_seconds_to_come_are_there_before_the_peak(
    make: Callable[[], Adapting],
) -> None:
    steps = Fluid(startup_seconds=15.0).run(make(), ramp, 220.0)
    epoch = steps[0].seen.started_seconds
    there = next(step.seen.started_seconds for step in steps if step.seen.slots >= 11) - epoch
    assert there < 150.0  # the peak
    assert latest(steps) < 30.0


@every
def test_noise_does_not_make_it_swing(make: Callable[[], Adapting]) -> None:
    steps = Fluid().run(make(), noise, 400.0, slots=6)
    settled = [step for step in steps if step.seen.batch_id >= 100]
    assert len(changes(settled)) <= 4
    assert latest(settled) < 4.0


@every
def test_a_query_without_load_needs_one_slot(make: Callable[[], Adapting]) -> None:
    steps = Fluid(fixed_seconds=0.05).run(make(), lambda second: 2.0, 600.0, slots=8)
    assert steps[-1].decision.slots == 1


@every
def test_a_source_that_gives_no_more_does_not_get_all_slots(
    make: Callable[[], Adapting],
) -> None:
    """Slots beyond 3 do not help, and 600 rows/s would need 6: adding more is stopped."""
    fluid = Fluid(useful_slots=3, most_rows=600)
    steps = fluid.run(make(), lambda second: 600.0, 240.0, slots=3)
    held = [step for step in steps if "scale-out does not help" in step.decision.held_by]
    assert held
    assert "did not help" in held[0].decision.reason


def test_a_deadline_is_kept_where_the_policy_alone_would_miss_it() -> None:
    """30 000 rows come within 10 s, 5 minutes of one slot, and the policy walks by steps."""

    def flood(second: float) -> float:
        return 3_000.0 if second < 10 else 100.0

    def latest_row(max_latency: str | None) -> float:
        policy = Incremental(rails=GuardRails(max_latency=max_latency), start_slots=2)
        return latest(Fluid(most_rows=1_000).run(policy, flood, 150.0))

    assert latest_row(None) > 50.0
    assert latest_row("40 seconds") < 40.0


@forecasting
def test_batches_that_cannot_be_as_short_as_their_trigger_keep_no_slots(
    make: Callable[[], Adapting],
) -> None:
    """A batch takes 1.5 s with no rows, the trigger is 1 s, and the work is 2 slots'."""
    steps = Fluid(fixed_seconds=1.5).run(make(), lambda second: 200.0, 300.0, slots=16)
    assert (steps[-1].decision.demand_slots or 0.0) <= 6
    assert steps[-1].decision.slots <= 7  # within the working interval of that
    assert latest(steps[50:]) < 10.0


@forecasting
def test_batches_that_only_just_fit_their_trigger_get_the_slots_for_it(
    make: Callable[[], Adapting],
) -> None:
    """A batch takes 0.75 s of its 1 s with no rows, and the work is 2 slots': 8 are needed."""
    steps = Fluid(fixed_seconds=0.75).run(make(), lambda second: 200.0, 300.0, slots=2)
    assert steps[-1].seen.batch_seconds <= 1.0
    assert steps[-1].decision.slots <= 14


@forecasting
def test_a_cold_beginning_does_not_make_rows_dear(make: Callable[[], Adapting]) -> None:
    """The first two batches cost 60 times as much as those that follow, which are 1.5 slots'."""

    @dataclass(frozen=True)
    class Cold(Fluid):
        ran: list[int] = field(default_factory=list)

        def _batch(self, rows: int, slots: int) -> tuple[float, tuple[OperatorObservation, ...]]:
            self.ran.append(rows)
            times = 60 if len(self.ran) <= 2 else 1
            dear = Fluid(parse_seconds=0.002 * times, score_seconds=0.016 * times)
            return dear._batch(rows, slots)

    steps = Cold().run(make(), lambda second: 150.0, 120.0, slots=4)
    demands = [step.decision.demand_slots or 0.0 for step in steps]
    assert max(demands) < 30
    assert demands[-1] == pytest.approx(2.2, abs=0.6)


def test_a_plan_that_would_swing_is_held() -> None:
    """Thresholds so close together that every step is undone by the next."""
    policy = Incremental(
        interval=5, low=0.78, high=0.8,
        rails=GuardRails(scale_in_after=1, scale_in_cool_down=0, scale_out_cool_down=0),
    )  # fmt: skip
    loose = Incremental(
        interval=5, low=0.78, high=0.8,
        rails=GuardRails(
            scale_in_after=1, scale_in_cool_down=0, scale_out_cool_down=0, turns=None
        ),
    )  # fmt: skip
    fluid = Fluid(fixed_seconds=0.0)
    held = fluid.run(policy, lambda second: 350.0, 300.0, slots=4)
    swinging = fluid.run(loose, lambda second: 350.0, 300.0, slots=4)
    assert len(changes(swinging)) > 30
    assert len(changes(held)) < 12
    assert any("oscillation" in step.decision.held_by for step in held)
    assert held[-1].decision.slots == 5
