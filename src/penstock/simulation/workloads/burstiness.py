"""How bursty a stream is: the statistics that workloads are known for, measured."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.errors import ConfigurationError

Numbers = NDArray[np.float64]


def index_of_dispersion(counts: Numbers, together: int = 1) -> float:
    """Return the variance over the mean of the rows in ``together`` steps at a time.

    It is 1 for rows that come independently; it grows with ``together`` until bursts are short
    against that time, and without end where the stream is self-similar.

    >>> index_of_dispersion(np.array([4.0, 8.0, 4.0, 8.0]))
    0.6666666666666666
    >>> index_of_dispersion(np.array([4.0, 8.0, 4.0, 8.0]), together=2)
    0.0
    """
    sums = _summed(counts, together)
    return float(sums.var() / sums.mean())


def lag_1_correlation(values: Numbers) -> float:
    """Return the correlation of each value with the next.

    >>> lag_1_correlation(np.array([1.0, 2.0, 3.0, 4.0]))
    0.25
    """
    off = values - values.mean()
    return float(off[1:] @ off[:-1] / (off @ off))


def peak_to_mean(counts: Numbers) -> float:
    """Return the largest count over the mean.

    >>> peak_to_mean(np.array([1.0, 2.0, 6.0]))
    2.0
    """
    return float(counts.max() / counts.mean())


def hurst_by_variance(counts: Numbers, least: int = 8, most: int | None = None) -> float:
    """Estimate the Hurst parameter from how slowly means over longer stretches settle.

    The variance of the mean of m steps goes as m^(2H - 2); the slope is fitted over stretches from
    ``least`` steps to ``most``, a sixteenth of all unless said.
    """
    longest = most or len(counts) // 16
    if longest < 4 * least:
        raise ConfigurationError(
            f"{len(counts)} steps are too few to tell a Hurst parameter; give {64 * least} or more"
        )
    lengths = np.unique(np.geomspace(least, longest, 20).astype(np.int64))
    variances = [float((_summed(counts, int(each)) / each).var()) for each in lengths]
    slope = np.polyfit(np.log(lengths), np.log(variances), 1)[0]
    return float(1 + slope / 2)


def hurst_by_spectrum(counts: Numbers, power: float = 0.7) -> float:
    """Estimate the Hurst parameter from the lowest frequencies: the local Whittle estimator.

    Steps^``power`` frequencies are used (P. M. Robinson, "Gaussian semiparametric estimation of
    long range dependence", Annals of Statistics 23, 1995).
    """
    steps = len(counts)
    used = int(steps**power)
    spectrum = np.abs(np.fft.rfft(counts - counts.mean())[1 : used + 1]) ** 2
    frequencies = 2 * np.pi * np.arange(1, used + 1) / steps
    logs = np.log(frequencies)
    candidates = np.arange(0.01, 1.0, 0.001)
    memory = 2 * candidates - 1
    weighted = (spectrum[:, None] * frequencies[:, None] ** memory).mean(axis=0)
    return float(candidates[np.argmin(np.log(weighted) - memory * logs.mean())])


def _summed(counts: Numbers, together: int) -> Numbers:
    whole = len(counts) // together * together
    return np.asarray(counts[:whole].reshape(-1, together).sum(axis=1))
