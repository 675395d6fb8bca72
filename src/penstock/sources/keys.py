"""Which key each row gets: how popular the keys are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from penstock.arguments import checked, is_finite
from penstock.errors import ConfigurationError

_MOST_UNIFORM_KEYS = 2**53  # beyond it a double can't name every key
_MOST_ZIPF_KEYS = 10_000_000  # the table takes 8 bytes a key in every Python worker


@dataclass(frozen=True, slots=True)
class UniformKeys:
    """Keys 0 to ``n`` - 1, all as likely.

    >>> UniformKeys(4).draw(np.array([0.0, 0.26, 0.5, 0.99])).tolist()
    [0, 1, 2, 3]
    """

    n: int

    def __post_init__(self) -> None:
        _check_n("UniformKeys", self.n, _MOST_UNIFORM_KEYS)

    @checked
    def draw(self, uniform: NDArray[np.float64]) -> NDArray[np.int64]:
        """Turn numbers in [0, 1) into keys."""
        return (uniform * self.n).astype(np.int64)


@dataclass(frozen=True, slots=True)
class ZipfKeys:
    """Keys 0 to ``n`` - 1 where key k comes with a probability proportional to 1 / (k + 1)^s.

    Key 0 is the most popular; ``s = 0`` makes all keys as likely.

    >>> ZipfKeys(3, s=1.0).probabilities().round(4).tolist()
    [0.5455, 0.2727, 0.1818]
    >>> ZipfKeys(3, s=1.0).draw(np.array([0.54, 0.55, 0.82])).tolist()
    [0, 1, 2]
    """

    n: int
    s: float = 1.0

    def __post_init__(self) -> None:
        _check_n("ZipfKeys", self.n, _MOST_ZIPF_KEYS)
        if not (is_finite(self.s) and self.s >= 0):
            raise ConfigurationError(
                f"ZipfKeys: the exponent s is {self.s}; write a number of 0 or more, such as 1.0"
            )

    def probabilities(self) -> NDArray[np.float64]:
        """Give the probability of every key, key 0 first."""
        weights = np.arange(1, self.n + 1, dtype=np.float64) ** -self.s
        return np.asarray(weights / weights.sum())

    @checked
    def draw(self, uniform: NDArray[np.float64]) -> NDArray[np.int64]:
        """Turn numbers in [0, 1) into keys, by the inverse of the cumulative distribution."""
        return np.searchsorted(_cumulative(self), uniform, side="right").astype(np.int64)


@lru_cache(maxsize=8)
def _cumulative(keys: ZipfKeys) -> NDArray[np.float64]:
    table = np.cumsum(keys.probabilities())
    table[-1] = 1.0  # rounding must not leave a draw beyond the last key
    return table


def _check_n(name: str, n: int, most: int) -> None:
    if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= most:
        raise ConfigurationError(
            f"{name}: the number of keys n is {n!r}; write a whole number from 1 to {most:,}"
        )


Keys = UniformKeys | ZipfKeys
