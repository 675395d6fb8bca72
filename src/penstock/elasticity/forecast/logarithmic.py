"""A rate that grows ever more slowly."""

from __future__ import annotations

from math import log

import numpy as np

from penstock.elasticity.forecast.curve import Curve, Floats, straight_line


def logarithmic(elapsed: Floats, rates: Floats) -> Curve:
    """Fit rate = a + b x log(seconds), where seconds are over 0.

    >>> import numpy as np
    >>> curve = logarithmic(np.array([1.0, 2.0, 4.0]), np.array([10.0, 11.0, 12.0]))
    >>> round(curve.rate_at(16.0), 6)
    14.0
    """
    logs = np.log(elapsed)
    a, b = straight_line(logs, rates)
    off = a + b * logs - rates
    return Curve("logarithmic", lambda seconds: a + b * log(seconds), float(off @ off))
