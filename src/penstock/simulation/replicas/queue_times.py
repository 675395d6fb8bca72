"""How many rows wait, on average over every step of time, exactly."""

from __future__ import annotations

import numpy as np

from penstock.simulation.replicas.arrays import Floats
from penstock.simulation.replicas.settling import mark_all


class QueueTimes:
    """Is told when rows begin and cease to wait.

    >>> times = QueueTimes(steps=2, step_seconds=1.0)
    >>> times.came(np.array([0.25, 0.5]))
    >>> times.left(np.array([0.75]))
    >>> times.means().tolist()
    [1.0, 1.0]
    """

    def __init__(self, steps: int, step_seconds: float) -> None:
        self.step_seconds = float(step_seconds)
        self._came, self._came_share = np.zeros(steps), np.zeros(steps)
        self.left_count, self.left_share = np.zeros(steps), np.zeros(steps)

    def came(self, at: Floats) -> None:
        """Count rows that begin to wait; those that are served at once cease at the same time."""
        mark_all(at, 1.0, 0.0, self.step_seconds, self._came, self._came_share)

    def left(self, at: Floats) -> None:
        """Count rows that cease to wait."""
        mark_all(at, 1.0, 0.0, self.step_seconds, self.left_count, self.left_share)

    def means(self) -> Floats:
        """Return the mean number of rows that waited in each step."""
        change = self._came - self.left_count
        before = np.cumsum(change) - change
        return np.asarray(before + self._came_share - self.left_share)
