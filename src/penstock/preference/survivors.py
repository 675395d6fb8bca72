"""The last step: compare points in Z-order with those before them that nothing dominates.

Survivors stand in blocks of 32 words. A word of the best levels in a block says whether one of the
block may dominate a point, and a word above 32 of these says whether one of the 1,024 may.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.compiling import compiled, inlined
from penstock.preference.points import Points
from penstock.preference.words import dominates, equal, lower, may_dominate
from penstock.preference.z_order import Words, ZOrder

Sides = NDArray[np.uint8]

_BLOCK = 32
_GROUP = _BLOCK * _BLOCK


class _Survivors(NamedTuple):
    """What survives so far, of each side: words and places in blocks, best levels above them."""

    members: Words
    places: NDArray[np.int64]
    best_of_block: Words
    best_of_group: Words

    @classmethod
    def none_yet(cls, size: int, sides: int, guards: np.uint64) -> _Survivors:
        blocks = size // _BLOCK + 1
        groups = blocks // _BLOCK + 1
        # A word of guards alone dominates nothing: it fills blocks that are not full.
        return cls(
            np.full((sides, blocks, _BLOCK), guards),
            np.zeros((sides, blocks, _BLOCK), np.int64),
            np.full((sides, groups, _BLOCK), guards),
            np.full((sides, groups), guards),
        )


def survivors(order: ZOrder, scores: NDArray[np.float64], sides: Sides) -> NDArray[np.bool_]:
    """Return for each place whether its point survives, given the candidates' scores.

    With one side only, all are compared with each other. With two, 0 and 1, each is a skyline, and
    points are compared with those of the other side only.
    """
    size = len(order.places)
    count = min(_BLOCK, size)
    best = np.argpartition(scores[order.places], count - 1)[:count]
    first_words = np.full(_BLOCK, order.guards)
    first_words[:count] = order.words[best]
    survives = np.zeros(size, np.bool_)
    _survive(
        order.rows,
        order.words,
        order.guards,
        order.guard_shift,
        best.astype(np.int64),
        first_words,
        sides,
        _Survivors.none_yet(size, 2 if len(sides) else 1, order.guards),
        survives,
    )
    kept = np.empty(size, np.bool_)
    kept[order.places] = survives
    return kept


@inlined
def _one_dominates(
    rows: Points,
    words: Words,
    places: NDArray[np.int64],
    row: int,
    guarded: np.uint64,
    guards: np.uint64,
) -> bool:
    """Whether one of a block, of these words and at these places of rows, dominates a row."""
    hits = 0
    for rank in range(_BLOCK):  # all words, without a branch: several in one instruction
        hits += may_dominate(words[rank], guarded, guards)
    beaten = False
    if hits > 0:
        for rank in range(_BLOCK):
            if may_dominate(words[rank], guarded, guards) and dominates(rows, places[rank], row):
                beaten = True
                break
    return beaten


@inlined
def _best_so_far(
    best: Words, place: int, is_first: bool, word: np.uint64, guards: np.uint64, shift: np.uint64
) -> None:
    best[place] = word if is_first else lower(best[place], word, guards, shift)


@compiled
def _survive(
    rows: Points,
    words: Words,
    guards: np.uint64,
    shift: np.uint64,
    tried_first: NDArray[np.int64],
    first_words: Words,
    sides: Sides,
    held: _Survivors,
    survives: NDArray[np.bool_],
) -> None:
    members, places, best_of_block, best_of_group = held
    size, of_sides = rows.shape[0], members.shape[0]
    counts = np.zeros(of_sides, np.int64)
    near = np.empty(_BLOCK, np.int64)
    for row in range(size):
        word = words[row]
        if row > 0 and word == words[row - 1] and equal(rows, row, row - 1):
            survives[row] = survives[row - 1]
            continue
        guarded = word | guards
        if _one_dominates(rows, first_words, tried_first, row, guarded, guards):
            continue
        own = sides[row] if of_sides == 2 else 0
        other = of_sides - 1 - own
        beaten = False
        for group in range((counts[other] + _GROUP - 1) // _GROUP):
            if not may_dominate(best_of_group[other, group], guarded, guards):
                continue
            some = 0
            for block in range(_BLOCK):  # without a branch, which would be hard to predict
                near[some] = block
                some += may_dominate(best_of_block[other, group, block], guarded, guards)
            for rank in range(some):
                block = group * _BLOCK + near[rank]
                if _one_dominates(
                    rows, members[other, block], places[other, block], row, guarded, guards
                ):
                    beaten = True
                    break
            if beaten:
                break
        if beaten:
            continue
        survives[row] = True
        count = counts[own]
        counts[own] += 1
        block, group = count // _BLOCK, count // _GROUP
        members[own, block, count % _BLOCK] = word
        places[own, block, count % _BLOCK] = row
        _best_so_far(
            best_of_block[own, group], block % _BLOCK, count % _BLOCK == 0, word, guards, shift
        )
        _best_so_far(best_of_group[own], group, count % _GROUP == 0, word, guards, shift)
