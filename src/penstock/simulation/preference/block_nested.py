"""Block-nested loops, the algorithm of Elastic-PPQ, with its comparisons counted.

Comparisons are the same on every machine; how long one takes is for the caller to say.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.compiling import compiled

Points = NDArray[np.float64]


@compiled
def _compare(one: Points, other: Points) -> int:
    """Return 1 where one dominates, -1 where the other does, and 0 where neither does."""
    better = worse = False
    for column in range(one.size):
        if one[column] < other[column]:
            better = True
        elif one[column] > other[column]:
            worse = True
        if better and worse:
            return 0
    return 1 if better else -1 if worse else 0


@compiled
def insert(window: Points, size: int, points: Points) -> tuple[int, int]:
    """Insert points one by one into the skyline in the first ``size`` rows of ``window``.

    Returns how many rows the skyline has then, and how many pairs were compared.
    """
    compared = 0
    for number in range(len(points)):
        point = points[number]
        kept = 0
        dominated = False
        for row in range(size):
            compared += 1
            found = _compare(window[row], point)
            if found > 0:  # nothing before it was dominated by the point, so all rows are in place
                dominated = True
                break
            if found == 0:
                if kept < row:
                    window[kept] = window[row]
                kept += 1
        if not dominated:
            window[kept] = point
            size = kept + 1
    return size, compared
