"""What all policies that adapt have in common, seen on one that says what it is told to."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import pytest

from elasticity.fluid import Fluid
from penstock.elasticity.adapting import Adapting
from penstock.elasticity.autoscale_plus import AutoScalePlus
from penstock.elasticity.observation import Observation, OperatorObservation, SourceObservation
from penstock.elasticity.rails.guard_rails import GuardRails
from penstock.elasticity.replica_pool import ReplicaPool
from penstock.elasticity.wish import Moment, Wish


@dataclass(frozen=True, kw_only=True)
class Wishing(Adapting):
    """Wishes for ``wanted`` slots, and keeps the moments at which it was asked."""

    wanted: int = 9
    asked: list[Moment] = field(default_factory=list)

    kind: ClassVar[str] = "Wishing"

    def _wish(self, moment: Moment) -> Wish | None:
        self.asked.append(moment)
        return Wish(self.wanted, "7 rows are said to come", demand_slots=self.wanted - 0.5)


def batch(number: int, second: float, slots: int = 4, **more: object) -> Observation:
    source = SourceObservation("clicks", 1_000, 0)
    parse = OperatorObservation("parse", 1_000, 10, 2.0, 4, 0.5, 0.5)
    seen = Observation(number, second, 0.6, 1.0, slots, (parse,), (source,), most_slots=16)
    return replace(seen, **more)  # type: ignore[arg-type]


START = Observation(-1, 100.0, 0.0, 1.0, 4, most_slots=16)


class TestStart:
    def test_it_begins_with_all_there_are(self) -> None:
        decision = Wishing().decide(START)
        assert decision.slots == 4
        assert decision.reason == "nothing is measured yet; beginning with 4 slots, all there are"

    def test_or_with_as_many_as_set(self) -> None:
        decision = Wishing(start_slots=2).decide(START)
        assert decision.slots == 2
        assert decision.reason == "nothing is measured yet; beginning with 2 slots, as set"

    def test_within_its_bounds(self) -> None:
        decision = Wishing(max_slots=3).decide(START)
        assert decision.slots == 3
        assert decision.held_by == ("bounds",)

    def test_after_a_restart_it_goes_on_as_before(self) -> None:
        policy, restarted = Wishing(interval=1), Wishing(interval=1)
        for seen in (START, batch(0, 101.0)):
            policy.decide(seen)
        restarted.load(policy.save())
        again = restarted.decide(replace(START, at_seconds=500.0))
        assert again.slots == 9
        assert restarted.asked == []

    def test_a_query_that_runs_already_can_be_joined(self) -> None:
        assert Wishing(interval=1).decide(batch(71, 101.0)).slots == 9


class TestInterval:
    def asked_at(self, policy: Wishing, seconds: list[float]) -> list[float]:
        policy.decide(START)
        for number, second in enumerate(seconds):
            policy.decide(batch(number, second))
        return [moment.seen.at_seconds for moment in policy.asked]

    def test_seconds(self) -> None:
        policy = Wishing(interval="10 seconds")
        seconds = [101.0, 105.0, 110.9, 111.0, 120.995, 130.0]
        assert self.asked_at(policy, seconds) == [101.0, 111.0, 120.995]

    def test_batches(self) -> None:
        seconds = [101.0, 102.0, 103.0, 104.0, 105.0, 106.0]
        assert self.asked_at(Wishing(interval=2), seconds) == [101.0, 103.0, 105.0]

    def test_a_clock_that_goes_back_stops_nothing(self) -> None:
        policy = Wishing(interval="10 seconds")
        seconds = [1_000.0, 50.0, 61.0, 72.0]
        assert self.asked_at(policy, seconds) == [1_000.0, 61.0, 72.0]

    def test_the_reason_stays_between(self) -> None:
        policy = Wishing(interval="10 seconds")
        policy.decide(START)
        first, second = policy.decide(batch(0, 101.0)), policy.decide(batch(1, 102.0))
        assert first.reason == second.reason == "7 rows are said to come; asking for 9"
        assert first.demand_slots == 8.5


class TestEveryBatch:
    def test_tasks_fit_into_the_slots_there_are(self) -> None:
        policy = Wishing(interval=1)
        policy.decide(START)
        decision = policy.decide(batch(0, 101.0))
        assert decision.slots == 9
        assert decision.tasks == {"parse": 4}  # five slots are still to come
        assert policy.decide(batch(1, 102.0, slots=9)).tasks == {"parse": 9}

    def test_a_lost_executor_is_felt_at_once(self) -> None:
        policy = Wishing(interval="1 hour")
        policy.decide(START)
        for number in range(5):
            policy.decide(batch(number, 101.0 + number, slots=9))
        assert policy.decide(batch(5, 106.0, slots=2)).tasks == {"parse": 2}

    def test_and_so_are_bounds_that_change(self) -> None:
        policy = Wishing(interval="1 hour")
        policy.decide(START)
        policy.decide(batch(0, 101.0))
        decision = policy.decide(batch(1, 102.0, most_slots=3))
        assert decision.slots == 3
        assert decision.held_by == ("bounds",)
        assert decision.reason == "9 slots were planned; 3 slots are the most there may be"


class TestRails:
    def test_what_held_is_in_the_reason_and_named(self) -> None:
        policy = Wishing(interval=1, wanted=2)
        policy.decide(START)
        decision = policy.decide(batch(0, 101.0, batch_seconds=1.5))
        assert decision.slots == 4
        assert decision.held_by == ("rows wait",)
        assert decision.reason == (
            "7 rows are said to come; asking for 2; batches take longer than their trigger; still 4"
        )

    def test_rows_that_wait_are_told_by_the_sources_too(self) -> None:
        policy = Wishing(interval=1, wanted=2)
        policy.decide(START)
        left = SourceObservation("clicks", 1_000, waiting_rows=5)
        assert policy.decide(batch(0, 101.0, sources=(left,))).held_by == ("rows wait",)
        none = SourceObservation("clicks", 1_000, waiting_rows=None)
        assert policy.decide(batch(1, 102.0, sources=(none,))).held_by == ("scale-in patience",)

    def test_shortcuts_stand_for_those_of_the_rails(self) -> None:
        rails = GuardRails(min_slots=2, max_slots=5, scale_in_after=7)
        policy = Wishing(rails=rails, max_slots=8)
        assert policy.rails == GuardRails(min_slots=2, max_slots=8, scale_in_after=7)

    def test_an_excluded_period_changes_nothing_and_teaches_nothing(self) -> None:
        night = GuardRails(excluded=((1_000.0, 2_000.0),))
        policy = Wishing(interval=1, rails=night)
        policy.decide(START)
        before = policy.save()["memory"]["workload"]["capacity"]
        inside = policy.decide(batch(0, 1_500.0))
        assert inside.slots == 4
        assert inside.held_by == ("excluded period",)
        assert policy.save()["memory"]["workload"]["capacity"] == before
        assert policy.decide(batch(1, 2_000.0)).slots == 9


class TestDeadline:
    def decided(self, rails: GuardRails, waiting: int, wanted: int) -> tuple[int, tuple[str, ...]]:
        policy = Wishing(interval="30 seconds", wanted=wanted, rails=rails)
        policy.decide(START)
        for number in range(40):
            seen = batch(number, 101.0 + number)
            left = SourceObservation("clicks", 1_000, waiting if number >= 30 else 0)
            decision = policy.decide(replace(seen, sources=(left,)))
        return decision.slots, decision.held_by

    def test_rows_that_would_be_late_raise_the_demand(self) -> None:
        # 1000 rows/s of 2 ms keep 2 slots busy; 50 000 that wait are 100 s of one slot.
        assert self.decided(GuardRails(), 50_000, wanted=4) == (4, ())
        slots, held = self.decided(GuardRails(max_latency="20 seconds"), 50_000, wanted=4)
        assert 5 <= slots <= 7
        assert held == ("deadline",)

    def test_it_never_lowers_it(self) -> None:
        assert self.decided(GuardRails(max_latency="1 hour"), 50_000, wanted=4) == (4, ())

    def test_the_reason_says_so(self) -> None:
        rails = GuardRails(max_latency="2 seconds")
        policy = Wishing(interval=1, wanted=1, rails=rails)
        for number in range(4):
            seen = batch(number, 101.0 + number)
            left = SourceObservation("clicks", 1_000, 5_000)
            decision = policy.decide(replace(seen, sources=(left,)))
        assert "to have every row done within 2 s" in decision.reason


class TestBatchWithin:
    def test_longer_batches_need_fewer_slots(self) -> None:
        def slots(within: str | None) -> float:
            policy = ReplicaPool(interval="5 seconds", batch_within=within)
            steps = Fluid(fixed_seconds=0.4).run(policy, lambda second: 500.0, 60.0, slots=16)
            return steps[-1].decision.demand_slots or 0.0

        # 500 rows/s of 10 ms: 5 slots' work, in 0.9 - 0.4 s of every second, or 4.5 - 0.4 of 5.
        assert slots(None) == pytest.approx(5 / 0.5, rel=0.1)
        assert slots("500 milliseconds") == slots(None)
        assert slots("5 seconds") == pytest.approx(25 / 4.1, rel=0.1)

    def test_a_batch_within_it_is_not_behind(self) -> None:
        policy = Wishing(interval=1, wanted=2, batch_within="2 seconds")
        policy.decide(START)
        decision = policy.decide(batch(0, 101.0, batch_seconds=1.5))
        assert decision.held_by == ("scale-in patience",)


def test_two_policies_with_the_same_settings_are_equal_whatever_they_learnt() -> None:
    one, other = AutoScalePlus(margin=0.2), AutoScalePlus(margin=0.2)
    one.decide(START)
    assert one == other != AutoScalePlus()
