"""Flux: loads get more even, move by move, and it ends."""

from __future__ import annotations

from math import fsum, isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.placement.flux import Move, rebalanced, task_loads, variance
from penstock.placement.group_table import GroupTable


@st.composite
def loaded_tables(draw: st.DrawFn) -> tuple[GroupTable, list[float]]:
    tasks = draw(st.integers(1, 8))
    owners = draw(st.lists(st.integers(0, tasks - 1), min_size=1, max_size=40))
    load = st.floats(0, 1e6) | st.integers(0, 5).map(float)
    loads = draw(st.lists(load, min_size=len(owners), max_size=len(owners)))
    return GroupTable(tuple(owners), tasks), loads


limits = st.integers(0, 10) | st.none()


@given(loaded_tables(), limits)
def test_every_group_keeps_exactly_one_owner_and_no_load_is_lost(
    case: tuple[GroupTable, list[float]], limit: int | None
) -> None:
    table, loads = case
    found = rebalanced(table, loads, limit=limit)
    assert found.table.groups == table.groups
    assert found.table.tasks == table.tasks
    assert isclose(fsum(task_loads(found.table, loads)), fsum(loads))
    assert table.moved(found.table) == tuple(move.group for move in found.moves)
    for move in found.moves:
        assert table.owners[move.group] == move.source != move.target
        assert found.table.owners[move.group] == move.target
        assert loads[move.group] == move.load


@given(loaded_tables(), limits)
def test_the_variance_never_rises_and_moves_are_limited(
    case: tuple[GroupTable, list[float]], limit: int | None
) -> None:
    table, loads = case
    found = rebalanced(table, loads, limit=limit)
    assert found.variance_before == variance(task_loads(table, loads))
    assert found.variance_after == variance(task_loads(found.table, loads))
    if found.moves:
        assert found.variance_after < found.variance_before
    if limit is not None:
        assert len(found.moves) <= limit


@given(loaded_tables())
def test_it_ends_where_nothing_can_get_better(case: tuple[GroupTable, list[float]]) -> None:
    table, loads = case
    once = rebalanced(table, loads)
    assert rebalanced(once.table, loads).moves == ()
    # No single group between the most and the least loaded task would help any more.
    of_task = task_loads(once.table, loads)
    most, least = of_task.index(max(of_task)), of_task.index(min(of_task))
    gap = of_task[most] - of_task[least]
    noise = 1e-6 * (1 + fsum(loads)) ** 2
    for group in once.table.of_task(most):
        assert loads[group] * (gap - loads[group]) <= noise


@given(st.integers(1, 8), st.integers(1, 6), st.floats(0.1, 100))
def test_a_balanced_table_is_left_alone(tasks: int, each: int, load: float) -> None:
    table = GroupTable.even(tasks * each, tasks)
    found = rebalanced(table, [load] * table.groups)
    assert found.moves == ()
    assert found.table == table


def test_the_first_gives_to_the_last_and_the_second_to_the_last_but_one() -> None:
    #          task 0 (10)  task 1 (8)  task 2 (2)  task 3 (0)
    table = GroupTable((0, 0, 0, 1, 1, 2), 4)
    loads = [2.0, 3.0, 5.0, 5.0, 3.0, 2.0]
    found = rebalanced(table, loads, limit=2)
    assert found.moves == (
        Move(group=2, source=0, target=3, load=5.0),
        Move(group=4, source=1, target=2, load=3.0),
    )
    assert task_loads(found.table, loads) == [5.0, 5.0, 5.0, 5.0]
    assert (found.variance_before, found.variance_after) == (17.0, 0.0)


def test_a_group_that_is_all_of_the_load_stays() -> None:
    assert rebalanced(GroupTable((0, 1), 2), [9.0, 0.0]).moves == ()


@pytest.mark.parametrize("load", [-1.0, float("nan")])
def test_a_load_is_a_number_from_nothing_up(load: float) -> None:
    with pytest.raises(ValueError, match="from 0 up"):
        rebalanced(GroupTable((0,), 1), [load])
