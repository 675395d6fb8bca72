"""A skyline that grows: rows come in pieces, and only those that nothing dominates are held."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.preference.points import Points
from penstock.preference.skyline import merge, skyline


class GrowingSkyline:
    """The skyline of all points added so far, in memory for that skyline and one piece.

    ``points`` are those that are held and ``positions`` their numbers, counted over all that were
    added. A caller that holds rows beside them filters by what ``add`` returns. Large pieces cost
    less than many small ones: each is compared with all that is held.

    >>> growing = GrowingSkyline(columns=2)
    >>> growing.add(np.array([[2.0, 2.0], [1.0, 3.0], [3.0, 3.0]]))
    (array([], dtype=bool), array([ True,  True, False]))
    >>> growing.add(np.array([[2.0, 1.0]]))
    (array([False,  True]), array([ True]))
    >>> growing.positions.tolist()
    [1, 3]
    """

    def __init__(self, columns: int) -> None:
        self.points: Points = np.empty((0, columns))
        self.positions: NDArray[np.int64] = np.empty(0, np.int64)
        self.added = 0

    def add(self, points: Points) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Add points; return which of those held before are still held, and which of these."""
        best = skyline(points)
        before = self.added
        still_held, is_new = self.add_skyline(points[best])
        new = best[is_new]
        self.positions = np.concatenate([self.positions[: still_held.sum()], before + new])
        self.added = before + len(points)
        held_of_these = np.zeros(len(points), np.bool_)
        held_of_these[new] = True
        return still_held, held_of_these

    def add_skyline(self, points: Points) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Add points of which none dominates another: they are compared with those held alone."""
        if not self.added:
            self.points = self.points.astype(points.dtype)
        still_held, is_new = merge(self.points, points)
        new = np.flatnonzero(is_new)
        self.points = np.concatenate([self.points[still_held], points[new]])
        self.positions = np.concatenate([self.positions[still_held], self.added + new])
        self.added += len(points)
        return still_held, is_new
