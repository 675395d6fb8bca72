"""What a row costs, by its key, in a few kilobytes whatever the number of keys: F and W of POSG."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from penstock.arguments import checked
from penstock.errors import ArgumentError
from penstock.placement.cell_hashes import CellHashes, Cells, Keys
from penstock.placement.count_min import (
    Amounts,
    CountMinSketch,
    check_cells,
    checked_amounts,
    checked_keys,
    settings_from_json,
)
from penstock.placement.matrix_text import matrix_from_text, matrix_text


class CostSketch:
    """Estimates the mean cost of a row from its key (POSG, section III).

    Two Count-Min sketches with the same hash functions: F counts the rows of each key, W sums what
    they cost. The row of cells where F is smallest, and so shares its cell with the fewest other
    keys, gives W / F. Costs are in any one unit, 0 or more. ``epsilon``, ``delta`` and ``seed`` are
    those of :class:`~penstock.CountMinSketch`.

    >>> sketch = CostSketch()
    >>> sketch.update(np.array([3, 3, 4], np.uint64), np.array([1.0, 2.0, 9.0]))
    >>> sketch.estimate(np.array([3, 4, 5], np.uint64)).tolist()
    [1.5, 9.0, 4.0]
    """

    __slots__ = ("_cost", "_frequency")

    def __init__(self, epsilon: float = 0.05, delta: float = 0.1, seed: int = 0) -> None:
        self._frequency = CountMinSketch(epsilon, delta, seed)
        self._cost = CountMinSketch(epsilon, delta, seed)

    @property
    def hashes(self) -> CellHashes:
        """The hash functions of both matrices."""
        return self._frequency.hashes

    @property
    def rows(self) -> int:
        """The number of hash functions."""
        return self._frequency.rows

    @property
    def columns(self) -> int:
        """The number of cells of each hash function."""
        return self._frequency.columns

    @property
    def counts(self) -> Amounts:
        """The matrix F: rows seen, by hash function and cell."""
        return self._frequency.counts

    @property
    def costs(self) -> Amounts:
        """The matrix W: their summed costs, by hash function and cell."""
        return self._cost.counts

    @property
    def total_rows(self) -> float:
        """The number of rows seen; not whole where the past was scaled."""
        return self._frequency.total

    @property
    def total_cost(self) -> float:
        """The summed cost of all rows seen."""
        return self._cost.total

    @property
    def mean(self) -> float:
        """The mean cost of all rows seen; 0.0 of none."""
        rows = self.total_rows
        return self.total_cost / rows if rows else 0.0

    def cells(self, keys: Keys) -> Cells:
        """Return the column of every key in each row: an array of ``rows`` x ``len(keys)``."""
        return self._frequency.cells(keys)

    def update(self, keys: Keys, costs: Amounts) -> None:
        """Learn what a row of each key did cost (listing III.1)."""
        keys = checked_keys(keys)
        costs = checked_amounts(costs, len(keys))
        for part, cells in self.hashes.blocks(keys):
            self.update_cells(cells, costs[part])

    def update_cells(self, cells: Cells, costs: Amounts) -> None:
        """Learn what rows did cost whose cells are known already."""
        self._frequency.add(cells, None)
        self._cost.add(cells, costs)

    def estimate(self, keys: Keys) -> Amounts:
        """Return what a row of each key will cost; the mean of all rows for a key never seen."""
        keys = checked_keys(keys)
        estimates = np.empty(len(keys))
        ratios = self.snapshot()
        for part, cells in self.hashes.blocks(keys):
            estimates[part] = self._estimate(cells, ratios)
        return estimates

    def estimate_cells(self, cells: Cells) -> Amounts:
        """Return what rows will cost whose cells are known already."""
        check_cells(cells, self.rows)
        return self._estimate(cells, self.snapshot())

    def _estimate(self, cells: Cells, ratios: Amounts) -> Amounts:
        smallest: Amounts = self.counts[0][cells[0]]
        ratio: Amounts = ratios[0][cells[0]]
        for row in range(1, self.rows):
            counted = self.counts[row][cells[row]]
            fewer = counted < smallest
            np.copyto(smallest, counted, where=fewer)
            np.copyto(ratio, ratios[row][cells[row]], where=fewer)
        np.copyto(ratio, self.mean, where=smallest == 0)
        return ratio

    def snapshot(self) -> Amounts:
        """Return W / F cell by cell, 0 where no row was seen."""
        return np.divide(self.costs, self.counts, np.zeros_like(self.costs), where=self.counts > 0)

    @checked
    def distance(self, snapshot: Amounts) -> float:
        """Return how far the costs are now from an earlier snapshot, relative to it (equation 1).

        Infinite where the snapshot is all 0 and the costs are not.

        >>> sketch = CostSketch()
        >>> sketch.update(np.array([1], np.uint64), np.array([2.0]))
        >>> before = sketch.snapshot()
        >>> sketch.update(np.array([1], np.uint64), np.array([3.0]))
        >>> sketch.distance(before)
        0.25
        """
        if snapshot.shape != self.counts.shape:
            raise ArgumentError(
                f"a snapshot of {snapshot.shape} is not of a sketch of {self.counts.shape}."
            )
        moved = float(np.abs(snapshot - self.snapshot()).sum())
        whole = float(snapshot.sum())
        if whole:
            return moved / whole
        return math.inf if moved else 0.0

    @checked
    def merge(self, other: CostSketch) -> None:
        """Add all that ``other``, of the same sizes and seed, has seen."""
        self._frequency.merge(other._frequency)
        self._cost.merge(other._cost)

    @checked
    def matches(self, other: CostSketch) -> bool:
        """Whether it has the sizes and the seed of another, so that they can be merged."""
        return self.hashes == other.hashes

    def copy(self) -> CostSketch:
        """Return a sketch of its own that has seen the same."""
        return self.scaled(1.0)

    def scaled(self, factor: float) -> CostSketch:
        """Return a sketch with F and W multiplied: the same estimates, but another weight."""
        return _of(self._frequency.scaled(factor), self._cost.scaled(factor))

    def to_json(self) -> dict[str, Any]:
        """Return everything as values that JSON knows; costs keep all their digits."""
        return {**self._frequency.to_json(), "costs": matrix_text(self.costs)}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> CostSketch:
        """Read what ``to_json`` gave; ValueError, KeyError or TypeError for anything else."""
        sketch = cls(*settings_from_json(document))
        shape = (sketch.rows, sketch.columns)
        sketch._frequency.counts = matrix_from_text(document["counts"], shape)
        sketch._cost.counts = matrix_from_text(document["costs"], shape)
        return sketch


def _of(frequency: CountMinSketch, cost: CountMinSketch) -> CostSketch:
    sketch = CostSketch.__new__(CostSketch)
    sketch._frequency, sketch._cost = frequency, cost
    return sketch
