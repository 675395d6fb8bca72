"""Comparing points by their packed words, and by their values.

See ``z_order`` for what a word is.
"""

from __future__ import annotations

import numpy as np

from penstock.compiling import inlined
from penstock.preference.points import Points


@inlined
def may_dominate(word: np.uint64, guarded: np.uint64, guards: np.uint64) -> bool:
    """Whether a word's levels are nowhere above those of a word with its guard bits set."""
    return bool(((guarded - word) & guards) == guards)


@inlined
def lower(one: np.uint64, other: np.uint64, guards: np.uint64, shift: np.uint64) -> np.uint64:
    """Return the lower level of two words in every field."""
    not_below = ((one | guards) - other) & guards
    of_other = not_below - (not_below >> shift)
    return (other & of_other) | (one & ~of_other)


@inlined
def higher(one: np.uint64, other: np.uint64, guards: np.uint64, shift: np.uint64) -> np.uint64:
    """Return the higher level of two words in every field."""
    not_below = ((one | guards) - other) & guards
    of_one = not_below - (not_below >> shift)
    return (one & of_one) | (other & ~of_one)


@inlined
def dominates(rows: Points, one: int, other: int) -> bool:
    """Whether one row is nowhere worse than another and somewhere better."""
    not_worse, better = True, False
    for column in range(rows.shape[1]):
        if rows[one, column] > rows[other, column]:
            not_worse = False
            break
        better |= rows[one, column] < rows[other, column]
    return not_worse and better


@inlined
def equal(rows: Points, one: int, other: int) -> bool:
    """Whether two rows are the same point."""
    same = True
    for column in range(rows.shape[1]):
        if rows[one, column] != rows[other, column]:
            same = False
            break
    return same
