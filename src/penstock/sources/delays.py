"""How long after its event time each row arrives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.arguments import checked
from penstock.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class NoDelay:
    """Every row arrives at its event time.

    >>> NoDelay().draw_micros(np.array([0.1, 0.9])).tolist()
    [0, 0]
    """

    @checked
    def draw_micros(self, uniform: NDArray[np.float64]) -> NDArray[np.int64]:
        """Turn numbers in [0, 1) into delays, in microseconds."""
        return np.zeros(uniform.shape, dtype=np.int64)


@checked
@dataclass(frozen=True, slots=True)
class UniformDelay:
    """A delay anywhere from 0 to ``max_seconds``, for a ``fraction`` of the rows.

    For a mean delay of d write ``UniformDelay(2 * d)``. The other rows arrive at once.

    >>> UniformDelay(2.0).draw_micros(np.array([0.0, 0.25, 0.5])).tolist()
    [0, 500000, 1000000]
    >>> UniformDelay(2.0, fraction=0.5).draw_micros(np.array([0.25, 0.75])).tolist()
    [1000000, 0]
    """

    max_seconds: float
    fraction: float = 1.0

    def __post_init__(self) -> None:
        _check_seconds("UniformDelay", "max_seconds", self.max_seconds)
        _check_fraction("UniformDelay", self.fraction)

    @checked
    def draw_micros(self, uniform: NDArray[np.float64]) -> NDArray[np.int64]:
        """Turn numbers in [0, 1) into delays, in microseconds."""
        among_late = uniform / self.fraction
        delays = among_late * (self.max_seconds * 1e6)
        return np.where(among_late < 1.0, delays, 0.0).astype(np.int64)


@checked
@dataclass(frozen=True, slots=True)
class ExponentialDelay:
    """An exponential delay with the given mean, for a ``fraction`` of the rows.

    The mean is over the rows that are late; the other rows arrive at once.

    >>> ExponentialDelay(10.0).draw_micros(np.array([0.0, 0.5])).tolist()
    [0, 6931471]
    """

    mean_seconds: float
    fraction: float = 1.0

    def __post_init__(self) -> None:
        _check_seconds("ExponentialDelay", "mean_seconds", self.mean_seconds)
        _check_fraction("ExponentialDelay", self.fraction)

    @checked
    def draw_micros(self, uniform: NDArray[np.float64]) -> NDArray[np.int64]:
        """Turn numbers in [0, 1) into delays, in microseconds."""
        among_late = uniform / self.fraction
        # A row that is not late is given 0, whose logarithm is no delay.
        late = np.where(among_late < 1.0, among_late, 0.0)
        return (np.log1p(-late) * (-self.mean_seconds * 1e6)).astype(np.int64)


def _check_seconds(name: str, field: str, seconds: float) -> None:
    # A hundred years in microseconds still leaves room in a 64-bit timestamp.
    if not 0 <= seconds <= 100 * 365 * 86_400:
        raise ConfigurationError(
            f"{name}: {field} is {seconds}; write a number of seconds from 0 to a hundred years"
        )


def _check_fraction(name: str, fraction: float) -> None:
    if not 0 < fraction <= 1:
        raise ConfigurationError(
            f"{name}: fraction is {fraction}; write a share of the rows above 0 and up to 1, "
            "or NoDelay() for none"
        )


Delays = NoDelay | UniformDelay | ExponentialDelay
