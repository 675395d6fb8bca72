"""Rows with known costs to tasks: four rules, each with what it guarantees.

All take the costs of some rows and the loads that the tasks have already, add to the loads, and
return the task of each row. A micro-batch is over when its last task is, so what counts is the
greatest load; ``optimum`` below is the least that any assignment could reach.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heapreplace

import numpy as np
from numpy.typing import NDArray

Costs = NDArray[np.float64]
Tasks = NDArray[np.int32]
Rule = Callable[[Costs, Costs], Tasks]


def greedy(costs: Costs, loads: Costs) -> Tasks:
    """Give every row, as it comes, to the task with the least load: POSG's Listing III.2.

    The greatest load is at most (2 - 1/k) times the optimum, and no rule that sees one row at a
    time does better for two or three tasks. Of equal loads the first task wins.

    >>> greedy(np.array([10.0, 1.0, 10.0]), np.zeros(2)).tolist()
    [0, 1, 1]
    """
    heap = [(load, task) for task, load in enumerate(loads.tolist())]
    heapify(heap)
    chosen = []
    for cost in costs.tolist():
        load, task = heap[0]
        chosen.append(task)
        heapreplace(heap, (load + cost, task))
    for load, task in heap:
        loads[task] = load
    return np.array(chosen, np.int32)


def longest_first(costs: Costs, loads: Costs) -> Tasks:
    """Give the dearest rows first, each to the task with the least load.

    From equal loads the greatest is at most (4/3 - 1/(3k)) times the optimum.

    >>> longest_first(np.array([2.0, 3.0, 2.0, 3.0, 2.0]), np.zeros(2)).tolist()
    [0, 0, 1, 1, 0]
    """
    order = np.argsort(-costs, kind="stable")
    chosen = np.empty(len(costs), np.int32)
    chosen[order] = greedy(costs[order], loads)
    return chosen


def cut(costs: Costs, loads: Costs) -> Tasks:
    """Cut the rows, in their order, into stretches of equal cost: neighbours stay together.

    The greatest load is at most the mean plus the dearest row's cost, so at most twice the optimum.
    Tasks that are behind the others get longer stretches.

    >>> cut(np.array([1.0, 1.0, 2.0, 4.0]), np.zeros(2)).tolist()
    [0, 0, 0, 1]
    """
    room = np.maximum(0.0, _level(float(costs.sum()), loads) - loads)
    bounds = np.cumsum(room)
    middles = np.cumsum(costs) - costs / 2
    chosen = np.minimum(np.searchsorted(bounds, middles, side="right"), len(loads) - 1)
    loads += np.bincount(chosen, costs, len(loads))
    return chosen.astype(np.int32)


def dear_first(costs: Costs, loads: Costs, dear: float = 0.02) -> Tasks:
    """Give the dear rows longest first, and fill up with the others, cut in their order.

    A row is dear that costs more than ``dear`` times what a task carries on average. There are at
    most ``k / dear`` of them however many rows come, so this costs little more than ``cut``, and
    the greatest load is at most that of ``longest_first`` or ``1 + dear`` times the mean: a filled
    task overflows by half a row at each end of its stretch.

    >>> dear_first(np.array([4.0, 1.0, 1.0, 1.0, 1.0]), np.zeros(2)).tolist()
    [0, 1, 1, 1, 1]
    """
    is_dear = costs > dear * float(costs.sum()) / len(loads)
    if is_dear.all():
        return longest_first(costs, loads)
    chosen = np.empty(len(costs), np.int32)
    chosen[is_dear] = longest_first(costs[is_dear], loads)
    chosen[~is_dear] = cut(costs[~is_dear], loads)
    return chosen


def _level(total: float, loads: Costs) -> float:
    """Return how high the tasks stand when ``total`` is poured over them like water."""
    ordered = np.sort(loads)
    levels = (total + np.cumsum(ordered)) / np.arange(1, len(ordered) + 1)
    above = np.flatnonzero(levels[:-1] <= ordered[1:])
    return float(levels[above[0]] if len(above) else levels[-1])


def lower_bound(costs: Costs, tasks: int) -> float:
    """Return a load that no assignment can stay below: the mean, or the dearest rows.

    Of the k + 1 dearest rows two must share a task.

    >>> lower_bound(np.array([3.0, 3.0, 2.0, 2.0, 2.0]), 2)
    6.0
    """
    if not len(costs):
        return 0.0
    dearest = -np.sort(-costs)
    pair = float(dearest[tasks - 1] + dearest[tasks]) if len(costs) > tasks else 0.0
    return max(float(costs.sum()) / tasks, float(dearest[0]), pair)


RULES: dict[str, Rule] = {
    "greedy": greedy,
    "longest first": longest_first,
    "cut": cut,
    "dear first": dear_first,
}
