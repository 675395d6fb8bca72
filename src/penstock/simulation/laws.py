"""How long an operator takes for a row: the laws that execution times follow."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, isfinite, log, sqrt
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from penstock.errors import ConfigurationError
from penstock.sources.draws import splitmix64
from penstock.sources.keys import UniformKeys, ZipfKeys

Keys = UniformKeys | ZipfKeys
# So many keys have every value as often as any other; no table of them needs to be made.
_MOST_KEYS = 10_000_000
_MOST_VALUES = 2**53  # beyond it a double can't tell them apart


@runtime_checkable
class Law(Protocol):
    """Gives every row its execution time, in seconds of one slot."""

    def draw(self, keys: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw the execution times of rows with these keys."""
        ...

    def mean_seconds(self, keys: Keys | None = None) -> float:
        """Return the mean over all rows, whose keys are drawn like this."""
        ...


@dataclass(frozen=True, slots=True)
class Constant:
    """Every row takes the same time.

    >>> Constant(0.002).mean_seconds()
    0.002
    """

    seconds: float

    def __post_init__(self) -> None:
        _check("Constant", "seconds", self.seconds)

    def draw(self, keys: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
        """Return the same time for every row."""
        return np.full(len(keys), self.seconds)

    def mean_seconds(self, keys: Keys | None = None) -> float:
        """Return the time."""
        return self.seconds


@dataclass(frozen=True, slots=True)
class Uniform:
    """Any time from ``low`` to ``high``, whatever the key.

    >>> Uniform(0.001, 0.003).mean_seconds()
    0.002
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        _check("Uniform", "low", self.low)
        _check("Uniform", "high", self.high)
        if self.low > self.high:
            raise ConfigurationError(f"Uniform: low {self.low} is above high {self.high}")

    def draw(self, keys: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw one time per row."""
        return rng.uniform(self.low, self.high, len(keys))

    def mean_seconds(self, keys: Keys | None = None) -> float:
        """Return the middle."""
        return (self.low + self.high) / 2


@dataclass(frozen=True, slots=True)
class LogNormal:
    """Times with a mean and a coefficient of variation, a few of them long.

    >>> LogNormal(mean=0.01, variation=0.5).mean_seconds()
    0.01
    """

    mean: float
    variation: float

    def __post_init__(self) -> None:
        _check("LogNormal", "mean", self.mean)
        _check("LogNormal", "variation", self.variation)

    def draw(self, keys: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw one time per row."""
        if not self.mean:
            return np.zeros(len(keys))
        square = log(1 + self.variation**2)
        return rng.lognormal(log(self.mean) - square / 2, sqrt(square), len(keys))

    def mean_seconds(self, keys: Keys | None = None) -> float:
        """Return the mean."""
        return self.mean


@dataclass(frozen=True, slots=True)
class Exponential:
    """Times without memory.

    >>> Exponential(0.01).mean_seconds()
    0.01
    """

    mean: float

    def __post_init__(self) -> None:
        _check("Exponential", "mean", self.mean)

    def draw(self, keys: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw one time per row."""
        return rng.exponential(self.mean, len(keys))

    def mean_seconds(self, keys: Keys | None = None) -> float:
        """Return the mean."""
        return self.mean


@dataclass(frozen=True, slots=True)
class ByKey:
    """The key decides: it has one of ``values`` times, evenly apart from ``low`` to ``high``.

    That is an operator that is sensitive to what it reads. ``seed`` says which key has which.

    >>> law = ByKey(0.001, 0.064, values=64)
    >>> keys, rng = np.array([5, 9, 5]), np.random.default_rng(0)
    >>> times = law.draw(keys, rng)
    >>> bool(times[0] == times[2] != times[1])
    True
    """

    low: float
    high: float
    values: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        _check("ByKey", "low", self.low)
        _check("ByKey", "high", self.high)
        if self.low > self.high or not 1 <= self.values <= _MOST_VALUES:
            raise ConfigurationError(
                f"ByKey: {self.values} values from {self.low} to {self.high} can't be; write "
                "values=64, low=0.001 and high=0.064, for example"
            )

    def draw(self, keys: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
        """Look up every row's time."""
        step = (self.high - self.low) / max(1, self.values - 1)
        which = splitmix64(keys.astype(np.uint64), self.seed) % np.uint64(self.values)
        return self.low + step * which.astype(np.float64)

    def mean_seconds(self, keys: Keys | None = None) -> float:
        """Return the mean over what the keys are; over the values where nobody says."""
        if keys is None or keys.n > _MOST_KEYS:
            return (self.low + self.high) / 2
        times = self.draw(np.arange(keys.n), np.random.default_rng(0))
        return (
            float(times @ keys.probabilities())
            if isinstance(keys, ZipfKeys)
            else float(times.mean())
        )


def _check(law: str, name: str, value: float) -> None:
    if not (isfinite(value) and 0 <= value < exp(40)):
        raise ConfigurationError(f"{law}: {name} is {value}; write seconds of 0 or more")
