"""A rate that grows by as much every second."""

from __future__ import annotations

from penstock.elasticity.forecast.curve import Curve, Floats, straight_line


def linear(elapsed: Floats, rates: Floats) -> Curve:
    """Fit rate = a + b x seconds.

    >>> import numpy as np
    >>> round(linear(np.array([1.0, 2.0, 3.0]), np.array([5.0, 7.0, 9.0])).rate_at(10.0), 6)
    23.0
    """
    a, b = straight_line(elapsed, rates)
    off = a + b * elapsed - rates
    return Curve("linear", lambda seconds: a + b * seconds, float(off @ off))
