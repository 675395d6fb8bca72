"""Which of many points no other dominates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.compiling import compiled
from penstock.preference.counting import dominance_counts
from penstock.preference.elimination import Candidates, candidates
from penstock.preference.points import Points
from penstock.preference.small import FEW, mark_small
from penstock.preference.survivors import survivors
from penstock.preference.z_order import z_order

__all__ = ["Mask", "Positions", "dominance_counts", "merge", "skyline", "skylines"]

Positions = NDArray[np.int64]
Mask = NDArray[np.bool_]

_ONE_SIDE = np.empty(0, np.uint8)


def skyline(points: Points) -> Positions:
    """Return the positions of the points that no other dominates, ascending; duplicates all stay.

    Points are float64 or int64, smaller is better, and none is NaN.

    >>> skyline(np.array([[1.0, 4.0], [2.0, 2.0], [3.0, 3.0], [2.0, 2.0]])).tolist()
    [0, 1, 3]
    """
    return np.flatnonzero(_mask(points))


def skylines(points: Points, starts: Positions) -> Positions:
    """Return the positions of the points that none of their segment dominates, ascending.

    A segment begins at each of ``starts``, which ascend from 0, and ends where the next begins.

    >>> skylines(np.array([[1.0], [2.0], [2.0], [1.0]]), np.array([0, 2])).tolist()
    [0, 3]
    """
    points = np.ascontiguousarray(points)
    kept = np.zeros(len(points), np.bool_)
    starts = np.asarray(starts, np.int64)
    ends = np.append(starts[1:], len(points))
    mark_small(points, starts, ends, kept)
    for segment in np.flatnonzero(ends - starts > FEW):
        start, end = starts[segment], ends[segment]
        kept[start:end] = _mask(points[start:end])
    return np.flatnonzero(kept)


def merge(one: Points, other: Points) -> tuple[Mask, Mask]:
    """Return which points of two skylines stay in the skyline of both together.

    Points are compared with those of the other side alone, so each side has to be a skyline.

    >>> merge(np.array([[1.0, 2.0]]), np.array([[2.0, 1.0], [1.0, 3.0]]))
    (array([ True]), array([ True, False]))
    """
    both = np.ascontiguousarray(np.concatenate([one, other]))
    if len(both) <= FEW or both.shape[1] <= 2:
        kept = _mask(both)
    else:
        kept = np.zeros(len(both), np.bool_)
        found = candidates(both)
        order = z_order(both, found)
        sides = (found.positions >= len(one)).astype(np.uint8)[order.places]
        kept[found.positions] = survivors(order, found.scores, sides)
    return kept[: len(one)], kept[len(one) :]


def _mask(points: Points) -> Mask:
    # Another layout would be compiled anew.
    points = np.ascontiguousarray(points)
    rows, columns = points.shape
    kept = np.zeros(rows, np.bool_)
    if rows <= FEW:
        mark_small(points, np.zeros(1, np.int64), np.full(1, rows), kept)
        return kept
    if columns == 1:
        kept[:] = points[:, 0] == points.min()
        return kept
    found = candidates(points)
    kept[found.positions] = _of_candidates(points, found)
    return kept


def _of_candidates(points: Points, found: Candidates) -> Mask:
    if points.shape[1] == 2:
        rows = points[found.positions]
        kept = np.zeros(len(rows), np.bool_)
        _sweep(rows, np.lexsort((rows[:, 1], rows[:, 0])), kept)
        return kept
    if len(found.positions) <= FEW:
        rows = points[found.positions]
        kept = np.zeros(len(rows), np.bool_)
        mark_small(rows, np.zeros(1, np.int64), np.full(1, len(rows)), kept)
        return kept
    return survivors(z_order(points, found), found.scores, _ONE_SIDE)


@compiled
def _sweep(rows: Points, order: Positions, kept: Mask) -> None:
    """Mark the skyline of two columns, given the points in lexicographic order."""
    best = order[0]
    for row in order:
        equal = rows[row, 0] == rows[best, 0] and rows[row, 1] == rows[best, 1]
        if rows[row, 1] < rows[best, 1] or equal:
            kept[row] = True
            best = row
