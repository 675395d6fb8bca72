"""Means and quantiles of rows that each stand for several."""

from __future__ import annotations

from math import ceil, floor, nan

import numpy as np

from penstock.history.growing_table import Numbers


def weighted_mean(values: Numbers, weights: Numbers) -> float:
    """Return the mean of what is known; NaN where nothing is.

    >>> weighted_mean(np.array([1.0, np.nan, 4.0]), np.array([2.0, 9.0, 1.0]))
    2.0
    """
    known = ~np.isnan(values) & (weights > 0)
    return float(np.average(values[known], weights=weights[known])) if known.any() else nan


def thinned_quantile(means: Numbers, greatest: Numbers, counts: Numbers, share: float) -> float:
    """Return what a ``share`` of all is not above, of rows that are means of ``counts`` each.

    The greatest of each row is known, too, and the others are taken for alike. So it is exact where
    rows are single or in pairs, and near where they are more. NaN where nothing is known.

    >>> means, greatest = np.array([1.0, 0.5, 1.5]), np.array([1.5, 0.5, 1.5])
    >>> thinned_quantile(means, greatest, np.array([2.0, 1.0, 1.0]), 0.5)
    1.0
    """
    known = ~np.isnan(means)
    means, greatest, counts = means[known], greatest[known], counts[known]
    if not len(means):
        return nan
    others = counts > 1
    rest = (means * counts - greatest)[others] / (counts[others] - 1)
    values = np.concatenate((greatest, rest))
    order = np.argsort(values, kind="stable")
    values = values[order]
    ends = np.cumsum(np.concatenate((np.ones(len(greatest)), counts[others] - 1))[order])
    place = share * (ends[-1] - 1)
    below, above = values[np.searchsorted(ends, (floor(place), ceil(place)), side="right")]
    return float(below + (above - below) * (place - floor(place)))
