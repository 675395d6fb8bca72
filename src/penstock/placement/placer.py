"""Placing the rows of one upstream task by what they will cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.placement.assignment import Costs, Tasks, dear_first
from penstock.placement.cost_sketch import CostSketch
from penstock.placement.hashing import key_hashes

_SMALLEST = 1e-9


@dataclass(frozen=True, slots=True)
class KnownCost:
    """One operator's costs: the positions of its key among the columns, and its sketch.

    ``weight`` is how many of its rows come of one row that is placed.
    """

    positions: tuple[int, ...]
    sketch: CostSketch
    weight: float = 1.0

    def estimate(self, columns: Sequence[Any]) -> Costs:
        """Return what every row will cost this operator."""
        keys = key_hashes(*[columns[position] for position in self.positions])
        return self.sketch.estimate(keys) * self.weight


def given_costs(column: Any) -> Costs:
    """Return a column of any numbers as costs: 0 for null, for what is no number, and below 0."""
    given = np.asarray(column.cast("float64", safe=False).fill_null(0.0), np.float64)
    return np.where(np.isfinite(given) & (given > 0), given, 0.0)


@dataclass(frozen=True, slots=True)
class GivenCost:
    """Costs that rows bring with them, in the column at this position.

    A row whose cost is null, not a number or below 0 counts as one that costs nothing.
    """

    position: int

    def estimate(self, columns: Sequence[Any]) -> Costs:
        """Return what every row says it costs."""
        return given_costs(columns[self.position])


@dataclass(frozen=True, slots=True)
class Placer:
    """Gives rows to tasks; made by the driver, used by every upstream task on its own.

    The ``placers``, which are all upstream tasks, know nothing of each other. Each begins at
    another task, so that what is left over at the end of their rows does not fall on the same ones.
    """

    tasks: int
    placers: int
    costs: tuple[KnownCost | GivenCost, ...]

    def begin(self, number: int) -> PlacedRows:
        """Start placing the rows of the upstream task with this number."""
        return PlacedRows(self, number * self.tasks // max(1, self.placers))


class PlacedRows:
    """What one upstream task has placed so far: the load that it gave to every task."""

    def __init__(self, placer: Placer, first: int) -> None:
        self._placer = placer
        self._first = first
        self.loads = np.zeros(placer.tasks)

    def place(self, columns: Sequence[Any]) -> Tasks:
        """Return the tasks of the next rows, by their columns of keys."""
        costs = sum((known.estimate(columns) for known in self._placer.costs), np.float64(0.0))
        # Rows that seem to cost nothing still have to be spread.
        costs = np.maximum(costs, _SMALLEST * (float(np.max(costs, initial=0.0)) or 1.0))
        chosen = dear_first(costs, self.loads)
        return ((chosen + self._first) % self._placer.tasks).astype(np.int32)
