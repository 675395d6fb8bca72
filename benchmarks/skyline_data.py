"""Points as skyline algorithms are measured on: *The skyline operator* (ICDE 2001).

Uniform: columns are independent. Correlated: a point that is good in one column tends to be good in
the others. Anti-correlated: it tends to be bad in the others, so few points dominate each other.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]


def uniform(rows: int, columns: int, seed: int = 0) -> Points:
    return np.random.default_rng(seed).random((rows, columns))


def correlated(rows: int, columns: int, seed: int = 0) -> Points:
    def draw(dice: np.random.Generator, tries: int) -> Points:
        middle = dice.random((tries, columns)).mean(axis=1)
        spread = np.minimum(middle, 1 - middle)[:, None]
        shift = (dice.random((tries, columns, 12)).mean(axis=2) * 2 - 1) * spread
        return _shifted(middle, shift)

    return _inside(rows, columns, seed, draw)


def anti_correlated(rows: int, columns: int, seed: int = 0) -> Points:
    def draw(dice: np.random.Generator, tries: int) -> Points:
        middle = 0.5 + 0.25 * (dice.random((tries, 12)).mean(axis=1) * 2 - 1)
        spread = np.minimum(middle, 1 - middle)[:, None]
        shift = (dice.random((tries, columns)) * 2 - 1) * spread
        return _shifted(middle, shift)

    return _inside(rows, columns, seed, draw)


KINDS: dict[str, Callable[[int, int], Points]] = {
    "uniform": uniform,
    "correlated": correlated,
    "anti-correlated": anti_correlated,
}


def _shifted(middle: Points, shift: Points) -> Points:
    """Move points within the plane across the diagonal: what one column gains the next loses."""
    points: Points = middle[:, None] + shift - np.roll(shift, 1, axis=1)
    return points


def _inside(
    rows: int, columns: int, seed: int, draw: Callable[[np.random.Generator, int], Points]
) -> Points:
    """Draw until enough points lie in the unit cube."""
    dice = np.random.default_rng(seed)
    found: list[Points] = []
    while sum(map(len, found)) < rows:
        points = draw(dice, 50_000)
        found.append(points[((points >= 0) & (points <= 1)).all(axis=1)])
    return np.ascontiguousarray(np.concatenate(found)[:rows])
