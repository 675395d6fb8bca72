"""Whether a rate repeats itself, and after how long."""

from __future__ import annotations

import numpy as np

from penstock.elasticity.forecast.curve import Floats

SHORTEST = 6
ALIKE = 0.5
FEWEST = 24


def find_period(rates: Floats) -> float | None:
    """Return the period in samples by autocorrelation, or None where there is none.

    There must be two whole periods of at least 6 samples. The samples a period apart must correlate
    by a half or more, a trend taken off. Of periods that explain about as much, the shortest is
    taken.

    >>> time = np.arange(100)
    >>> round(find_period(100 + 50 * np.sin(2 * np.pi * time / 20)))
    20
    >>> find_period(3.0 * time) is None
    True
    """
    n = len(rates)
    if n < FEWEST:
        return None
    x = np.arange(n, dtype=np.float64) - (n - 1) / 2
    flat = rates - rates.mean()
    flat = flat - x * (float(x @ flat) / float(x @ x))
    power = float(flat @ flat)
    if power <= 1e-9 * max(1.0, float(rates @ rates)):
        return None
    padded = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(flat, padded)
    products = np.fft.irfft(spectrum * spectrum.conj(), padded)[: n // 2 + 1]
    # Against the power of the very samples that are paired, or peaks move with what is at the ends.
    so_far = np.concatenate(([0.0], np.cumsum(flat * flat)))
    lags = np.arange(n // 2 + 1)
    alike = products / np.sqrt(so_far[n - lags] * (power - so_far[lags]) + 1e-12 * power * power)
    apart = np.flatnonzero(alike < ALIKE / 2)
    if not len(apart):
        return None
    first = max(SHORTEST, int(apart[0]))
    inner = alike[1:-1]
    peaks = np.flatnonzero((inner >= alike[:-2]) & (inner > alike[2:])) + 1
    peaks = peaks[(peaks >= first) & (alike[peaks] >= ALIKE)]
    if not len(peaks):
        return None
    peak = int(peaks[alike[peaks] >= 0.9 * alike[peaks].max()][0])
    # Noise makes small peaks beside the great one.
    around = slice(max(first, peak - peak // 4), peak + peak // 4 + 1)
    return _top(alike, around.start + int(alike[around].argmax()))


def _top(alike: Floats, peak: int) -> float:
    """Return where a parabola through the lags around a peak has its top."""
    reach = min(max(1, peak // 12), peak, len(alike) - 1 - peak)
    around = alike[peak - reach : peak + reach + 1]
    lags = np.arange(-reach, reach + 1, dtype=np.float64)
    squares = lags * lags
    total, width = float(squares.sum()), 2 * reach + 1
    spread = float((squares * squares).sum()) - total * total / width
    if spread <= 0:
        return float(peak)
    slope = float((lags * around).sum()) / total
    bend = (float((squares * around).sum()) - total * float(around.mean())) / spread
    beside = max(-reach, min(reach, -slope / (2 * bend))) if bend < 0 else 0.0
    return float(peak + beside)
