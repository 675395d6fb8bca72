"""Skylines of few points, many of them in one call: sorted by a score, compared one by one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.compiling import compiled
from penstock.preference.points import Points
from penstock.preference.words import dominates

FEW = 256
"""With more points than this, it pays to pack them into words."""


@compiled
def mark_small(
    points: Points, starts: NDArray[np.int64], ends: NDArray[np.int64], kept: NDArray[np.bool_]
) -> None:
    """Mark the skyline of each segment of at most ``FEW`` points; leave other segments alone."""
    columns = points.shape[1]
    scores = np.empty(FEW)
    order = np.empty(FEW, np.int64)
    for segment in range(starts.size):
        start, size = starts[segment], ends[segment] - starts[segment]
        if size > FEW:
            continue
        for place in range(size):
            score = 0.0
            for column in range(columns):
                score += min(max(float(points[start + place, column]), -1e300), 1e300)
            # Equal scores stand in any order, so what has one is compared both ways below.
            hole = place
            while hole > 0 and scores[hole - 1] > score:
                scores[hole], order[hole] = scores[hole - 1], order[hole - 1]
                hole -= 1
            scores[hole], order[hole] = score, start + place
        found = 0
        for place in range(size):
            row = order[place]
            score = scores[place]
            beaten = False
            # Those that stay move to the front of the same arrays.
            for rank in range(found):
                if dominates(points, order[rank], row):
                    beaten = True
                    break
            if beaten:
                continue
            rank = found - 1
            while rank >= 0 and scores[rank] == score:
                if dominates(points, row, order[rank]):
                    kept[order[rank]] = False
                rank -= 1
            order[found], scores[found] = row, score
            found += 1
            kept[row] = True
