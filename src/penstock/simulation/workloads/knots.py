"""Rates that go straight from one moment to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Knot:
    """Where a rate is at a moment: both as shares, of the whole time and from low to high."""

    time: float
    height: float


def mean_rates(knots: Sequence[Knot], low: float, high: float, steps: int) -> NDArray[np.float64]:
    """Return the mean rate in each of so many equal steps of the time.

    >>> mean_rates([Knot(0.0, 0.0), Knot(0.5, 1.0), Knot(1.0, 1.0)], 10, 30, 4).tolist()
    [15.0, 25.0, 30.0, 30.0]
    """
    times = np.array([each.time for each in knots])
    rates = low + (high - low) * np.array([each.height for each in knots])
    # The integral at every knot and edge is exact; rates between them are straight lines.
    edges = np.linspace(0.0, 1.0, steps + 1)
    moments = np.union1d(times, edges)
    heights = np.interp(moments, times, rates)
    area = np.concatenate(([0.0], np.cumsum(np.diff(moments) * (heights[1:] + heights[:-1]) / 2)))
    return np.asarray(np.diff(area[np.searchsorted(moments, edges)]) * steps)
