"""AutoScale+: slots for what will come, over the whole topology."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from elasticity.fluid import Fluid, Step, changes
from penstock.elasticity.adapting import Adapting
from penstock.elasticity.autoscale_plus import MOST_FORECASTS, AutoScalePlus
from penstock.elasticity.observation import Observation, OperatorObservation, SourceObservation
from penstock.elasticity.rails.guard_rails import GuardRails
from penstock.elasticity.replica_pool import ReplicaPool
from penstock.errors import ConfigurationError

FREE = GuardRails(scale_in_after=1, scale_in_cool_down=0, scale_out_cool_down=0, turns=None)
FLUID = Fluid(fixed_seconds=0.0)
SLOW = Fluid(fixed_seconds=0.0, trigger_seconds=20.0)  # what batches cost besides is next to none


def steady(policy: AutoScalePlus, rate: float = 400.0, slots: int = 16) -> list[Step]:
    return SLOW.run(policy, lambda second: rate, 400.0, slots=slots)


def demand(policy: AutoScalePlus, rate: float = 400.0) -> float:
    return steady(policy, rate)[-1].decision.demand_slots or 0.0


class TestDemand:
    def test_the_margin_is_kept_free(self) -> None:
        # 400 rows/s of 10 ms keep 4 slots busy.
        assert demand(AutoScalePlus(margin=0.0)) == pytest.approx(4.0, rel=0.05)
        assert demand(AutoScalePlus(margin=0.5)) == pytest.approx(8.0, rel=0.05)

    def test_the_fewest_slots_that_meet_it_are_asked_for(self) -> None:
        last = steady(AutoScalePlus(margin=0.3, beta=1.0))[-1].decision
        assert last.slots == pytest.approx((last.demand_slots or 0.0) + 0.5, abs=0.5)

    def test_what_every_operator_will_get_is_told(self) -> None:
        decision = steady(AutoScalePlus(horizon="20 seconds"))[-1].decision
        assert decision.horizon_seconds == 20.0
        expected = {"clicks": 8_000.0, "parse": 8_000.0, "score": 4_000.0}
        assert decision.expected_rows == pytest.approx(expected, rel=0.02)

    def test_between_which_rows_they_should_lie_is_told_for_every_operator(self) -> None:
        def noisy(second: float) -> float:
            return 400.0 + 80.0 * (int(second) * 7919 % 11 - 5) / 5

        last = SLOW.run(AutoScalePlus(), noisy, 400.0, slots=16)[-1].decision
        low, rows, high = last.low_rows, last.expected_rows, last.high_rows
        assert set(low) == set(rows) == set(high) == {"clicks", "parse", "score"}
        for name in rows:
            assert 0 < low[name] < rows[name] < high[name]
        # Half of what is parsed is scored, at either end of the band as in between.
        for band in (low, rows, high):
            assert band["score"] == pytest.approx(band["parse"] / 2, rel=0.1)

    def test_rows_that_wait_raise_it(self) -> None:
        limited = replace(SLOW, most_rows=4_000)
        policy = AutoScalePlus(margin=0.3)
        steps = limited.run(policy, lambda second: 400.0, 400.0, slots=16)
        assert (steps[-1].decision.demand_slots or 0.0) > 2 * demand(AutoScalePlus(margin=0.3))


class TestWorkingInterval:
    """4 slots' work at 70 % is a demand of 5.8; beta of the planned slots is the lower end."""

    @pytest.mark.parametrize(("beta", "last"), [(0.5, 8), (0.9, 6)])
    def test_scale_in_waits_for_the_benefit(self, beta: float, last: int) -> None:
        planned = changes(steady(AutoScalePlus(beta=beta, rails=FREE), slots=8))
        assert planned == ([8] if last == 8 else [8, last])

    def test_the_reason_says_where_the_demand_lies(self) -> None:
        reason = steady(AutoScalePlus(beta=0.5, rails=FREE), slots=8)[-1].decision.reason
        assert re.fullmatch(
            r"input stays at 400 rows/s in the next 30 s by the [a-z ]+; "
            r"demand 5\.\d+ slots at 70 % utilisation, within 4 to 8; asking for 8",
            reason,
        )


class TestForecast:
    def ramp(self, second: float) -> float:
        return 100.0 if second < 60 else min(900.0, 100.0 + 8.0 * (second - 60))

    def test_slots_are_asked_for_before_the_load_is_there(self) -> None:
        def lead(policy: Adapting) -> float:
            """Return how many more slots are planned than are needed, while the load grows."""
            steps = FLUID.run(policy, self.ramp, 160.0)
            epoch = steps[0].seen.started_seconds
            growing = [step for step in steps if 80 <= step.seen.at_seconds - epoch < 150]
            needed = [self.ramp(step.seen.at_seconds - epoch) * 0.01 for step in growing]
            planned = [step.decision.slots for step in growing]
            return (sum(planned) - sum(needed)) / len(growing)

        reacting = lead(ReplicaPool(interval="5 seconds", utilisation=1.0))
        assert lead(AutoScalePlus(interval="5 seconds", margin=0.0)) > reacting + 0.5

    def test_the_reason_says_how_much_it_will_grow(self) -> None:
        steps = FLUID.run(AutoScalePlus(), self.ramp, 130.0)
        assert re.match(
            r"input will grow \d+ % in the next 30 s by the [a-z ]+; demand \d+(\.\d+)? slots "
            r"at 70 % utilisation; asking for \d+",
            steps[-1].decision.reason,
        )

    def test_a_sparing_forecast_goes_below_what_comes_now(self) -> None:
        def falling(second: float) -> float:
            return max(50.0, 1_000.0 - 8.0 * second)

        demands = {}
        for combine in ("max", "min"):
            policy = AutoScalePlus(combine=combine)  # type: ignore[arg-type]
            steps = FLUID.run(policy, falling, 80.0, slots=16)
            demands[combine] = steps[-1].decision.demand_slots or 0.0
        assert demands["min"] < 0.9 * demands["max"]

    def test_few_operators_have_a_forecast_of_their_own(self) -> None:
        policy = AutoScalePlus(interval=1)
        many = tuple(
            OperatorObservation(
                f"op {n:02}", 100, 100, 0.1, 2, 0.05, 0.05, inputs=(f"op {n - 1:02}",) if n else ()
            )
            for n in range(30)
        )
        for batch in range(3):
            source = SourceObservation("op 00", 100, 0)
            seen = Observation(batch, 10.0 * batch, 0.5, 1.0, 8, many, (source,))
            decision = policy.decide(seen)
        own = policy.save()["own"]
        assert len(own) == MOST_FORECASTS
        assert "op 00" in own
        assert decision.expected_rows["op 29"] == pytest.approx(decision.expected_rows["op 00"])


@pytest.mark.parametrize(("settling", "learnt"), [(10, False), (0, True)])
def test_what_is_measured_right_after_a_change_is_not_used(settling: int, learnt: bool) -> None:
    """Batches cost tenfold right after slots changed from 4 to 8: cold slots, say."""
    policy, known = AutoScalePlus(interval="1 hour", settling=settling), []
    for batch in range(20):
        slots, cost = (4, 0.01) if batch < 16 else (8, 0.1)
        parse = OperatorObservation("parse", 100, 10, 100 * cost, slots, 0.1, 0.1)
        source = SourceObservation("clicks", 100, 0)
        policy.decide(Observation(batch, float(batch), 0.5, 1.0, slots, (parse,), (source,)))
        known.append(policy.save()["memory"]["workload"]["capacity"])
    assert (known[19] != known[15]) is learnt
    assert known[15] != known[14]


def test_slots_that_never_stop_changing_do_not_keep_it_from_learning() -> None:
    """4 and 5 slots by turns, and 4 slots' work."""
    policy = AutoScalePlus(interval="10 seconds")
    policy.decide(Observation(-1, 0.0, 0.0, 1.0, 4, most_slots=16))
    for batch in range(60):
        rows, slots = (1_000 if batch else 0), 4 + batch % 2
        parse = OperatorObservation("parse", rows, 10, rows * 0.008, slots, 1.9, 1.9)
        source = SourceObservation("clicks", rows, 0)
        seen = Observation(
            batch, 2.0 * batch + 2, 2.0, 2.0, slots, (parse,), (source,), most_slots=16
        )
        decision = policy.decide(seen)
    assert decision.demand_slots == pytest.approx(4.0 / 0.7, rel=0.15)


def test_slots_beyond_the_cores_are_not_asked_for_where_they_do_not_help() -> None:
    """16 slots on 2 cores, and rows that need a core all the time: 6 slots' work."""
    policy = AutoScalePlus(interval=1, start_slots=1)
    for batch in range(6):
        rows, work = 600, 6.0
        parse = OperatorObservation(
            "parse", rows, 10, work, 2, 3.0, 3.0, cpu_seconds=work, inputs=("clicks",)
        )
        clicks = OperatorObservation("clicks", rows, rows, 0.0, 0, 0.0, 0.0)
        source = SourceObservation("clicks", rows, 0)
        seen = Observation(
            batch, 1.0 + batch, 0.9, 1.0, 16, (clicks, parse), (source,), used_slots=2, cores=2
        )
        decision = policy.decide(seen)
    assert decision.slots == 2
    assert "more than 2 cores have; more slots don't help" in decision.reason


@pytest.mark.parametrize(
    "settings",
    [
        {"combine": "mean"},
        {"beta": 0},
        {"beta": 1.1},
        {"margin": 1},
        {"margin": -0.1},
        {"horizon": "0 seconds"},
        {"window": "soon"},
        {"settling": "a bit"},
        {"period": 0},
        {"start_slots": 0},
        {"batch_within": "0 seconds"},
        {"min_slots": 5, "max_slots": 4},
    ],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(settings))):
        AutoScalePlus(**settings)
