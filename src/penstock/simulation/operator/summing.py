"""Sums with NumPy's roundings, for kernels whose results must be those of NumPy code."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.compiling import compiled

# Up to a block NumPy adds in eight running sums, beyond it the sums of two halves.
_BLOCK, _LANES = 128, 8
_DEPTH = 64


@compiled
def _block_sum(values: NDArray[np.float64], start: int, length: int) -> float:
    if length < _LANES:
        few = -0.0
        for at in range(start, start + length):
            few += values[at]
        return few
    lanes = values[start : start + _LANES].copy()
    whole = length - length % _LANES
    for at in range(_LANES, whole, _LANES):
        for lane in range(_LANES):
            lanes[lane] += values[start + at + lane]
    total: float = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + (
        (lanes[4] + lanes[5]) + (lanes[6] + lanes[7])
    )
    for at in range(start + whole, start + length):
        total += values[at]
    return total


@compiled
def pairwise_sum(values: NDArray[np.float64]) -> float:
    """Return the sum of one row of numbers to the last bit as ``numpy.sum`` has it.

    >>> numbers = np.random.default_rng(0).random(1000)
    >>> bool(pairwise_sum(numbers) == numbers.sum())
    True
    """
    # NumPy's recursion, by hand: Numba can't load a recursive function that it has cached.
    starts, lengths = np.zeros(_DEPTH, np.int64), np.zeros(_DEPTH, np.int64)
    lefts, has_left = np.zeros(_DEPTH), np.zeros(_DEPTH, np.bool_)
    lengths[0], depth = len(values), 0
    while True:
        while lengths[depth] > _BLOCK:
            half = lengths[depth] // 2
            starts[depth + 1], lengths[depth + 1] = starts[depth], half - half % _LANES
            has_left[depth] = False
            depth += 1
        total = _block_sum(values, starts[depth], lengths[depth])
        while depth and has_left[depth - 1]:
            depth -= 1
            total = lefts[depth] + total
        if depth == 0:
            return 0.0 + total
        above = depth - 1
        lefts[above], has_left[above] = total, True
        end = starts[above] + lengths[above]
        starts[depth] = starts[depth] + lengths[depth]
        lengths[depth] = end - starts[depth]
