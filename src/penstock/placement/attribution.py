"""Which row of a call cost how much, where a function is called with many rows at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.placement.cost_model import TaskCosts
from penstock.placement.cost_sketch import CostSketch

SLICE_ROWS = 16
SLICED_ROWS = 4_096
SWEEPS = 40


@dataclass(frozen=True, slots=True)
class SlicedCosts:
    """Calls of one task: the rows of each, by the cells of their keys, and its time.

    ``cells`` has a row for each row of the sketch and a column for each row of data, call after
    call; ``lengths`` are the rows of each call.
    """

    cells: NDArray[np.unsignedinteger[Any]]
    lengths: NDArray[np.int64]
    seconds: NDArray[np.float64]
    executor: str = ""


def attributed(
    calls: Sequence[SlicedCosts], empty: CostSketch, known: CostSketch | None
) -> list[TaskCosts]:
    """Share out the time of every call among its rows, and return each task's rows by cost.

    A regression: of all costs by key, none negative, those under which the calls' times are most
    likely are approached step by step. Each step shares every call's time in proportion to what its
    rows are thought to cost, and learns their costs from it anew (expectation maximisation). What
    was known before is where it begins, so that it goes on getting better from batch to batch.
    """
    if not calls:
        return []
    cells = np.concatenate([each.cells for each in calls], axis=1).astype(np.intp)
    lengths = np.concatenate([each.lengths for each in calls])
    seconds = np.concatenate([each.seconds for each in calls])
    call_of = np.repeat(np.arange(len(lengths)), lengths)
    memory = known.scaled(min(1.0, len(call_of) / known.total_rows)) if known else None
    thought = known.estimate_cells(cells) if known else np.ones(len(call_of))
    costs = thought
    for _ in range(SWEEPS):
        costs = _shared(thought, call_of, lengths, seconds)
        sketch = memory.copy() if memory else empty.copy()
        sketch.update_cells(cells, costs)
        thought = sketch.estimate_cells(cells)
    return _by_task(calls, cells, costs, empty)


def _shared(
    thought: NDArray[np.float64],
    call_of: NDArray[np.intp],
    lengths: NDArray[np.int64],
    seconds: NDArray[np.float64],
) -> NDArray[np.float64]:
    sums = np.bincount(call_of, thought, len(lengths))
    even = seconds / lengths
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(sums > 0, seconds / sums, 0.0)
    return np.where(sums[call_of] > 0, thought * share[call_of], even[call_of])


def _by_task(
    calls: Sequence[SlicedCosts],
    cells: NDArray[np.intp],
    costs: NDArray[np.float64],
    empty: CostSketch,
) -> list[TaskCosts]:
    tasks, start = [], 0
    for each in calls:
        end = start + each.cells.shape[1]
        sketch = empty.copy()
        sketch.update_cells(cells[:, start:end], costs[start:end])
        own = costs[start:end]
        tasks.append(TaskCosts(sketch, float(own @ own), each.executor))
        start = end
    return tasks
