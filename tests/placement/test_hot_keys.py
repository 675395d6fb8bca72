"""Which keys are split, and when they are not any more."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.placement.hot_keys import COOLED, CRUMB, LUMP, MOST, HotKeys

GROUPS = 10


def seen(heaviest: dict[int, float], total: float = 100.0) -> list[float]:
    """Return the loads of groups: of the heaviest keys, and the rest of the load spread evenly."""
    groups = [(total - sum(heaviest.values())) / GROUPS] * GROUPS
    for key, load in heaviest.items():
        groups[key % GROUPS] += load
    return groups


def observed(hot: HotKeys, heaviest: dict[int, float], tasks: int = 4) -> tuple[HotKeys, str]:
    return hot.observe(seen(heaviest), heaviest, tasks)


def test_a_key_with_more_than_a_task_should_carry_is_split() -> None:
    hot, reason = observed(HotKeys(), {7: 26.0, 9: 1.0})
    assert hot.keys == (7,)
    assert reason == (
        "one key had 26 % of the load and a task should carry 25 %: it is split over 4 tasks"
    )


def test_of_a_group_that_is_too_much_the_heaviest_keys_are_split_until_the_rest_fits() -> None:
    heaviest = {3: 9.0, 13: 8.0, 23: 7.0, 33: 6.0, 4: 1.0, 5: 1.0}
    # Group 3 has 36.8. A task is to carry 25; 22.75 when 9 are split; 20.75 when 8 more are.
    hot, _ = observed(HotKeys(), heaviest)
    assert hot.keys == (3, 13)
    left = seen(heaviest)[3] - 17.0
    assert left <= LUMP * 83.0 / 4 < LUMP * 91.0 / 4 < left + 8.0


def test_what_is_small_beside_a_hot_key_is_left_alone() -> None:
    """With most of the load split, every other key is a lump of what is left; that is no matter."""
    few = {7: 94.0, 1: 2.0, 2: 2.0, 3: 2.0}
    assert HotKeys().observe([0, 2, 2, 2, 0, 0, 0, 94], few, tasks=4)[0].keys == (7,)


def test_it_stays_split_until_it_has_cooled() -> None:
    # A task is to carry 50, its group has 10 + 0.9 x; it is split from 55 on, until 27.5.
    assert pytest.approx((55.0, 27.5)) == (LUMP * 50.0, COOLED * LUMP * 50.0)
    assert observed(HotKeys(), {7: 49.0}, tasks=2)[0].keys == ()
    hot, _ = observed(HotKeys(), {7: 51.0}, tasks=2)
    assert hot.keys == (7,)
    assert observed(hot, {7: 20.0}, tasks=2) == (hot, "")
    cooled, reason = observed(hot, {7: 19.0}, tasks=2)
    assert cooled.keys == ()
    assert reason == "1 key fits into a task again"


def test_a_key_that_is_seen_no_more_has_cooled() -> None:
    cooled, reason = observed(HotKeys((7, 8)), {9: 1.0})
    assert cooled.keys == ()
    assert reason == "2 keys fit into a task again"


def test_what_comes_and_what_goes_is_told_together() -> None:
    hot, reason = observed(HotKeys((1,)), {-5: 30.0, 6: 28.0})
    assert hot.keys == (-5, 6)
    assert reason == (
        "2 keys had 58 % of the load and a task should carry 25 %: they are split over 4 tasks; "
        "1 key fits into a task again"
    )


def test_one_task_has_nobody_to_share_with() -> None:
    assert observed(HotKeys(), {7: 100.0}, tasks=1)[0].keys == ()
    assert observed(HotKeys((7,)), {7: 100.0}, tasks=1)[0].keys == ()


def test_a_batch_without_load_changes_nothing() -> None:
    hot = HotKeys((7,))
    assert hot.observe([0.0] * GROUPS, {}, tasks=4) == (hot, "")
    assert hot.observe([0.0] * GROUPS, {7: 0.0}, tasks=4) == (hot, "")


def test_more_tasks_make_smaller_shares() -> None:
    assert observed(HotKeys(), {7: 18.0}, tasks=4)[0].keys == ()
    assert observed(HotKeys(), {7: 18.0}, tasks=6)[0].keys == (7,)


def test_only_the_hottest_are_split_where_there_are_very_many() -> None:
    heaviest = {key: 1.0 + key / 1_000 for key in range(100)}
    hot, _ = HotKeys().observe(list(heaviest.values()), heaviest, tasks=1_000)
    assert hot.keys == tuple(range(99, 99 - MOST, -1))


@given(
    st.dictionaries(st.integers(-(2**63), 2**63 - 1), st.floats(0.1, 1e3), max_size=30),
    st.floats(0, 1e3),
    st.integers(2, 16),
)
def test_what_is_left_of_every_group_is_no_lump_unless_it_has_no_more_heavy_keys(
    heaviest: dict[int, float], others: float, tasks: int
) -> None:
    total = sum(heaviest.values()) + others
    groups = seen(heaviest, total)
    hot, _ = HotKeys().observe(groups, heaviest, tasks)
    for key in hot.keys:
        groups[key % GROUPS] -= heaviest[key]
    lump = max(LUMP * sum(groups), CRUMB * total) / tasks
    for group, left in enumerate(groups):
        mine = {key for key in heaviest if key % GROUPS == group}
        # What was taken of other groups later makes the share that is left smaller.
        others = sum(heaviest[key] for key in hot.keys if key not in mine)
        fits = left <= lump + LUMP * others / tasks + 1e-6
        assert fits or mine <= set(hot.keys)


@pytest.mark.parametrize("keys", [(), (7, -(2**63), 2**63 - 1)])
def test_they_come_back_from_json(keys: tuple[int, ...]) -> None:
    assert HotKeys.from_json(json.loads(json.dumps(HotKeys(keys).to_json()))) == HotKeys(keys)
