"""Chance that belongs to the row: whatever else happens, a row's fate is drawn alike.

Every row has an identity, made from that of the row it came of. What is drawn for it (how many
rows come of it, where they go, which replica gets it) is a function of the identity alone. So two
policies meet the same rows, and what differs between their runs is theirs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.compiling import compiled
from penstock.sources.draws import splitmix64

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_11, _27, _30, _31 = (np.uint64(bits) for bits in (11, 27, 30, 31))
_COPIES, _ROUTE, _REPLICA = np.uint64(0xC0), np.uint64(0x30073), np.uint64(0x2E9)
_UNIT = 2.0**-53


@compiled
def _mixed(word: np.uint64) -> np.uint64:
    word = (word ^ (word >> _30)) * _FIRST
    word = (word ^ (word >> _27)) * _SECOND
    return word ^ (word >> _31)


@compiled
def _unit(word: np.uint64) -> float:
    return float(_mixed(word * _STEP + _STEP) >> _11) * _UNIT


@compiled
def copies(identity: np.uint64, selectivity: float) -> int:
    """Return how many rows an operator puts out for a row: ``selectivity`` on average."""
    whole = int(selectivity)
    more = selectivity - whole
    if more > 0 and _unit(identity ^ _COPIES) < more:
        whole += 1
    return whole


@compiled
def goes(identity: np.uint64, copy: int, low: float, share: float) -> bool:
    """Say whether a row that was put out goes to the child that takes [low, low + share).

    Children of one parent have their shares one after the other on a circle: rows are split among
    them where the shares add up to 1, and handed to several where they add up to more.
    """
    if share >= 1.0:
        return True
    place = _unit((identity ^ _ROUTE) + np.uint64(copy)) - low
    if place < 0.0:
        place += 1.0
    return place < share


@compiled
def descendant(identity: np.uint64, child: int, copy: int) -> np.uint64:
    """Return the identity of the row that a child gets as a copy of what came of another."""
    return _mixed(_mixed(identity + _STEP * np.uint64(child + 1)) + _STEP * np.uint64(copy + 1))


@compiled
def replica_by_chance(identity: np.uint64, replicas: int) -> int:
    """Return the replica that random shuffling gives a row to."""
    return int(_unit(identity ^ _REPLICA) * replicas)


def identities(rows: int, seed: int) -> NDArray[np.uint64]:
    """Return the identities of the rows of a load."""
    return splitmix64(np.arange(rows, dtype=np.uint64), seed)
