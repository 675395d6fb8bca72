"""Each guard rail alone, with exact numbers."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.elasticity.observation import Observation
from penstock.elasticity.rails.bounds import Bounds, bounds
from penstock.elasticity.rails.cool_down import CoolDown
from penstock.elasticity.rails.cost_ceiling import HOUR_SECONDS, CostCeiling
from penstock.elasticity.rails.excluded import Excluded, period
from penstock.elasticity.rails.oscillation import Oscillation
from penstock.elasticity.rails.rail import Held, Rail, Situation, Wait
from penstock.elasticity.rails.scale_in import NotWhileBehind, Patience
from penstock.elasticity.rails.useless import UselessScaleOut
from penstock.errors import ConfigurationError

NOW = Situation(100.0, 100.0, interval_seconds=10.0, planned=6, in_use=6)


def at(second: float, planned: int = 6, **more: Any) -> Situation:
    return replace(
        NOW, now_seconds=second, at_seconds=second, planned=planned, in_use=planned, **more
    )


def slots(rail: Rail, wanted: int, now: Situation) -> int:
    held = rail.hold(wanted, now)
    return wanted if held is None else held.slots


class TestBounds:
    @pytest.mark.parametrize(
        ("wanted", "given"), [(0, 2), (1, 2), (2, 2), (5, 5), (8, 8), (9, 8), (10**9, 8)]
    )
    def test_nothing_gets_outside(self, wanted: int, given: int) -> None:
        held = Bounds(2, 8).within(wanted)
        assert (wanted if held is None else held.slots) == given

    @pytest.mark.parametrize(
        ("least", "most", "told", "there", "result"),
        [
            (1, None, None, 4, Bounds(1, 4)),
            (1, 20, None, 4, Bounds(1, 20)),
            (1, None, 7, 4, Bounds(1, 7)),
            (2, 20, 7, 4, Bounds(2, 7)),
            (9, None, 7, 4, Bounds(7, 7)),
            (9, 12, None, 4, Bounds(9, 12)),
        ],
    )
    def test_what_the_user_allows_and_what_there_can_be(
        self, least: int, most: int | None, told: int | None, there: int, result: Bounds
    ) -> None:
        seen = Observation(0, 0.0, 1.0, None, slots=there, most_slots=told)
        assert bounds(least, most, seen) == result


class TestCostCeiling:
    """No hour costs more than the ceiling, looked at every 10 seconds."""

    def test_a_burst_is_paid_for_from_what_was_saved(self) -> None:
        ceiling = CostCeiling(7_200.0)  # two slots all the time
        ceiling.decided(1, at(0.0))
        # Half an hour at one slot leaves 5400 slot-seconds, 1800 of them for the one slot that
        # there must be up to the end of the hour: 7 slots more for 514 s.
        second, planned, given = 1_800.0, 1, []
        while second < 1_800.0 + 600.0:
            now = at(second, planned)
            planned = slots(ceiling, 8, now)
            ceiling.decided(planned, now)
            given.append(planned)
            second += 10.0
        assert given == [8] * 51 + [4] + [1] * 8

    def test_the_reason_says_what_is_left(self) -> None:
        ceiling = CostCeiling(3_600.0)
        ceiling.decided(2, at(0.0, 2))
        held = ceiling.hold(2, at(1_800.0, 2))
        assert held == Held(1, "3600 slot-seconds an hour leave 1 slot")

    def test_what_falls_out_of_the_hour_can_be_spent_again(self) -> None:
        ceiling = CostCeiling(10_800.0)
        ceiling.decided(6, at(0.0, 1))
        ceiling.decided(1, at(1_200.0, 6))
        # The hour cost 9600; in the next 600 s 1200 are left and 3600 fall out.
        assert slots(ceiling, 20, replace(at(3_600.0, 1), interval_seconds=600.0)) == 8

    @given(st.lists(st.integers(1, 40), min_size=1, max_size=60), st.floats(3_600, 60_000))
    def test_no_hour_ever_costs_more(self, wishes: list[int], most: float) -> None:
        ceiling, planned = CostCeiling(most), 1
        spans: list[tuple[float, int]] = []
        for number, wish in enumerate(wishes):
            now = replace(at(120.0 * number, planned), interval_seconds=120.0)
            planned = slots(ceiling, wish, now)
            ceiling.decided(planned, now)
            spans.append((120.0 * number, planned))
            end = 120.0 * (number + 1)
            cost = sum(n * 120.0 for start, n in spans if start >= end - HOUR_SECONDS)
            assert cost <= most + 1e-6
        assert len(ceiling.save()["spans"]) <= 31

    def test_the_least_slots_are_had_whatever_they_cost(self) -> None:
        ceiling = CostCeiling(100.0, least=3)
        ceiling.decided(3, at(0.0, 3))
        assert slots(ceiling, 9, at(1_000.0, 3)) == 3

    def test_a_batch_longer_than_the_interval_is_paid_for_ahead(self) -> None:
        ceiling = CostCeiling(7_200.0)
        # 6000 s of one slot, and a fifth more to be safe: all of the ceiling, whatever the slots.
        # Only with 2 of them is the hour over by then, and no other slot-second to be paid.
        now = replace(at(0.0, 1), coming_seconds=6_000.0)
        ceiling.decided(1, now)
        assert slots(ceiling, 8, at(0.0, 1)) == 8
        assert slots(ceiling, 8, now) == 2

    def test_nothing_is_paid_while_the_query_is_stopped(self) -> None:
        def after(stopped: bool) -> int:
            ceiling = CostCeiling(28_800.0)
            ceiling.decided(15, at(0.0, 15))
            ceiling.watch(at(300.0, 15))
            if stopped:
                saved = json.loads(json.dumps(ceiling.save()))
                ceiling = CostCeiling(28_800.0)
                ceiling.load(saved)
                ceiling.starts(at(2_300.0, 15))
            return slots(ceiling, 16, at(2_300.0, 15))

        assert after(stopped=True) == 16
        assert after(stopped=False) == 1


class TestCoolDown:
    #  0 s            5 s                      30 s
    #  change 4 -> 6  more may be asked for    fewer may be

    def changed(self) -> CoolDown:
        rail = CoolDown(Wait(0.5), Wait(3.0))
        rail.decided(6, at(0.0, planned=4))
        return rail

    @pytest.mark.parametrize(("second", "given"), [(1, 6), (4.9, 6), (5, 8), (100, 8)])
    def test_more_slots_wait_half_an_interval(self, second: float, given: int) -> None:
        assert slots(self.changed(), 8, at(second)) == given

    @pytest.mark.parametrize(("second", "given"), [(1, 6), (29.9, 6), (30, 3)])
    def test_fewer_wait_three(self, second: float, given: int) -> None:
        assert slots(self.changed(), 3, at(second)) == given

    def test_a_backlog_that_grows_does_not_wait(self) -> None:
        assert slots(self.changed(), 8, at(1.0, growing=True)) == 8
        assert slots(self.changed(), 3, at(1.0, growing=True)) == 6

    def test_what_the_user_says_counts_in_seconds(self) -> None:
        rail = CoolDown(Wait(0.5, 60.0), Wait(3.0))
        rail.decided(6, at(0.0, planned=4))
        assert slots(rail, 8, at(59.0)) == 6
        assert slots(rail, 8, at(60.0)) == 8

    def test_no_change_is_no_change(self) -> None:
        rail = CoolDown(Wait(0.5), Wait(3.0))
        rail.decided(6, at(0.0))
        assert slots(rail, 3, at(1.0)) == 3


class TestPatience:
    def test_fewer_slots_must_be_wanted_in_a_row_and_the_most_of_them_is_taken(self) -> None:
        rail = Patience(3)
        assert [slots(rail, wanted, at(1.0)) for wanted in (2, 4, 3)] == [6, 6, 4]

    def test_a_wish_for_more_begins_it_anew(self) -> None:
        rail = Patience(3)
        given = [slots(rail, wanted, at(1.0)) for wanted in (2, 2, 6, 2, 2, 2)]
        assert given == [6, 6, 6, 6, 6, 2]

    def test_one_means_at_once(self) -> None:
        assert slots(Patience(1), 2, at(1.0)) == 2

    def test_it_begins_anew_after_a_change(self) -> None:
        rail = Patience(2)
        slots(rail, 2, at(1.0))
        assert slots(rail, 2, at(2.0)) == 2
        rail.decided(2, at(2.0))
        assert slots(rail, 1, at(3.0, planned=2)) == 2

    def test_what_another_rail_held_stays_wanted(self) -> None:
        rail = Patience(2)
        slots(rail, 2, at(1.0))
        rail.decided(6, at(1.0))
        assert slots(rail, 2, at(2.0)) == 2


def test_no_slot_is_given_back_while_rows_wait() -> None:
    rail = NotWhileBehind()
    assert slots(rail, 2, at(1.0, behind=True)) == 6
    assert slots(rail, 8, at(1.0, behind=True)) == 8
    assert slots(rail, 2, at(1.0)) == 2


def test_it_says_whether_rows_wait_or_batches_are_late() -> None:
    rail = NotWhileBehind()
    assert rail.hold(2, at(1.0, behind=True)) == Held(6, "rows wait")
    late = Held(6, "batches take longer than their trigger")
    assert rail.hold(2, at(1.0, behind=True, late=True)) == late


class TestOscillation:
    """Plans 4, 6, 4, 6 ... every 10 seconds; the third turn is one too many."""

    def swung(self, loads: list[float]) -> Oscillation:
        rail = Oscillation(3, within=Wait(30), hold=Wait(12))
        for number, load in enumerate(loads):
            planned, then = (4, 6) if number % 2 == 0 else (6, 4)
            rail.decided(then, at(10.0 * number, planned, arriving_per_second=load))
        return rail

    def test_the_higher_number_is_held(self) -> None:
        rail = self.swung([100.0, 100.0, 100.0])  # up, down, up: two turns
        held = rail.hold(4, at(30.0, arriving_per_second=100.0))
        assert held is not None
        assert held.slots == 6
        assert held.why == (
            "the plan turned 3 times within 300 s, so no slot is given back for 120 s"
        )
        assert slots(rail, 4, at(149.0, arriving_per_second=100.0)) == 6
        assert slots(rail, 9, at(60.0, arriving_per_second=100.0)) == 9

    def test_two_turns_are_none(self) -> None:
        rail = self.swung([100.0])
        assert slots(rail, 4, at(10.0, arriving_per_second=100.0)) == 4

    def test_a_load_that_swings_is_followed(self) -> None:
        rail = self.swung([100.0, 20.0, 110.0, 25.0, 120.0])
        assert slots(rail, 4, at(60.0, arriving_per_second=20.0)) == 4

    def test_so_is_one_that_grew_in_steps_and_falls(self) -> None:
        rail = Oscillation(1, within=Wait(30), hold=Wait(12))
        rail.decided(6, at(0.0, 4, arriving_per_second=100.0))
        assert slots(rail, 4, at(5.0, 6, arriving_per_second=105.0)) == 6
        rail.watch(at(10.0, 6, arriving_per_second=200.0))
        rail.decided(9, at(10.0, 6, arriving_per_second=200.0))
        assert slots(rail, 8, at(20.0, 9, arriving_per_second=190.0)) == 8
        assert slots(rail, 4, at(20.0, 9, arriving_per_second=105.0)) == 4

    def test_so_is_a_burst_that_came_and_went_since_the_turn(self) -> None:
        rail = self.swung([100.0, 100.0, 100.0])
        rail.watch(at(25.0, arriving_per_second=900.0))
        assert slots(rail, 4, at(30.0, arriving_per_second=100.0)) == 4

    def test_a_load_that_moves_ends_the_hold_and_what_it_had_grown_to(self) -> None:
        rail = self.swung([100.0, 100.0, 100.0])
        load = {"arriving_per_second": 100.0}
        assert slots(rail, 4, at(30.0, **load)) == 6
        assert slots(rail, 4, at(151.0, **load)) == 6  # again, twice as long
        assert slots(rail, 3, at(160.0, arriving_per_second=60.0)) == 3
        held = rail.hold(4, at(161.0, **load))
        assert held is not None
        assert held.why.endswith("for 120 s")

    def test_old_turns_are_forgotten(self) -> None:
        rail = self.swung([100.0, 100.0, 100.0])
        assert slots(rail, 4, at(330.0, arriving_per_second=100.0)) == 4

    def test_it_holds_longer_when_it_happens_again(self) -> None:
        rail, holds = self.swung([100.0, 100.0, 100.0]), []
        second = 30.0
        for _ in range(6):
            load = {"arriving_per_second": 100.0}
            for planned, then in ((6, 4), (4, 6), (6, 4), (4, 6)):
                rail.decided(then, at(second, planned, **load))
            held = rail.hold(4, at(second, **load))
            assert held is not None
            holds.append(float(held.why.split()[-2]))
            second += holds[-1] + 1.0
        assert holds == [120.0, 240.0, 480.0, 960.0, 1_920.0, 1_920.0]


class TestUselessScaleOut:
    #  1 s 2 s 3 s       4 s                   9 s 14 s 19 s      319 s
    #  4 slots, then 8   the 8 are there, cold  these are judged  the hold is over

    def watched(
        self, before: float, after: list[float], behind: bool = True, cost_after: float = 0.04
    ) -> UselessScaleOut:
        rail = UselessScaleOut(Wait(30))
        pace = {"rows_per_second": before, "seconds_per_row": 0.04}
        for second in (1.0, 2.0, 3.0):
            rail.watch(at(second, 4, behind=True, **pace))
        rail.decided(8, at(3.0, 4, behind=True, **pace))
        for second in (4.0, 5.0, 6.0, 7.0, 8.0):
            rail.watch(at(second, 8, behind=True, rows_per_second=before / 2))
        pace = {"seconds_per_row": cost_after}
        for number, rate in enumerate(after):
            rail.watch(at(9.0 + 5 * number, 8, behind=behind, rows_per_second=rate, **pace))
        return rail

    def test_more_slots_that_make_nothing_faster_are_the_last(self) -> None:
        rail = self.watched(100.0, [104.0, 105.0, 106.0])
        held = rail.hold(12, at(20.0, 8))
        assert held == Held(
            8,
            "going from 4 to 8 slots did not help (100 rows/s before, 105 after), "
            "so none is added for 299 s",
        )
        assert slots(rail, 2, at(20.0, 8)) == 2
        assert slots(rail, 12, at(319.0, 8)) == 12

    def test_a_tenth_of_what_was_added_is_help(self) -> None:
        assert slots(self.watched(100.0, [110.1] * 3), 12, at(20.0, 8)) == 12
        assert slots(self.watched(100.0, [109.9] * 3), 12, at(20.0, 8)) == 8

    def test_slots_that_just_came_are_cold_and_not_judged(self) -> None:
        assert slots(self.watched(100.0, []), 12, at(9.0, 8)) == 12
        assert slots(self.watched(100.0, [180.0] * 3), 12, at(20.0, 8)) == 12

    def test_it_takes_three_batches_and_an_interval_to_judge(self) -> None:
        rail = self.watched(100.0, [90.0, 90.0])
        assert slots(rail, 12, at(15.0, 8)) == 12
        for second in (14.1, 14.2, 17.9):
            rail.watch(at(second, 8, behind=True, rows_per_second=90.0))
            assert slots(rail, 12, at(18.0, 8)) == 12
        rail.watch(at(18.1, 8, behind=True, rows_per_second=90.0))
        assert slots(rail, 12, at(18.2, 8)) == 8

    def test_rows_that_became_dearer_are_not_blamed_on_the_slots(self) -> None:
        dearer = self.watched(100.0, [60.0] * 3, cost_after=0.12)
        assert slots(dearer, 12, at(20.0, 8)) == 12

    def test_slots_that_wait_for_each_other_are_no_dearer_rows(self) -> None:
        """Twice the slots, each row takes twice as long: as many rows as before."""
        slower = self.watched(100.0, [100.0] * 3, cost_after=0.08)
        assert slots(slower, 12, at(20.0, 8)) == 8

    def test_what_there_was_before_can_be_had_again(self) -> None:
        rail = self.watched(100.0, [105.0] * 3)
        held = rail.hold(12, at(20.0, 3))
        assert held is not None
        assert held.slots == 4
        assert held.why.endswith("so no more than 1 are added for 299 s")
        assert slots(rail, 4, at(20.0, 3)) == 4

    def test_a_scale_in_below_it_ends_the_hold(self) -> None:
        rail = self.watched(100.0, [105.0] * 3)
        rail.decided(4, at(20.0, 8))
        assert slots(rail, 12, at(21.0, 4)) == 4
        rail.decided(3, at(22.0, 4))
        assert slots(rail, 12, at(23.0, 3)) == 12

    def test_a_query_that_caught_up_was_helped(self) -> None:
        rail = self.watched(100.0, [20.0, 20.0, 20.0], behind=False)
        assert slots(rail, 12, at(20.0, 8)) == 12

    def test_only_batches_with_as_many_slots_are_what_was_before(self) -> None:
        rail = UselessScaleOut(Wait(30))
        for second, planned, rate in ((1.0, 2, 50.0), (2.0, 2, 50.0), (3.0, 4, 100.0)):
            rail.watch(at(second, planned, behind=True, rows_per_second=rate))
        rail.decided(8, at(3.0, 4, behind=True))
        for second in (4.0, 9.0, 14.0, 19.0):
            rail.watch(at(second, 8, behind=True, rows_per_second=105.0))
        assert slots(rail, 12, at(20.0, 8)) == 8

    def test_slots_that_are_not_there_yet_are_not_judged(self) -> None:
        rail = UselessScaleOut(Wait(30))
        rail.watch(at(3.0, 4, behind=True, rows_per_second=100.0))
        rail.decided(8, at(3.0, 4, behind=True))
        for second in range(4, 30):
            rail.watch(replace(at(second, 8, behind=True, rows_per_second=90.0), in_use=4))
        assert slots(rail, 12, at(30.0, 8)) == 12
        for second in range(30, 46):  # now they are
            rail.watch(at(second, 8, behind=True, rows_per_second=90.0))
        assert slots(rail, 12, at(46.0, 8)) == 8


class TestExcluded:
    @pytest.mark.parametrize(
        ("written", "hour", "inside"),
        [
            ("02:00-03:30", 2.0, True),
            ("02:00-03:30", 3.49, True),
            ("02:00-03:30", 3.5, False),
            ("02:00-03:30", 24 * 900 + 2.5, True),
            ("23:30-00:30", 23.9, True),
            ("23:30-00:30", 0.4, True),
            ("23:30-00:30", 0.5, False),
            ("0:00-24:00", 13.0, True),
            ((3_600.0, 7_200.0), 1.5, True),
            ((3_600.0, 7_200.0), 25.5, False),
        ],
    )
    def test_what_lies_inside(self, written: Any, hour: float, inside: bool) -> None:
        assert period(written).contains(hour * 3_600) is inside

    def test_nothing_changes_inside(self) -> None:
        rail = Excluded((period("02:00-03:30"),))
        night = at(2.5 * 3_600)
        assert [slots(rail, wanted, night) for wanted in (2, 6, 9)] == [6, 6, 6]
        assert slots(rail, 9, at(4 * 3_600.0)) == 9

    @pytest.mark.parametrize(
        "written",
        ["2-3", "02:00", "02:60-03:00", "24:30-25:00", "02:00-02:00", (5, 3), (1,), 7, None],
    )
    def test_what_is_no_period_is_refused(self, written: Any) -> None:
        with pytest.raises(ConfigurationError, match=r"can't be read\. Write '02:00-03:30'"):
            period(written)


RAILS: list[Rail] = [
    CostCeiling(9_000.0),
    CoolDown(Wait(0.5), Wait(3.0)),
    Patience(3),
    Oscillation(2, Wait(30), Wait(12)),
    UselessScaleOut(Wait(30)),
    NotWhileBehind(),
    Excluded((period("02:00-03:30"),)),
]


@pytest.mark.parametrize("rail", RAILS, ids=[rail.name for rail in RAILS])
def test_a_rail_remembers_all_of_it_as_json(rail: Rail) -> None:
    fresh = json.loads(json.dumps(rail.save()))

    def go_on(first: int) -> list[Held | None]:
        planned, said = 6, []
        for number in range(first, first + 30):
            wanted = (9, 3, 2, 2, 8)[number % 5]
            now = at(7.0 * number, planned, behind=number % 3 == 0, rows_per_second=50.0)
            if isinstance(rail, UselessScaleOut):
                rail.watch(now)
            held = rail.hold(wanted, now)
            said.append(held)
            planned = wanted if held is None else held.slots
            rail.decided(planned, now)
        return said

    go_on(0)
    saved = json.loads(json.dumps(rail.save()))
    once = go_on(30)
    rail.load(saved)
    assert rail.save() == saved
    assert go_on(30) == once
    rail.load(fresh)
