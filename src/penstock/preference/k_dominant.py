"""K-dominance: rows that no other row beats in most columns, and the best ``delta`` of that kind.

One row k-dominates another if it is at least as good in k columns or more, and better in one of
those (*Finding k-dominant skylines in high dimensional space*, SIGMOD 2006). Where r dominates q
and q k-dominates p, r k-dominates p. So a row that is k-dominated at all is k-dominated by a row of
the plain skyline, and the rows that no row k-dominates are all in it: both queries are a last step
on a plain skyline, wherever and in however many parts that was found.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.compiling import compiled
from penstock.errors import ConfigurationError
from penstock.preference.skyline import skyline

Points = NDArray[Any]
Positions = NDArray[np.int64]

_BLOCK = 128  # rows that are counted at once: their counts stay in the nearest cache


def k_dominant(points: Points, k: int, *, is_skyline: bool = False) -> Positions:
    """Return the positions, ascending, of the rows that no other row k-dominates.

    Smaller is better in every column. With k the number of columns it is the plain skyline; with
    fewer, rows may k-dominate each other in a circle, and none be left. ``is_skyline`` says that no
    row of ``points`` dominates another, which then need not be found out.

    >>> k_dominant(np.array([[1, 9, 1], [2, 1, 2], [9, 2, 3]]), 2)
    array([0])
    """
    columns = points.shape[1]
    if not 1 <= k <= columns:
        raise ConfigurationError(f"k is {k}. Write 1 to {columns}, the number of columns.")
    within = _within(points, is_skyline)
    if k == columns or not len(within):
        return within
    return _best(points[within], within, (k, k), 0)[0]


def top_dominant(points: Points, delta: int, *, is_skyline: bool = False) -> tuple[Positions, int]:
    """Return the rows that no row k-dominates, for the smallest k with ``delta`` of them or more.

    Positions are ascending; the second value is that k. Where even the plain skyline has fewer than
    ``delta`` rows, it is returned whole. ``is_skyline`` is that of ``k_dominant``.

    >>> top_dominant(np.array([[1, 9, 1], [2, 1, 2], [9, 2, 3]]), 1)
    (array([0]), 2)
    """
    if delta < 1:
        raise ConfigurationError(f"delta is {delta}. Write how many rows there are to be, from 1.")
    columns = points.shape[1]
    within = _within(points, is_skyline)
    if len(within) < delta:
        return within, columns
    return _best(points[within], within, (1, columns), delta)


def _within(points: Points, is_skyline: bool) -> Positions:
    return np.arange(len(points)) if is_skyline else skyline(points)


def _best(
    points: Points, positions: Positions, ks: tuple[int, int], delta: int
) -> tuple[Positions, int]:
    """Choose among the rows of a skyline, which are at ``positions``, with a k between two."""
    ranks = _ranks(points)
    # The rows that beat most others come first, so that a row that is beaten is soon known to be.
    order = np.argsort(ranks.sum(axis=0, dtype=np.int64), kind="stable")
    least, k = _matched(np.ascontiguousarray(ranks[:, order]), *ks, delta)
    return np.sort(positions[order[least < k]]), k


def _ranks(points: Points) -> NDArray[Any]:
    """Return the place of each number in the order of its column, column by column.

    Places are as few bytes as they can be, and there is nothing in them but what dominance asks:
    several times as many are compared in an instruction.
    """
    rows, columns = points.shape
    kind = np.int16 if rows <= np.iinfo(np.int16).max else np.int32
    ranks: NDArray[Any] = np.empty((columns, rows), kind)
    for column in range(columns):
        ranks[column] = np.unique(points[:, column], return_inverse=True)[1]
    return ranks


@compiled
def _count(
    ranks: NDArray[Any], row: int, start: int, length: int, as_good: NDArray[np.int8]
) -> None:
    """Count in how many columns each of ``length`` rows is at least as good as one row."""
    as_good[:length] = 0
    for column in range(len(ranks)):
        limit = ranks[column, row]
        others = ranks[column, start : start + length]
        for other in range(length):
            as_good[other] += others[other] <= limit


@compiled
def _matched(
    ranks: NDArray[Any], smallest: int, largest: int, delta: int
) -> tuple[NDArray[np.int8], int]:
    """Count for each row of a skyline in how many columns another row is at least as good, at most.

    A row is k-dominated for every k up to that number: on a skyline, a row that is as good in all
    columns is an equal one, and one that is as good in fewer is better in one of them. Returned is
    the first k from ``smallest`` on with ``delta`` rows, or ``largest``. For each k, rows are
    counted on from where they were left, and only until they are known to be k-dominated: numbers
    below that k are exact, and others not too large.
    """
    columns, rows = ranks.shape
    most = np.zeros(rows, np.int8)
    seen = np.zeros(rows, np.int64)
    as_good = np.empty(_BLOCK, np.int8)
    for k in range(smallest, largest + 1):
        found = 0
        for row in range(rows):
            while most[row] < k and seen[row] < rows and k < columns:
                start = seen[row]
                length = min(_BLOCK, rows - start)
                _count(ranks, row, start, length, as_good)
                largest_count = most[row]
                for other in range(length):
                    count = as_good[other]
                    largest_count = max(largest_count, np.int8(0) if count == columns else count)
                most[row] = largest_count
                seen[row] += length
            found += most[row] < k
        if found >= delta:
            return most, k
    return most, largest
