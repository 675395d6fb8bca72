"""AutoScale+'s choice: the best of three curves on the last iteration (equation 3)."""

from __future__ import annotations

from penstock.elasticity.forecast.curve import Curve, Floats
from penstock.elasticity.forecast.exponential import exponential
from penstock.elasticity.forecast.linear import linear
from penstock.elasticity.forecast.logarithmic import logarithmic


def regressions(elapsed: Floats, rates: Floats) -> tuple[Curve, Curve, Curve]:
    """Fit all three; ``elapsed`` are seconds over 0, from shortly before the first sample."""
    return linear(elapsed, rates), logarithmic(elapsed, rates), exponential(elapsed, rates)


def best_regression(elapsed: Floats, rates: Floats) -> Curve:
    """Return the curve with the smallest squared error on the scale of the rates.

    Curves that fit equally well are preferred in the order linear, logarithmic, exponential.

    >>> import numpy as np
    >>> seconds = np.arange(1.0, 20.0)
    >>> best_regression(seconds, 100 * 1.1**seconds).model
    'exponential'
    """
    return min(regressions(elapsed, rates), key=lambda curve: curve.squared_error)
