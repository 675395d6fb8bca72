"""What a preference query's steps take, by the number of rows that went into them.

Measured on random points with block-nested loops, in comparisons. So a simulated result needs no
rows: how many points are left of them, and what merging it takes, follow from how many there were.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from penstock.simulation.preference.block_nested import insert

Numbers = NDArray[np.float64]

_RATIOS = (1, 2, 4, 8, 16)  # of the rows of two results, at which their merge is measured
_GROWTH = 1.25


@dataclass(frozen=True, slots=True)
class QueryCosts:
    """Points left of so many rows, and seconds to insert rows and to merge results.

    ``rows``, ``points`` and ``compared`` say of the first so many rows how many are in their
    skyline, and how many pairs were compared to find it. ``merge_factors`` are the pairs compared
    when two results are merged, over the product of their points, by the ratio of their rows.
    """

    rows: Numbers
    points: Numbers
    compared: Numbers
    ratios: Numbers
    merge_factors: Numbers
    seconds_per_comparison: float = 1.0

    @classmethod
    def measured(cls, dimensions: int = 8, most_rows: int = 48_000, seed: int = 0) -> QueryCosts:
        """Measure on uniform points; a comparison takes a second until ``paced`` says otherwise."""
        random = np.random.default_rng(seed)
        rows = [16]
        while rows[-1] < most_rows:
            rows.append(min(most_rows, int(rows[-1] * _GROWTH)))
        points = random.random((most_rows, dimensions))
        window = np.empty_like(points)
        sizes, compared, size, total = [], [], 0, 0
        for start, end in zip([0, *rows[:-1]], rows, strict=True):
            size, more = insert(window, size, points[start:end])
            total += more
            sizes.append(size)
            compared.append(total)
        factors = [_merge_factor(random, dimensions, most_rows // 32, each) for each in _RATIOS]
        return cls(
            np.array(rows, np.float64),
            np.array(sizes, np.float64),
            np.array(compared, np.float64),
            np.array(_RATIOS, np.float64),
            np.array(factors),
        )

    def paced(self, part_rows: int, row_seconds: float) -> QueryCosts:
        """Return the same on a machine that takes so long for a row of a part of so many rows."""
        compared = _on_curve(part_rows, self.rows, self.compared) / part_rows
        return replace(self, seconds_per_comparison=row_seconds / compared)

    def points_of(self, rows: float) -> float:
        """Return how many points are left of so many rows."""
        return 0.0 if rows <= 0 else min(rows, _on_curve(rows, self.rows, self.points))

    def insert_seconds(self, rows: float) -> float:
        """Return how long it takes to insert so many rows one by one, into nothing."""
        compared = 0.0 if rows <= 0 else _on_curve(rows, self.rows, self.compared)
        return self.seconds_per_comparison * compared

    def row_seconds(self, most_rows: int) -> Numbers:
        """Return how long each of the first so many rows takes."""
        at = np.arange(most_rows + 1, dtype=np.float64)
        totals = np.array([self.insert_seconds(each) for each in _grid(most_rows)])
        return np.diff(np.interp(at, _grid(most_rows), totals))

    def merge_seconds(self, into_rows: float, rows: float) -> float:
        """Return how long a result of ``rows`` takes to be merged into one of ``into_rows``."""
        first, second = self.points_of(into_rows), self.points_of(rows)
        if not first:
            return self.seconds_per_comparison * second * second / 2
        ratio = max(into_rows, rows) / min(into_rows, rows)
        factor = float(np.interp(np.log(ratio), np.log(self.ratios), self.merge_factors))
        return self.seconds_per_comparison * factor * first * second


def _merge_factor(random: np.random.Generator, dimensions: int, rows: int, ratio: int) -> float:
    large, small = (_skyline(random.random((n, dimensions))) for n in (rows * ratio, rows))
    window = np.empty((len(large) + len(small), dimensions))
    window[: len(large)] = large
    _, compared = insert(window, len(large), small)
    return compared / (len(large) * len(small))


def _skyline(points: Numbers) -> Numbers:
    window = np.empty_like(points)
    size, _ = insert(window, 0, points)
    return window[:size]


def _grid(most_rows: int) -> Numbers:
    return np.unique(np.concatenate([[0.0], np.geomspace(1, most_rows, 400).round()]))


def _on_curve(x: float, xs: Numbers, ys: Numbers) -> float:
    """Read a curve that is straight in logarithms, beyond its ends as at them."""
    at = int(np.clip(np.searchsorted(xs, x), 1, len(xs) - 1))
    low, high = at - 1, at
    if x > xs[-1]:  # a longer piece, since one step of it is noisy
        low = max(0, len(xs) - 5)
    slope = np.log(ys[high] / ys[low]) / np.log(xs[high] / xs[low])
    return float(ys[high] * (x / xs[high]) ** slope)
