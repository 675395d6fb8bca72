"""Random numbers that are a function of the row number, so any row can be made again anywhere."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# SplitMix64: G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators" (2014).
_STEP = 0x9E3779B97F4A7C15
_WORD = (1 << 64) - 1


def splitmix64(counters: NDArray[np.uint64], seed: int) -> NDArray[np.uint64]:
    """Give the outputs number ``counters`` of the SplitMix64 generator started from ``seed``.

    >>> int(splitmix64(np.array([0], dtype=np.uint64), seed=1234567)[0])
    6457827717110365317
    """
    mixed = counters + np.uint64(1)
    mixed *= np.uint64(_STEP)
    mixed += np.uint64(seed & _WORD)
    mixed ^= mixed >> np.uint64(30)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed


def uniform(rows: NDArray[np.int64], seed: int, stream: int) -> NDArray[np.float64]:
    """Draw one number in [0, 1) for each row number.

    Draws of different ``stream`` numbers are independent: one stream for keys, one for delays...

    >>> rows = np.arange(1_000_000)
    >>> bool((uniform(rows, seed=7, stream=0)[500:600] == uniform(rows[500:600], 7, 0)).all())
    True
    """
    # The seed of a stream is itself a draw, so streams start far apart on the generator's cycle.
    stream_seed = int(splitmix64(np.array([stream], dtype=np.uint64), seed)[0])
    words = splitmix64(rows.astype(np.uint64), stream_seed)
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
