"""A stream that looks the same at every scale of time."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from penstock.errors import ConfigurationError
from penstock.simulation.load import Load
from penstock.simulation.workloads.workload import (
    check_positive,
    check_seed,
    steps_of,
    trace_in,
)
from penstock.sources.trace import whole_counts

_MOST_VARIATION = 10.0  # beyond it nearly all rows come in a few steps


@dataclass(frozen=True, slots=True)
class SelfSimilar:
    """Rates with a given Hurst parameter: from 0.5 (no memory) to just below 1 (a very long one).

    The rate of each step is lognormal with ``variation`` as its standard deviation over its mean,
    and the logarithm is fractional Gaussian noise. So what comes in ever longer stretches of time
    varies as it should for the parameter; independent Pareto draws, which are often taken for such
    traffic, don't remember anything.

    >>> load = SelfSimilar(rate=1000, hurst=0.8, seconds=600).load()
    >>> load.duration_seconds, 400_000 < load.rows < 800_000
    (600.0, True)
    """

    rate: float = 1000.0
    hurst: float = 0.75
    variation: float = 0.4
    seconds: float = 600.0
    step_seconds: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        check_positive(
            "self-similar",
            rate=self.rate,
            variation=self.variation,
            seconds=self.seconds,
            step_seconds=self.step_seconds,
        )
        check_seed("self-similar", self.seed)
        if self.variation > _MOST_VARIATION:
            raise ConfigurationError(
                f"self-similar: variation is {self.variation}; write {_MOST_VARIATION:g} at most"
            )
        if not 0.5 <= self.hurst < 1:
            raise ConfigurationError(
                f"self-similar: hurst is {self.hurst}; write one from 0.5 to below 1, such as 0.75"
            )

    def rates(self) -> NDArray[np.float64]:
        """Return the rate of every step, in rows per second."""
        square = log(1 + self.variation**2)
        rng = np.random.default_rng([self.seed, 3])
        noise = fractional_noise(steps_of(self.seconds, self.step_seconds), self.hurst, rng)
        return np.asarray(self.rate * np.exp(sqrt(square) * noise - square / 2))

    def load(self) -> Load:
        """Make the rates whole rows; drawing them would add noise without memory."""
        rates = self.rates()
        counts = np.array(whole_counts((rates * (self.seconds / len(rates))).tolist()))
        return Load(trace_in(self.seconds, counts), spacing="random")


def fractional_noise(steps: int, hurst: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw fractional Gaussian noise: steps of mean 0 and variance 1 whose sums have this Hurst.

    The autocovariance is exact, by circulant embedding: R. B. Davies and D. S. Harte, "Tests for
    Hurst effect", Biometrika 74 (1987).

    >>> noise = fractional_noise(4, 0.5, np.random.default_rng(0))
    >>> noise.shape
    (4,)
    """
    lags = np.arange(steps + 1, dtype=np.float64)
    power = 2 * hurst
    covariance = ((lags + 1) ** power - 2 * lags**power + np.abs(lags - 1) ** power) / 2
    circle = np.concatenate((covariance, covariance[-2:0:-1]))
    # Rounding may leave an eigenvalue a hair below 0; for this noise none is.
    eigenvalues = np.maximum(np.fft.fft(circle).real, 0.0)
    size = len(circle)
    drawn = rng.standard_normal(size) + 1j * rng.standard_normal(size)
    return np.asarray(np.fft.fft(np.sqrt(eigenvalues / size) * drawn).real[:steps])
