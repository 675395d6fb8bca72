"""What a row costs to process, as a function of its key."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from penstock.arguments import checked, is_finite
from penstock.errors import ArgumentError, ConfigurationError
from penstock.sources.draws import splitmix64

_MOST_LEVELS = 1_000_000


@dataclass(frozen=True, slots=True)
class KeyCost:
    """Each key gets one of ``levels`` costs, evenly spread from ``low_ms`` to ``high_ms``.

    The levels are shuffled by ``seed``, so the cost of a key says nothing of its popularity, and
    dealt out evenly: among keys 0 to ``levels`` - 1 each cost is there once, and so on.

    >>> sorted(KeyCost(1.0, 4.0, levels=4).cost_ms(np.arange(4)).tolist())
    [1.0, 2.0, 3.0, 4.0]
    """

    low_ms: float
    high_ms: float
    levels: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        are_numbers = is_finite(self.low_ms) and is_finite(self.high_ms)
        if not are_numbers or not 0 <= self.low_ms <= self.high_ms:
            raise ConfigurationError(
                f"KeyCost: costs from low_ms={self.low_ms} to high_ms={self.high_ms}; "
                "write 0 <= low_ms <= high_ms"
            )
        if isinstance(self.seed, bool) or not isinstance(self.seed, Integral):
            raise ConfigurationError(f"KeyCost: seed is {self.seed!r}; write a whole number")
        object.__setattr__(self, "seed", int(self.seed))
        levels = self.levels
        if isinstance(levels, bool) or not isinstance(levels, int) or levels < 1:
            raise ConfigurationError(f"KeyCost: levels is {levels!r}; write a whole number from 1")
        if levels > _MOST_LEVELS:
            raise ConfigurationError(f"KeyCost: levels is {levels}; write at most {_MOST_LEVELS:,}")

    @checked
    def cost_ms(self, keys: NDArray[np.int64]) -> NDArray[np.float64]:
        """Give the cost of each key, in milliseconds."""
        if keys.dtype.kind not in "iu":
            raise ArgumentError(f"the keys of rows are whole numbers, not {keys.dtype}.")
        block, place = np.divmod(keys, self.levels)
        # Every block of keys deals the same shuffled costs, started at a place of its own.
        shift = splitmix64(block.astype(np.uint64), self.seed) % np.uint64(self.levels)
        place += shift.astype(np.int64)
        place %= self.levels
        return _shuffled_costs(self)[place]


@lru_cache(maxsize=8)
def _shuffled_costs(cost: KeyCost) -> NDArray[np.float64]:
    order = np.argsort(splitmix64(np.arange(cost.levels, dtype=np.uint64), cost.seed))
    return np.linspace(cost.low_ms, cost.high_ms, cost.levels)[order]
