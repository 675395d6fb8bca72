"""How many points a point dominates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.compiling import compiled, inlined
from penstock.preference.elimination import all_candidates
from penstock.preference.points import Points
from penstock.preference.words import dominates, higher, may_dominate
from penstock.preference.z_order import Words, z_order

_BLOCK = 32


def dominance_counts(points: Points, of: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many of all points each of the points at ``of`` dominates.

    >>> dominance_counts(np.array([[1.0, 1.0], [2.0, 1.0], [2.0, 2.0]]), np.array([0, 1])).tolist()
    [2, 1]
    """
    if not len(points):
        return np.zeros(len(of), np.int64)
    order = z_order(points, all_candidates(points))
    places = np.empty(len(points), np.int64)
    places[order.places] = np.arange(len(points))
    ones = order.guards >> order.guard_shift
    return _counts(order.rows, order.words, order.guards, order.guard_shift, ones, places[of])


@inlined
def _in_block(
    rows: Points,
    words: Words,
    row: int,
    start: int,
    end: int,
    word: np.uint64,
    above: np.uint64,
    guards: np.uint64,
) -> int:
    """Count what a row dominates between two places."""
    may, must = 0, 0
    for guarded in words[start:end]:  # without a branch: several words in one instruction
        may += may_dominate(word, guarded, guards)
        must += may_dominate(above, guarded, guards)
    if may > must:
        for other in range(start, end):
            if may_dominate(word, words[other], guards) and not may_dominate(
                above, words[other], guards
            ):
                must += dominates(rows, row, other)
    return must


@compiled
def _counts(
    rows: Points,
    words: Words,
    guards: np.uint64,
    shift: np.uint64,
    ones: np.uint64,
    of: NDArray[np.int64],
) -> NDArray[np.int64]:
    size = rows.shape[0]
    highest = words[::_BLOCK].copy()
    for row in range(size):
        highest[row // _BLOCK] = higher(highest[row // _BLOCK], words[row], guards, shift)
    guarded = words | guards
    highest |= guards
    counts = np.zeros(of.size, np.int64)
    for rank in range(of.size):
        row = of[rank]
        word = words[row]
        # What is a level above everywhere is dominated, whatever the values are.
        above = word + ones
        for block in range(row // _BLOCK, highest.size):  # what it dominates never comes earlier
            if may_dominate(word, highest[block], guards):
                start, end = block * _BLOCK, min((block + 1) * _BLOCK, size)
                counts[rank] += _in_block(rows, guarded, row, start, end, word, above, guards)
    return counts
