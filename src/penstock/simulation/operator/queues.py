"""Instances with queues, compiled: tuples in turn, and tuples to the instance with least work."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.compiling import compiled

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


@compiled
def in_turn(
    arrivals: Floats,
    seconds: Floats,
    starts: Whole,
    multipliers: Floats,
    delay: float,
    completions: Floats,
    chosen: NDArray[np.int32],
) -> None:
    """Give every tuple to the next instance."""
    free, period, at = np.zeros(multipliers.shape[1]), 0, 0
    for number in range(len(seconds)):
        while period + 1 < len(starts) and starts[period + 1] <= number:
            period += 1
        now = arrivals[number]
        done = max(free[at], now + delay) + seconds[number] * multipliers[period, at]
        free[at] = done
        completions[number], chosen[number] = done - now, at
        at += 1
        if at == len(free):
            at = 0


@compiled
def to_the_least_loaded(
    arrivals: Floats,
    seconds: Floats,
    starts: Whole,
    multipliers: Floats,
    delay: float,
    completions: Floats,
    chosen: NDArray[np.int32],
    from_tuple: int,
    idle_counts: bool,
) -> None:
    """Give every tuple, in turn before ``from_tuple``, to the instance with the least load."""
    instances = multipliers.shape[1]
    free, loads, period, turn = np.zeros(instances), np.zeros(instances), 0, 0
    for number in range(len(seconds)):
        while period + 1 < len(starts) and starts[period + 1] <= number:
            period += 1
        if number < from_tuple:
            at, turn = turn, (turn + 1) % instances
        else:
            at = 0
            for other in range(1, instances):
                if loads[other] < loads[at]:
                    at = other
        now = arrivals[number]
        cost = seconds[number] * multipliers[period, at]
        done = max(free[at], now + delay) + cost
        free[at] = done
        loads[at] = done if idle_counts else loads[at] + cost
        completions[number], chosen[number] = done - now, at
