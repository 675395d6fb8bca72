"""Tables of key groups: every group has one owner, and few of them move."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.placement.group_table import GroupTable

counts = st.integers(1, 12)


@st.composite
def tables(draw: st.DrawFn) -> GroupTable:
    tasks = draw(counts)
    return GroupTable(tuple(draw(st.lists(st.integers(0, tasks - 1), max_size=40))), tasks)


def spread(table: GroupTable) -> int:
    sizes = [len(table.of_task(task)) for task in range(table.tasks)]
    return max(sizes) - min(sizes)


def fewest_moves(table: GroupTable, tasks: int) -> int:
    """How many groups have to move at least: those that don't fit into any even choice of sizes."""
    base, odd = divmod(table.groups, tasks)
    sizes = sorted((len(table.of_task(task)) for task in range(tasks)), reverse=True)
    kept = sum(min(size, base + (place < odd)) for place, size in enumerate(sizes))
    return table.groups - kept


@given(st.integers(0, 60), counts)
def test_an_even_table_gives_no_task_two_groups_more(groups: int, tasks: int) -> None:
    table = GroupTable.even(groups, tasks)
    assert table.groups == groups
    assert spread(table) <= 1


@given(tables(), counts)
def test_resizing_evens_out_by_the_fewest_moves(table: GroupTable, tasks: int) -> None:
    resized = table.resized(tasks)
    assert resized.tasks == tasks
    assert resized.groups == table.groups
    if tasks != table.tasks:
        assert spread(resized) <= 1
        assert len(table.moved(resized)) == fewest_moves(table, tasks)


@given(tables())
def test_as_many_tasks_leave_a_table_alone(table: GroupTable) -> None:
    assert table.resized(table.tasks) is table


def test_more_tasks_take_from_all_and_fewer_give_to_all() -> None:
    four = GroupTable.even(8, 4)
    assert four.owners == (0, 1, 2, 3, 0, 1, 2, 3)
    two = four.resized(2)
    assert two.owners == (0, 1, 0, 0, 0, 1, 1, 1)
    assert four.moved(two) == (2, 3, 6, 7)


@given(tables())
def test_a_table_survives_json(table: GroupTable) -> None:
    assert GroupTable.from_json(json.loads(json.dumps(table.to_json()))) == table


@pytest.mark.parametrize(
    "document",
    [
        {"owners": [0, 2], "tasks": 2},
        {"owners": [0, -1], "tasks": 2},
        {"owners": [0, "1"], "tasks": 2},
        {"owners": [], "tasks": 0},
        {"owners": [0], "tasks": 1.0},
    ],
)
def test_no_table_has_an_owner_that_is_not_there(document: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"owned by|1 to 1000000 tasks"):
        GroupTable.from_json(document)
