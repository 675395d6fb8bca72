"""A curve fitted to the samples of a window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Curve:
    """A rate as a function of seconds since shortly before the first sample.

    ``squared_error`` is the sum over the samples, on the scale of the rates whatever scale the
    curve was fitted on.
    """

    model: str
    rate_at: Callable[[float], float]
    squared_error: float


def straight_line(x: Floats, y: Floats, weights: Floats | None = None) -> tuple[float, float]:
    """Return intercept and slope of the least squares line; flat where x does not vary."""
    total = float(len(x)) if weights is None else float(weights.sum())
    if total <= 0:
        return 0.0, 0.0
    weighted_x = x if weights is None else weights * x
    mean_x = float(weighted_x.sum()) / total
    mean_y = float((y if weights is None else weights * y).sum()) / total
    spread = float(weighted_x @ x) - total * mean_x * mean_x
    if spread <= 1e-12 * max(1.0, mean_x * mean_x * total):
        return mean_y, 0.0
    slope = (float(weighted_x @ y) - total * mean_x * mean_y) / spread
    return mean_y - slope * mean_x, slope
