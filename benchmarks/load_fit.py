"""How a cost grows with a size: the slope of a line through both logarithms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class PowerLaw:
    """``cost ~ size ** slope``; ``last_slope`` is that of the two largest sizes alone.

    Small sizes cost what any micro-batch costs, which bends the line: the last slope is what to
    expect beyond. ``error`` is the standard error of the slope.
    """

    slope: float
    error: float
    last_slope: float


def power_law(sizes: Sequence[float], costs: Sequence[float]) -> PowerLaw:
    """Fit by least squares in logarithms.

    >>> power_law([1, 10, 100], [2.0, 20.0, 200.0])
    PowerLaw(slope=1.0, error=0.0, last_slope=1.0)
    """
    x, y = np.log(np.asarray(sizes, dtype=float)), np.log(np.asarray(costs, dtype=float))
    centred = x - x.mean()
    spread = float(centred @ centred)
    slope = float(centred @ y) / spread
    left = y - y.mean() - slope * centred
    error = float(np.sqrt(left @ left / max(1, len(x) - 2) / spread))
    last = (y[-1] - y[-2]) / (x[-1] - x[-2])
    return PowerLaw(round(slope, 6), round(error, 6), round(float(last), 6))
