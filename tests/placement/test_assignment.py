"""The rules that give rows to tasks, against the best that any assignment could do."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.placement.assignment import (
    RULES,
    Rule,
    cut,
    dear_first,
    greedy,
    longest_first,
    lower_bound,
)

EXACT = 1e-9
every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())

# Whole numbers make many ties, and none of the sums is rounded.
few_costs = st.lists(st.integers(0, 12), min_size=1, max_size=7).map(lambda c: np.array(c, float))
few_tasks = st.integers(1, 3)


def optimum(costs: Any, tasks: int) -> float:
    """The least greatest load of all assignments, by trying every one."""
    return float(
        min(
            np.bincount(np.array(chosen), costs, tasks).max()
            for chosen in product(range(tasks), repeat=len(costs))
        )
    )


def greatest(rule: Rule, costs: Any, tasks: int) -> float:
    loads = np.zeros(tasks)
    rule(costs, loads)
    return float(loads.max())


def test_greedy_gives_the_papers_example() -> None:
    """Rows a b a of 10, 1 and 10 s: the second a goes to where b was."""
    loads = np.zeros(2)
    assert greedy(np.array([10.0, 1.0, 10.0]), loads).tolist() == [0, 1, 1]
    assert loads.tolist() == [10.0, 11.0]


@pytest.mark.parametrize(("tasks", "ratio"), [(2, 1.5), (3, 5 / 3), (5, 1.8)])
def test_greedy_is_as_bad_as_the_papers_worst_case_and_the_other_rules_are_not(
    tasks: int, ratio: float
) -> None:
    """k(k-1) rows of w/k fill all tasks evenly, and then one of w comes."""
    costs = np.array([60.0 / tasks] * (tasks * (tasks - 1)) + [60.0])
    assert lower_bound(costs, tasks) == 60.0
    assert greatest(greedy, costs, tasks) == pytest.approx(60.0 * ratio)
    assert greatest(longest_first, costs, tasks) == 60.0
    assert greatest(dear_first, costs, tasks) == 60.0


@settings(max_examples=150)
@given(costs=few_costs, tasks=few_tasks)
def test_no_rule_does_worse_than_it_promises(costs: Any, tasks: int) -> None:
    best = optimum(costs, tasks)
    assert greatest(greedy, costs, tasks) <= (2 - 1 / tasks) * best + EXACT
    longest = greatest(longest_first, costs, tasks)
    assert longest <= (4 / 3 - 1 / (3 * tasks)) * best + EXACT
    cut_load = greatest(cut, costs, tasks)
    assert cut_load <= min(2 * best, costs.sum() / tasks + costs.max()) + EXACT
    assert best - EXACT <= min(longest, cut_load)


@settings(max_examples=150)
@given(
    costs=st.lists(st.integers(0, 1_000), min_size=1, max_size=60),
    tasks=st.integers(1, 6),
    dear=st.sampled_from([0.02, 0.3, 1.0]),
)
def test_dear_rows_first_stay_near_the_mean_or_longest_first(
    costs: list[int], tasks: int, dear: float
) -> None:
    """What is left over is at most ``dear`` of the mean, as no row that is cut is dearer."""
    rows, loads = np.array(costs, float), np.zeros(tasks)
    dear_first(rows, loads, dear)
    mean = rows.sum() / tasks
    of_longest = greatest(longest_first, rows[rows > dear * mean], tasks)
    assert loads.max() <= max(of_longest, (1 + dear) * mean) + EXACT


@settings(max_examples=100)
@given(costs=few_costs, tasks=few_tasks)
def test_no_assignment_stays_below_the_lower_bound(costs: Any, tasks: int) -> None:
    assert lower_bound(costs, tasks) <= optimum(costs, tasks) + EXACT


@pytest.mark.parametrize(
    ("costs", "tasks", "bound"),
    [([], 3, 0.0), ([5.0], 3, 5.0), ([4.0, 4.0, 4.0], 2, 8.0), ([9.0, 1.0, 1.0], 2, 9.0)],
)
def test_the_lower_bound_is_the_mean_the_dearest_row_or_the_dearest_two(
    costs: list[float], tasks: int, bound: float
) -> None:
    assert lower_bound(np.array(costs), tasks) == bound


@every_rule
@settings(max_examples=100)
@given(
    costs=st.lists(st.floats(0, 1e6), max_size=40),
    before=st.lists(st.floats(0, 1e6), min_size=1, max_size=6),
)
def test_the_loads_are_those_of_the_rows_that_were_given(
    rule: Rule, costs: list[float], before: list[float]
) -> None:
    rows, loads = np.array(costs, float), np.array(before)
    chosen = rule(rows, loads)
    assert chosen.dtype == np.int32
    assert len(chosen) == len(costs)
    assert all(task in range(len(before)) for task in chosen.tolist())
    added = np.bincount(chosen, rows, len(before)) if len(rows) else np.zeros(len(before))
    np.testing.assert_allclose(loads, np.array(before) + added, rtol=1e-9, atol=1e-6)


@every_rule
def test_a_task_that_is_behind_gets_all_until_it_has_caught_up(rule: Rule) -> None:
    """Loads of 0, 30 and 30, and 30 rows of 1 s: the first task takes them all, more go round."""
    loads = np.array([0.0, 30.0, 30.0])
    assert set(rule(np.ones(30), loads).tolist()) == {0}
    assert loads.tolist() == [30.0, 30.0, 30.0]
    rule(np.ones(30), loads)
    assert loads.tolist() == [40.0, 40.0, 40.0]


@every_rule
def test_a_task_far_ahead_gets_nothing(rule: Rule) -> None:
    loads = np.array([1_000.0, 0.0, 10.0])
    rule(np.ones(90), loads)
    assert loads.tolist() == [1_000.0, 50.0, 50.0]


def test_cut_keeps_neighbours_together_and_dear_first_takes_only_dear_rows_out() -> None:
    # A row goes to where most of it lies: here that of 5 to the second, from 4 on.
    assert cut(np.array([2.0, 5.0, 1.0]), np.zeros(2)).tolist() == [0, 1, 1]
    costs = np.ones(400)
    chosen = cut(costs, np.zeros(4))
    assert (np.diff(chosen) >= 0).all()
    costs[200] = 50.0
    chosen = dear_first(costs, np.zeros(4))
    assert (np.diff(np.delete(chosen, 200)) >= 0).all()
    loads = np.bincount(chosen, costs, 4)
    assert loads.max() <= costs.sum() / 4 + 1


@every_rule
def test_many_rows_of_no_cost_harm_nobody(rule: Rule) -> None:
    loads = np.zeros(3)
    assert len(rule(np.zeros(10), loads)) == 10
    assert loads.tolist() == [0.0, 0.0, 0.0]
    assert rule(np.zeros(0), loads).tolist() == []
