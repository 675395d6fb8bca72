"""Partial results are given to tasks: each to one, and never worse for merging."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.preference.packing import MergeCost, Packing, Partial, alone_if_sooner, pack

COST = MergeCost(seconds_per_point=0.001, kept_share=0.1, exchange_seconds=0.05)


def window(*points: float) -> list[Partial]:
    return [Partial(3, pane, 1, 0, each) for pane, each in enumerate(points)]


windows = st.lists(
    st.lists(st.floats(0, 1e6), max_size=8).map(lambda points: window(*points)), max_size=8
)
costs = st.builds(MergeCost, st.floats(1e-9, 1.0), st.floats(0.0, 1.0), st.floats(0.0, 1e4))


def seconds_of(plan: Packing, given_windows: list[list[Partial]], cost: MergeCost) -> list[float]:
    """Return how long each task takes in the first round."""
    seconds = [0.0] * plan.tasks
    for tasks, partials in zip(plan.tasks_of, given_windows, strict=True):
        for task, partial in zip(tasks, partials, strict=True):
            seconds[task] += cost.seconds_per_point * partial.points
    return seconds


def test_one_window_for_two_tasks_is_split_where_that_pays() -> None:
    plan = pack([window(1000, 1000, 1000, 1000, 1000, 1000)], 2, COST)
    # Four seconds for the owner, and 0.6 for what is left of all six, after an exchange.
    assert plan.tasks_of == ((0, 1, 1, 0, 0, 0),)
    assert (plan.rounds, plan.owners) == (2, (0,))
    assert plan.seconds == pytest.approx(4.65)
    assert plan.idle_share == pytest.approx(1 - (6 + 0.6) / (2 * 4.65))
    assert (plan.updates, plan.merges) == (5, 1)


def test_a_dear_exchange_is_left_out() -> None:
    six = [window(1000, 1000, 1000, 1000, 1000, 1000)]
    plan = pack(six, 2, replace(COST, exchange_seconds=3.0))
    assert (plan.rounds, plan.merges, plan.updates) == (1, 0, 6)
    assert set(plan.tasks_of[0]) == {plan.owners[0]}
    assert plan.seconds == pytest.approx(6.0)
    assert plan.idle_share == pytest.approx(0.5)


def test_merges_that_keep_all_points_do_not_pay() -> None:
    plan = pack([window(1000, 1000, 1000, 1000)], 2, replace(COST, kept_share=1.0))
    assert plan.rounds == 1


def test_windows_are_spread_largest_first() -> None:
    plan = pack([window(100), window(300), window(200)], 2, COST, merges=False)
    assert plan.owners == (1, 0, 1)
    assert plan.seconds == pytest.approx(0.3)
    assert plan.idle_share == pytest.approx(0.0)


def test_merging_can_be_switched_off() -> None:
    plan = pack([window(1000, 1000, 1000, 1000)], 2, COST, merges=False)
    assert (plan.rounds, plan.seconds) == (1, pytest.approx(4.0))


def test_one_task_does_what_is_done_sooner_than_exchanged() -> None:
    little, much = [window(20), window(20)], [window(2000), window(2000)]
    alone = alone_if_sooner(pack(little, 2, COST), little, COST)
    assert (alone.tasks, alone.rounds, alone.owners) == (1, 1, (0, 0))
    assert alone.seconds == pytest.approx(0.04)
    several = pack(much, 2, COST)
    assert alone_if_sooner(several, much, COST) is several


def test_nothing_to_do_takes_no_time() -> None:
    plan = pack([[], []], 3, COST)
    assert (plan.owners, plan.seconds, plan.idle_share) == ((0, 0), 0.0, 0.0)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"seconds_per_point": 0.0}, "takes time"),
        ({"exchange_seconds": -1.0}, "no less than 0"),
        ({"kept_share": 1.5}, "share from 0 to 1"),
    ],
)
def test_costs_that_cannot_be_are_refused(changed: dict[str, float], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        replace(COST, **changed)
    with pytest.raises(ValueError, match="at least one task"):
        pack([], 0, COST)


@given(windows, st.integers(1, 6), costs, st.booleans())
def test_every_partial_result_goes_to_one_task(
    given_windows: list[list[Partial]], tasks: int, cost: MergeCost, merges: bool
) -> None:
    plan = pack(given_windows, tasks, cost, merges=merges)
    assert list(map(len, plan.tasks_of)) == list(map(len, given_windows))
    assert all(0 <= task < tasks for each in plan.tasks_of for task in each)
    assert plan.updates + plan.merges == sum(map(len, given_windows))
    assert 0 <= plan.idle_share < 1 + 1e-9
    owned = zip(plan.tasks_of, plan.owners, strict=True)
    split = [set(each) != {owner} for each, owner in owned if each]
    assert any(split) == (plan.rounds == 2) == (plan.merges > 0)
    for each, owner in zip(plan.tasks_of, plan.owners, strict=True):
        assert not each or owner in each
        assert all(each.count(helper) >= 2 for helper in set(each) - {owner})


@given(windows, st.integers(1, 6), costs)
def test_merging_is_never_slower_by_the_model(
    given_windows: list[list[Partial]], tasks: int, cost: MergeCost
) -> None:
    with_merges = pack(given_windows, tasks, cost)
    without = pack(given_windows, tasks, cost, merges=False)
    assert with_merges.seconds <= without.seconds
    first = max(seconds_of(with_merges, given_windows, cost))
    if with_merges.rounds == 1:
        assert with_merges.seconds == pytest.approx(first)
    else:
        back = [
            cost.kept_share * cost.seconds_per_point * sum(p.points for p in partials)
            if set(each) != {owner}
            else 0.0
            for each, owner, partials in zip(
                with_merges.tasks_of, with_merges.owners, given_windows, strict=True
            )
        ]
        owned = [
            sum(b for b, o in zip(back, with_merges.owners, strict=True) if o == task)
            for task in range(tasks)
        ]
        total = first + cost.exchange_seconds + max(owned)
        assert with_merges.seconds == pytest.approx(total)


@given(windows, st.integers(1, 6), costs)
def test_one_round_is_near_the_best_possible(
    given_windows: list[list[Partial]], tasks: int, cost: MergeCost
) -> None:
    plan = pack(given_windows, tasks, cost, merges=False)
    works = [cost.seconds_per_point * sum(p.points for p in each) for each in given_windows]
    bound = max(sum(works) / tasks, max(works, default=0.0))
    assert plan.seconds <= (2 - 1 / tasks) * bound * (1 + 1e-9)


@given(windows, st.integers(2, 6), st.floats(1e-6, 1e-2))
def test_no_task_is_idle_while_two_wait_where_merging_is_free(
    given_windows: list[list[Partial]], tasks: int, seconds_per_point: float
) -> None:
    """When the first task is done each window has one waiting result at most, for its owner.

    Nobody works longer than that one and what is being merged: two results.
    """
    free = MergeCost(seconds_per_point, kept_share=0.0, exchange_seconds=0.0)
    plan = pack(given_windows, tasks, free)
    points = [partial.points for each in given_windows for partial in each]
    fair = sum(points) / tasks + 3 * max(points, default=0.0)
    assert plan.seconds <= fair * seconds_per_point * (1 + 1e-9)
