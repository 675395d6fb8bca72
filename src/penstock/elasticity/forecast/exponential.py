"""A rate that grows by the same factor every second."""

from __future__ import annotations

from math import exp

import numpy as np

from penstock.elasticity.forecast.curve import Curve, Floats, straight_line

# Beyond this, e to the power of it is no finite number.
LARGEST_POWER = 700.0


def exponential(elapsed: Floats, rates: Floats) -> Curve:
    """Fit rate = exp(a + b x seconds).

    The fit is made on the logarithms, each weighted by its rate squared, which is what an error of
    the logarithm is worth on the scale of the rates. So zeros, which have no logarithm, weigh
    nothing.

    >>> import numpy as np
    >>> curve = exponential(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 8.0]))
    >>> round(curve.rate_at(5.0), 6)
    32.0
    """
    largest = float(rates.max(initial=0.0))
    if largest <= 0:
        return Curve("exponential", lambda seconds: 0.0, float(rates @ rates))
    logs = np.log(np.maximum(rates, largest * 1e-9))
    a, b = straight_line(elapsed, logs, (rates / largest) ** 2)
    off = np.exp(np.minimum(a + b * elapsed, LARGEST_POWER)) - rates
    with np.errstate(over="ignore"):  # a fit that is so far off is only ever compared
        error = float(off @ off)
    return Curve("exponential", lambda seconds: exp(min(a + b * seconds, LARGEST_POWER)), error)
