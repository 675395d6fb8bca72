"""How many tasks are made where slots differ in speed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.placement.over_partition import MOST, makespan, task_count

speeds_of_slots = st.lists(st.floats(0.05, 4.0), min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("tasks", "work", "speeds", "start", "end"),
    [
        (4, 8.0, [1.0, 1.0], 0.0, 4.0),  # two rounds of 2 s on either slot
        (3, 3.0, [1.0, 1.0], 0.0, 2.0),  # the third task waits for the first to end
        (4, 8.0, [1.0, 1.0], 0.5, 5.0),  # and each start is paid for
        (2, 2.0, [1.0, 0.25], 0.0, 4.0),  # the slow slot takes its task as soon as it is free
        (5, 5.0, [1.0, 0.25], 0.0, 4.0),  # with smaller ones the fast one takes four
    ],
)
def test_when_the_last_task_ends(
    tasks: int, work: float, speeds: list[float], start: float, end: float
) -> None:
    assert makespan(tasks, work, speeds, start) == pytest.approx(end)


@given(work=st.floats(0, 100), slots=st.integers(1, 12), speed=st.floats(0.1, 5))
def test_equally_fast_slots_get_one_task_each(work: float, slots: int, speed: float) -> None:
    assert task_count(work, [speed] * slots, 0.01) == slots


@given(work=st.floats(0, 100), speeds=speeds_of_slots, start=st.floats(0, 1))
def test_the_batch_ends_about_as_soon_as_it_can_and_never_later_than_with_a_task_a_slot(
    work: float, speeds: list[float], start: float
) -> None:
    slots = len(speeds)
    chosen = task_count(work, speeds, start)
    ends = {n: makespan(n, work, speeds, start) for n in range(slots, MOST * slots + 1)}
    assert slots <= chosen <= MOST * slots
    assert ends[chosen] <= 1.03 * min(ends.values()) + 1e-12
    assert ends[chosen] <= ends[slots]


def test_one_slot_of_half_the_speed_makes_more_tasks_that_end_sooner() -> None:
    speeds = [1.0] * 7 + [0.5]
    chosen = task_count(8.0, speeds, 0.01)
    assert chosen > 8
    # 7.5 slots' worth of speed: 1.07 s at best, and 2 s with one task a slot.
    assert makespan(chosen, 8.0, speeds, 0.01) < 1.25


def test_where_starting_costs_more_than_it_saves_none_is_added() -> None:
    assert task_count(0.01, [1.0] * 3 + [0.5], 0.1) == 4


def test_a_gain_of_two_percent_is_not_worth_more_tasks() -> None:
    """A slot a tenth slower than the others: fifteen tasks would end 2 % sooner than four."""
    speeds = [1.0, 1.0, 1.0, 0.89]
    assert 1.02 < makespan(4, 4.0, speeds, 0.01) / makespan(15, 4.0, speeds, 0.01) < 1.03
    assert task_count(4.0, speeds, 0.01) == 4
