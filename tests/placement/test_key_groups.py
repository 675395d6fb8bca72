"""When key groups move: soon after a drift, never for a small imbalance, always with a reason."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import ConfigurationError
from penstock.placement.flux import task_loads
from penstock.placement.group_table import GroupTable
from penstock.placement.key_groups import (
    KeyGroupDecision,
    KeyGroups,
    KeyGroupState,
)

GROUPS, TASKS = 16, 4


def watched(
    rule: KeyGroups, batches: Iterable[dict[int, float]], state: KeyGroupState | None = None
) -> tuple[KeyGroupState, list[KeyGroupDecision]]:
    state = state or KeyGroupState.fresh(GROUPS, TASKS)
    decisions = []
    for loads in batches:
        state, decision = rule.observe(state, loads, TASKS)
        decisions.append(decision)
    return state, decisions


def even(load: float = 1.0) -> dict[int, float]:
    return dict.fromkeys(range(GROUPS), load)


def skewed() -> dict[int, float]:
    """Groups 0, 4, 8 and 12, all on task 0, have most of the load."""
    return {group: 5.0 if group % TASKS == 0 else 1.0 for group in range(GROUPS)}


def excess(state: KeyGroupState, loads: dict[int, float]) -> float:
    of_task = task_loads(state.table, [loads.get(group, 0.0) for group in range(GROUPS)])
    return max(of_task) / (sum(of_task) / len(of_task))


def test_a_drift_is_answered_within_three_batches() -> None:
    state, before = watched(KeyGroups(), [even()] * 10)
    assert not any(decision.moves for decision in before)
    state, after = watched(KeyGroups(), [skewed()] * 3, state)
    assert any(decision.moves for decision in after)
    # One heavy group more than its neighbour is as even as single moves can make it.
    assert excess(state, skewed()) <= 1.25


def test_one_odd_batch_moves_nothing() -> None:
    _, decisions = watched(KeyGroups(), [even(), even(), skewed(), even(), even()])
    assert not any(decision.moves for decision in decisions)


def test_a_small_imbalance_is_left_alone() -> None:
    loads = even() | {0: 1.39}  # task 0 has 4.39 of 16.39: 7 % more than its share
    state, decisions = watched(KeyGroups(), [loads] * 10)
    assert not any(decision.moves for decision in decisions)
    assert state.uneven == 0


def test_what_cannot_be_mended_is_not_tried_every_batch() -> None:
    state, decisions = watched(KeyGroups(), [even(0.01) | {0: 50.0}] * 20)
    assert not any(decision.moves for decision in decisions)
    assert state.uneven > 0


def test_no_more_groups_move_at_once_than_allowed() -> None:
    _, decisions = watched(KeyGroups(patience=1, moves=2), [skewed()])
    assert len(decisions[0].moves) == 2


def test_unevenness_that_evens_out_over_batches_moves_nothing() -> None:
    """Each batch has its load on another task; smoothed over many, they all have the same."""
    tides = [
        {group: 5.0 if group % TASKS == turn % TASKS else 1.0 for group in range(GROUPS)}
        for turn in range(16)
    ]
    rule = KeyGroups(smoothing=0.01)
    state, decisions = watched(rule, [even(2.0), *tides])
    assert not any(decision.moves for decision in decisions)
    assert state.uneven == 0


def test_after_a_rebalance_everything_stays() -> None:
    _, decisions = watched(KeyGroups(), [skewed()] * 20)
    assert [number for number, each in enumerate(decisions) if each.moves] == [1]


def test_the_reason_names_task_group_and_shares() -> None:
    loads = {0: 22.0, 4: 19.0, 1: 20.0, 2: 20.0, 3: 19.0}
    _, decisions = watched(KeyGroups(patience=1, moves=1), [loads])
    (decision,) = decisions
    (move,) = decision.moves
    assert decision.reason == (
        f"task 0 had 41 % of the load of 4 tasks; group {move.group} ({move.load:.0f} %) moves "
        f"from task 0 to {move.target}"
    )
    _, decisions = watched(KeyGroups(patience=1), [skewed()])
    assert "group 0 (16 %) and 2 more move, it from task 0 to" in decisions[0].reason


def test_a_batch_without_load_changes_nothing() -> None:
    state, _ = watched(KeyGroups(), [skewed()])
    assert KeyGroups().observe(state, {}, TASKS) == (state, KeyGroupDecision())
    assert KeyGroups().observe(state, {1: 0.0}, TASKS) == (state, KeyGroupDecision())


def test_another_number_of_tasks_moves_groups_at_once() -> None:
    state = KeyGroupState.fresh(GROUPS, TASKS)
    resized, decision = KeyGroups().observe(state, {}, 8)
    assert resized.table == state.table.resized(8)
    assert len(decision.moves) == 8
    assert decision.reason == (
        "there are 8 tasks instead of 4; 8 of 16 groups move, so that each task has equally many"
    )
    _, decision = KeyGroups().observe(resized, {}, 1)
    assert decision.reason == "there is 1 task instead of 8; 14 of 16 groups move to it"


def test_resizing_and_balancing_at_once_give_each_group_one_move() -> None:
    rule = KeyGroups(patience=1)
    state = KeyGroupState.fresh(GROUPS, TASKS)
    after, decision = rule.observe(state, {0: 9.0, 1: 1.0, 4: 5.0, 5: 1.0, 8: 9.0}, 2)
    groups = [move.group for move in decision.moves]
    assert len(groups) == len(set(groups))
    assert "tasks instead of 4" in decision.reason
    assert "of the load of 2 tasks" in decision.reason
    for move in decision.moves:
        assert state.table.owners[move.group] == move.source
        assert after.table.owners[move.group] == move.target


loads_of_batches = st.lists(
    st.dictionaries(st.integers(0, GROUPS - 1), st.floats(0, 1e4)), min_size=1, max_size=8
)


@given(loads_of_batches, st.lists(st.integers(1, 8), min_size=8, max_size=8))
def test_whatever_comes_a_state_stays_whole_and_survives_json(
    batches: list[dict[int, float]], tasks: list[int]
) -> None:
    rule = KeyGroups(moves=3, patience=1)
    state = KeyGroupState.fresh(GROUPS, TASKS)
    for loads, wanted in zip(batches, tasks, strict=False):
        before = state.table
        state, decision = rule.observe(state, loads, wanted)
        assert state.table.tasks == wanted
        owners = list(before.owners)
        for move in decision.moves:
            assert owners[move.group] == move.source != move.target
            owners[move.group] = move.target
        assert tuple(owners) == state.table.owners
        assert bool(decision.reason) == bool(decision.moves) or before.tasks != wanted
        again = KeyGroupState.from_json(json.loads(json.dumps(state.to_json())))
        assert (again.table, again.uneven) == (state.table, state.uneven)
        assert again.loads == pytest.approx(state.loads, rel=1e-5)


def test_a_state_of_another_number_of_groups_is_refused() -> None:
    document = KeyGroupState.fresh(4, 2).to_json() | {"loads": [1.0]}
    with pytest.raises(ValueError, match="1 loads for 4 groups"):
        KeyGroupState.from_json(document)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"groups": 0}, "groups=0"),
        ({"groups": True}, "groups=True"),
        ({"groups": 100_000}, "32,768"),
        ({"migration": "soon"}, "'disruptive'"),
        ({"imbalance": -0.1}, "imbalance=-0.1"),
        ({"imbalance": float("nan")}, "imbalance=nan"),
        ({"smoothing": 0}, "smoothing=0"),
        ({"patience": 0}, "patience=0"),
        ({"moves": 1.5}, "moves=1.5"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        KeyGroups(**settings)


def test_a_fresh_table_is_even() -> None:
    assert KeyGroupState.fresh(6, 4).table == GroupTable.even(6, 4)
