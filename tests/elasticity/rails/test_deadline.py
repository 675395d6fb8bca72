"""Rows that wait, and the slots with which they are done in time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.elasticity.rails.deadline import MOST_COHORTS, Cohort, WaitingRows, slots_in_time


def needed(*cohorts: Cohort, arriving: float = 0.0, fixed: float = 0.0) -> float:
    """For rows of 0.1 s, at second 100, with a deadline of 30 s and a batch every 5 s."""
    return slots_in_time(
        cohorts,
        arriving,
        seconds_per_row=0.1,
        now_seconds=100.0,
        max_latency_seconds=30.0,
        batch_interval_seconds=5.0,
        fixed_seconds=fixed,
    )


class TestWaitingRows:
    def test_the_last_that_came_are_those_that_wait(self) -> None:
        waiting = WaitingRows()
        waiting.arrived(1.0, 10.0)
        waiting.arrived(2.0, 20.0)
        waiting.left(25.0)
        assert waiting.cohorts == [Cohort(1.0, 5.0), Cohort(2.0, 20.0)]
        waiting.left(0.0)
        assert waiting.cohorts == []

    def test_more_than_ever_came_are_as_old_as_the_oldest(self) -> None:
        waiting = WaitingRows()
        waiting.arrived(1.0, 10.0)
        waiting.left(40.0)
        assert waiting.cohorts == [Cohort(1.0, 40.0)]

    @given(st.lists(st.integers(1, 100), min_size=1, max_size=600), st.data())
    def test_as_many_wait_as_are_left(self, came: list[int], data: st.DataObject) -> None:
        waiting = WaitingRows()
        for second, rows in enumerate(came):
            waiting.arrived(float(second), float(rows))
        left = data.draw(st.integers(0, sum(came)))
        waiting.left(float(left))
        assert sum(each.rows for each in waiting.cohorts) == pytest.approx(left)
        assert len(waiting.cohorts) <= MOST_COHORTS


class TestSlotsInTime:
    #  100 s       125 s      130 s
    #  now         must run   due

    def test_nothing_waits(self) -> None:
        assert needed() == 0.0
        assert needed(arriving=3.0) == 3.0

    def test_rows_that_just_came_have_all_the_time_but_a_batch(self) -> None:
        assert needed(Cohort(100.0, 1_000.0)) == pytest.approx(100 / 25)

    def test_fixed_costs_take_of_the_time(self) -> None:
        assert needed(Cohort(100.0, 1_000.0), fixed=5.0) == pytest.approx(100 / 20)

    def test_the_older_the_rows_the_more_slots(self) -> None:
        assert needed(Cohort(85.0, 1_000.0)) == pytest.approx(100 / 10)

    def test_what_is_late_is_done_in_the_next_batch(self) -> None:
        assert needed(Cohort(10.0, 1_000.0)) == pytest.approx(100 / 5)

    def test_a_few_old_rows_before_many_young_ones(self) -> None:
        # The first 100 are due in 10 s (1 slot); all 1100 in 25 s (4.4 slots).
        few, many = Cohort(85.0, 100.0), Cohort(100.0, 1_000.0)
        assert needed(few, many) == needed(many, few) == pytest.approx(110 / 25)

    @given(
        st.lists(st.builds(Cohort, st.floats(0, 100), st.floats(0, 1e6)), max_size=5),
        st.floats(0, 100),
    )
    def test_it_never_lowers_what_arrives_needs(self, old: list[Cohort], arriving: float) -> None:
        assert needed(*old, arriving=arriving) >= arriving
