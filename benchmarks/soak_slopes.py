"""Whether something grew: a robust line through what was measured, and what counts as growth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

BLOCKS = 40
LEAST_POINTS = 5
# Of the normal distribution, for an interval that holds the slope in 95 of 100 runs.
Z_95 = 1.959964
Verdict = Literal["flat", "unclear", "grows", "too short"]


@dataclass(frozen=True, slots=True)
class Trend:
    """How far a line through the measurements rises from the first to the last of them.

    ``growth`` is by the Theil-Sen line, the median of the slopes of all pairs; ``low`` and ``high``
    hold it with a confidence of 95 %. ``level`` is the median of the measurements.
    """

    level: float
    growth: float
    low: float
    high: float
    seconds: float
    points: int

    def verdict(self, most_share: float) -> Verdict:
        """Judge it: growing more than ``most_share`` of the level, and surely growing at all.

        >>> Trend(100.0, 4.0, 3.0, 5.0, 60.0, 40).verdict(0.1)
        'flat'
        >>> Trend(100.0, 40.0, -3.0, 80.0, 60.0, 40).verdict(0.1)
        'unclear'
        >>> Trend(100.0, 40.0, 30.0, 50.0, 60.0, 40).verdict(0.1)
        'grows'
        """
        if self.points < LEAST_POINTS:
            return "too short"
        if self.growth <= most_share * abs(self.level):
            return "flat"
        return "grows" if self.low > 0 else "unclear"


def trend(at: Sequence[float], values: Sequence[float]) -> Trend:
    """Draw the Theil-Sen line, through medians of blocks where there are many measurements.

    Measurements close to each other hang together, so that a line through all of them would be
    surer of itself than it may be.

    >>> found = trend([0, 1, 2, 3, 4, 5], [7, 9, 11, 13, 15, 99])
    >>> found.growth, found.level
    (10.0, 12.0)
    """
    x, y = np.asarray(at, dtype=float), np.asarray(values, dtype=float)
    if len(x) == 0:
        return Trend(0.0, 0.0, 0.0, 0.0, 0.0, 0)
    seconds, level = float(x[-1] - x[0]), float(np.median(y))
    x, y = _blocks(x, y)
    if len(x) < 2:
        return Trend(level, 0.0, 0.0, 0.0, seconds, len(x))
    slope, low, high = theil_sen(x, y)
    return Trend(level, slope * seconds, low * seconds, high * seconds, seconds, len(x))


def theil_sen(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return the median of the slopes of all pairs, and the ends of Sen's interval around it."""
    first, second = np.triu_indices(len(x), k=1)
    apart = x[second] - x[first]
    slopes = np.sort((y[second] - y[first])[apart > 0] / apart[apart > 0])
    if len(slopes) == 0:
        return 0.0, 0.0, 0.0
    spread = Z_95 * np.sqrt(len(x) * (len(x) - 1) * (2 * len(x) + 5) / 18)
    middle = len(slopes) / 2
    lowest = max(0, int(np.floor(middle - spread / 2)))
    highest = min(len(slopes) - 1, int(np.ceil(middle + spread / 2)))
    return float(np.median(slopes)), float(slopes[lowest]), float(slopes[highest])


def after_warm_up(
    at: Sequence[float], values: Sequence[float], share: float
) -> tuple[list[float], list[float]]:
    """Leave out the first ``share`` of the time.

    >>> after_warm_up([0, 10, 20, 30], [9, 8, 7, 6], 0.5)
    ([20, 30], [7, 6])
    """
    if not at:
        return [], []
    since = at[0] + share * (at[-1] - at[0])
    kept = [(when, value) for when, value in zip(at, values, strict=True) if when >= since]
    return [when for when, _ in kept], [value for _, value in kept]


def _blocks(
    x: NDArray[np.float64], y: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if len(x) <= BLOCKS:
        return x, y
    pieces = [(np.median(a), np.median(b)) for a, b in _pairs(x, y)]
    return np.array([a for a, _ in pieces]), np.array([b for _, b in pieces])


def _pairs(
    x: NDArray[np.float64], y: NDArray[np.float64]
) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    order = np.argsort(x, kind="stable")
    cut = np.array_split(order, BLOCKS)
    return [(x[each], y[each]) for each in cut]
