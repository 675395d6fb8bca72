"""POSG's matrices F and W in loops, for kernels."""

from __future__ import annotations

import numpy as np

from penstock.compiling import compiled
from penstock.simulation.operator.posg_state import Floats
from penstock.simulation.operator.summing import pairwise_sum

# Loops instead of array expressions: Numba compiles them in a tenth of the time.


@compiled
def move(source: Floats, target: Floats) -> None:
    """Add matrices to others, and leave nothing behind."""
    for row in range(source.shape[0]):
        for column in range(source.shape[1]):
            target[row, column] += source[row, column]
            source[row, column] = 0.0


@compiled
def clear(target: Floats) -> None:
    """Make all cells 0."""
    for row in range(target.shape[0]):
        for column in range(target.shape[1]):
            target[row, column] = 0.0


@compiled
def add(source: Floats, target: Floats) -> None:
    """Add matrices to others."""
    for row in range(source.shape[0]):
        for column in range(source.shape[1]):
            target[row, column] += source[row, column]


@compiled
def fill_ratios(counts: Floats, costs: Floats, ratios: Floats) -> None:
    """Divide costs by counts, with 0 where nothing was counted."""
    for row in range(counts.shape[0]):
        for column in range(counts.shape[1]):
            some = counts[row, column] > 0
            ratios[row, column] = costs[row, column] / counts[row, column] if some else 0.0


@compiled
def distance(before: Floats, now: Floats) -> float:
    """Return how far ratios are from earlier ones, as ``CostSketch.distance`` does (equation 1)."""
    rows, columns = before.shape
    moves, wholes = np.empty(rows * columns), np.empty(rows * columns)
    for row in range(rows):
        for column in range(columns):
            at = row * columns + column
            wholes[at] = before[row, column]
            moves[at] = abs(before[row, column] - now[row, column])
    moved, whole = pairwise_sum(moves), pairwise_sum(wholes)
    if whole != 0.0:
        return moved / whole
    return np.inf if moved != 0.0 else 0.0
