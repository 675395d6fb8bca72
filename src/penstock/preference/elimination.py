"""A first look at all points: what each is worth, and which are plainly dominated.

A few good points dominate most of a large set where the columns agree (correlated data) or are few.
They are found in a sample, and one pass drops what they dominate, at about the cost of reading it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.compiling import compiled, inlined
from penstock.preference.points import Points

_SAMPLE, _PIVOTS = 64, 8
_TRIAL = 256
_LIMIT = 1e300  # keeps sums finite: infinity less infinity would be no number


@dataclass(frozen=True, slots=True)
class Candidates:
    """Points that may be in the skyline.

    ``scores`` never fall from a point to one that it dominates; they may be equal.
    """

    positions: NDArray[np.int64]
    scores: NDArray[np.float64]


def candidates(points: Points) -> Candidates:
    """Return all points but those that one of a few good points dominates."""
    rows = len(points)
    positions, scores = np.empty(rows, np.int64), np.empty(rows, np.float64)
    weights = _weights(points)
    pivots = points[_best(points, weights)]
    size = _candidates(points, weights, pivots, positions, scores)
    return Candidates(positions[:size], scores[:size])


def all_candidates(points: Points) -> Candidates:
    """Return all points, with their scores."""
    weights = _weights(points)
    return Candidates(np.arange(len(points)), _scores(points, weights))


@compiled
def _scores(points: Points, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    scored = np.empty(points.shape[0])
    for row in range(scored.size):
        scored[row] = _score(points, row, weights)
    return scored


@compiled
def _weights(points: Points) -> NDArray[np.float64]:
    """Weigh columns so that the middle half of each spans the same, in a sample."""
    rows, columns = points.shape
    size = min(rows, _SAMPLE)
    step = rows // size
    weights = np.ones(columns)
    values = np.empty(size)
    for column in range(columns):
        for place in range(size):
            value = min(max(float(points[place * step, column]), -_LIMIT), _LIMIT)
            hole = place
            while hole > 0 and values[hole - 1] > value:
                values[hole] = values[hole - 1]
                hole -= 1
            values[hole] = value
        span = values[size - 1 - size // 4] - values[size // 4]
        if span <= 0:
            span = values[size - 1] - values[0]
        if 1 / _LIMIT < span < _LIMIT:
            weights[column] = 1 / span
    return weights


@inlined
def _score(points: Points, row: int, weights: NDArray[np.float64]) -> float:
    # Products and sums of floats are rounded, but never so that a larger one becomes smaller.
    score = 0.0
    for column in range(weights.size):
        score += min(max(points[row, column] * weights[column], -_LIMIT), _LIMIT)
    return score


@compiled
def _best(points: Points, weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return where the points are of a larger sample with the lowest scores, the lowest first."""
    rows = points.shape[0]
    size = min(rows, 4 * _SAMPLE, max(_PIVOTS, rows // 8))
    step = rows // size
    count = min(_PIVOTS, size)
    scores = np.full(count, np.inf)
    places = np.zeros(count, np.int64)
    for place in range(size):
        row = place * step
        score = _score(points, row, weights)
        if score >= scores[count - 1]:
            continue
        hole = count - 1
        while hole > 0 and scores[hole - 1] > score:
            scores[hole], places[hole] = scores[hole - 1], places[hole - 1]
            hole -= 1
        scores[hole], places[hole] = score, row
    return places


@compiled
def _candidates(
    points: Points,
    weights: NDArray[np.float64],
    pivots: Points,
    positions: NDArray[np.int64],
    scores: NDArray[np.float64],
) -> int:
    rows, columns = points.shape
    last = pivots.shape[0] - 1
    best = np.inf
    size = 0
    tried = last + 1
    for row in range(rows):
        if row == _TRIAL and size > _TRIAL * 7 // 8:
            tried = 1  # where so few are dominated, more tests cost more than they save
        beaten = False
        for pivot in range(tried):
            not_worse, better = True, False
            for column in range(columns):
                if pivots[pivot, column] > points[row, column]:
                    not_worse = False
                    break
                better |= pivots[pivot, column] < points[row, column]
            if not_worse and better:
                beaten = True
                if pivot > 0:  # those that dominate much come to be tried first
                    for column in range(columns):
                        moved = pivots[pivot, column]
                        pivots[pivot, column] = pivots[pivot - 1, column]
                        pivots[pivot - 1, column] = moved
                break
        if beaten:
            continue
        score = _score(points, row, weights)
        if score < best:
            best = score
            for column in range(columns):
                pivots[last, column] = points[row, column]
        positions[size] = row
        scores[size] = score
        size += 1
    return size
