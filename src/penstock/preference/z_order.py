"""Points as 64-bit words: cheap to compare, and sorted so that like stands beside like.

A column's values are cut into levels, of about as many points each, and a point's levels are packed
into the fields of one word. A guard bit above each field lets one subtraction compare all columns:

    ((other | guards) - word) & guards == guards    word's levels are nowhere above other's

which has to hold where the one point dominates the other. Sorted by the levels' bits, the highest
bits of all columns first (*Approaching the skyline in Z order*, VLDB 2007), no point comes before
one that dominates it, and points side by side are alike in most columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from penstock.compiling import compiled
from penstock.preference.elimination import Candidates
from penstock.preference.points import Points

Words = NDArray[np.uint64]

_MOST_LEVEL_BITS = 10
_CELLS_A_LEVEL = 4
_MOST_SCORE_BITS = 40


@dataclass(frozen=True, slots=True)
class ZOrder:
    """Candidates in Z-order: no point stands before one that dominates it, equals are neighbours.

    ``rows`` are their points, ``places`` their places among the candidates, ``guards`` the guard
    bits of a word, ``guard_shift`` how far a guard bit is from its field's lowest.
    """

    rows: Points
    places: NDArray[np.int64]
    words: Words
    guards: np.uint64
    guard_shift: np.uint64


def z_order(points: Points, found: Candidates) -> ZOrder:
    """Sort candidates, of which there is at least one, into Z-order."""
    rows = points[found.positions]
    size, columns = rows.shape
    field = 64 // columns
    size_bits = size.bit_length()
    level_bits = min(field - 1, _MOST_LEVEL_BITS, max(size_bits // 2, size_bits - 6))
    bounds, corners, cells_per_unit, starts = _levels(rows, 1 << level_bits)
    z_bits = min(level_bits, -(-size_bits // columns) + 1, 60 // columns)
    lowest = found.scores.min()
    span = found.scores.max() - lowest
    words, keys = np.empty(size, np.uint64), np.empty(size, np.uint64)
    _encode(
        rows,
        bounds,
        corners,
        cells_per_unit,
        starts,
        field,
        _spread(level_bits, z_bits, columns),
        (found.scores - lowest) / (span if span > 0 else 1.0),
        min(_MOST_SCORE_BITS, 64 - columns * z_bits),
        words,
        keys,
    )
    places = np.argsort(keys)
    _sort_ties(rows, keys[places], places)
    return ZOrder(rows[places], places, words[places], _guards(columns), np.uint64(field - 1))


@lru_cache
def _guards(columns: int) -> np.uint64:
    field = 64 // columns
    return np.uint64(sum(1 << (column * field + field - 1) for column in range(columns)))


def _levels(
    rows: Points, levels: int
) -> tuple[Points, NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Return each column's level bounds, and a grid to find a value's level without a search.

    A value above ``bounds[column, level]`` has at least that level. ``starts`` is the level to
    begin with in each cell of the grid.
    """
    size, columns = rows.shape
    sample = np.sort(rows[:: max(1, size // (levels * 4))], axis=0)
    bounds: Points = np.empty((columns, levels + 1), rows.dtype)
    bounds[:, :-1] = sample[np.arange(levels) * len(sample) // levels].T
    bounds[:, -1] = np.inf if rows.dtype == np.float64 else np.iinfo(np.int64).max
    cells = levels * _CELLS_A_LEVEL
    corners, per_unit = np.empty(columns), np.ones(columns)
    starts = np.zeros((columns, cells), np.int64)
    _make_grid(bounds, corners, per_unit, starts)
    return bounds, corners, per_unit, starts


@compiled
def _make_grid(
    bounds: Points,
    corners: NDArray[np.float64],
    per_unit: NDArray[np.float64],
    starts: NDArray[np.int64],
) -> None:
    cells = starts.shape[1]
    levels = bounds.shape[1] - 1
    for column in range(bounds.shape[0]):
        corners[column] = min(max(float(bounds[column, 0]), -1e300), 1e300)
        span = min(max(float(bounds[column, levels - 1]), -1e300), 1e300) - corners[column]
        if 1e-290 < span < 1e290:
            per_unit[column] = (cells - 2) / span
        for level in range(1, levels):
            offset = (bounds[column, level] - corners[column]) * per_unit[column]
            cell = np.int64(min(max(offset, 0.0), cells - 1.0))
            if cell + 1 < cells:
                starts[column, cell + 1] = level
        for after in range(1, cells):
            starts[column, after] = max(starts[column, after], starts[column, after - 1])


@lru_cache
def _spread(level_bits: int, z_bits: int, columns: int) -> Words:
    """Return the highest bits of every level, ``columns`` bits apart."""
    levels = np.arange(1 << level_bits, dtype=np.uint64)
    spread = np.zeros(len(levels), np.uint64)
    for bit in range(z_bits):
        taken = (levels >> np.uint64(level_bits - 1 - bit)) & np.uint64(1)
        spread |= taken << np.uint64((z_bits - 1 - bit) * columns)
    return spread


@compiled
def _encode(
    rows: Points,
    bounds: Points,
    corners: NDArray[np.float64],
    cells_per_unit: NDArray[np.float64],
    starts: NDArray[np.int64],
    field: int,
    spread: Words,
    scores: NDArray[np.float64],
    score_bits: int,
    words: Words,
    keys: Words,
) -> None:
    size, columns = rows.shape
    last_cell = starts.shape[1] - 1.0
    top_score = float((1 << score_bits) - 1)
    for row in range(size):
        word, z = np.uint64(0), np.uint64(0)
        for column in range(columns):
            value = rows[row, column]
            offset = (value - corners[column]) * cells_per_unit[column]
            cell = np.uint64(np.int64(min(max(offset, 0.0), last_cell)))
            level = starts[column, cell]
            while bounds[column, np.uint64(level + 1)] < value:
                level += 1
            word |= np.uint64(level) << np.uint64(column * field)
            z |= spread[np.uint64(level)] << np.uint64(columns - 1 - column)
        words[row] = word
        keys[row] = (z << np.uint64(score_bits)) | np.uint64(scores[row] * top_score)


def _sort_ties(rows: Points, keys: Words, places: NDArray[np.int64]) -> None:
    """Sort places of equal keys by their points: a point then follows all that dominate it."""
    same = keys[1:] == keys[:-1]
    if not same.any():
        return
    tied = np.zeros(len(keys), np.bool_)
    tied[1:] |= same
    tied[:-1] |= same
    of_tied = places[tied]
    columns = rows[of_tied].T[::-1]
    places[tied] = of_tied[np.lexsort((*columns, keys[tied]))]
