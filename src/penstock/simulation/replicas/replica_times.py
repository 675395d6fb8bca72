"""How many replicas there were, over time."""

from __future__ import annotations

import numpy as np

from penstock.simulation.replicas.arrays import Floats


class ReplicaTimes:
    """Is told when a number of replicas changes.

    >>> times = ReplicaTimes(2)
    >>> times.changed(1.5, 4)
    >>> times.means(steps=3, step_seconds=1.0).tolist()
    [2.0, 3.0, 4.0]
    """

    def __init__(self, replicas: int) -> None:
        self._at, self._replicas = [0.0], [replicas]

    def changed(self, at_seconds: float, replicas: int) -> None:
        """Take note that there are so many from now on."""
        self._at.append(at_seconds)
        self._replicas.append(replicas)

    def until(self, at_seconds: Floats) -> Floats:
        """Return the replica seconds from the start until each of these times."""
        at = np.array([*self._at, max(at_seconds[-1], self._at[-1]) + 1.0])
        used = np.concatenate(([0.0], np.cumsum(np.diff(at) * self._replicas)))
        return np.interp(at_seconds, at, used)

    def means(self, steps: int, step_seconds: float) -> Floats:
        """Return the mean over each step of time."""
        edges = np.arange(steps + 1, dtype=np.float64) * step_seconds
        return np.asarray(np.diff(self.until(edges)) / step_seconds)
