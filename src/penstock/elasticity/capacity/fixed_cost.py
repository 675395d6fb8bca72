"""What a batch costs however few rows it has, and what each of its tasks adds."""

from __future__ import annotations

from math import isfinite
from typing import Any

from penstock.elasticity.capacity.drifting import DriftingCosts

# What is believed until batches tell, and how surely.
BATCH_SECONDS, TASK_SECONDS = 0.15, 0.005
BATCH_SPREAD, TASK_SPREAD = 0.3, 0.005
# Machines don't change as data do.
DRIFT_SHARE, TASK_DRIFT = 0.03, 0.00003


class FixedCost:
    """Learns what a batch takes besides its work: so much, and so much more for each task.

    That is its length without the slowest tasks of its stages. With always as many tasks the two
    can't be told apart; then what was known of the tasks before is kept.

    >>> fixed = FixedCost()
    >>> for tasks in (4, 16, 8, 32) * 5:
    ...     fixed.observe(tasks, overhead_seconds=0.3 + 0.01 * tasks)
    >>> round(fixed.batch_seconds, 2), round(fixed.task_seconds, 3)
    (0.3, 0.01)
    """

    def __init__(self) -> None:
        self._costs = DriftingCosts(
            TASK_SECONDS,
            BATCH_SECONDS,
            (TASK_SPREAD**2, 0.0, BATCH_SPREAD**2),
            task_drift=TASK_DRIFT,
            drift_share=DRIFT_SHARE,
        )

    @property
    def batch_seconds(self) -> float:
        """What a batch takes however few rows and tasks it has."""
        return self._costs.unit

    @property
    def task_seconds(self) -> float:
        """What each task adds to it."""
        return self._costs.task

    def observe(self, tasks: int, overhead_seconds: float) -> None:
        """Take in what a batch with so many tasks took beyond its work."""
        if isfinite(overhead_seconds):
            self._costs.observe(tasks, 1.0, max(0.0, overhead_seconds))

    def save(self) -> list[float]:
        """Return all that was learnt, in what JSON knows."""
        return self._costs.save()

    @classmethod
    def saved(cls, state: Any) -> FixedCost:
        """Return one that goes on from what ``save`` returned."""
        cost = cls()
        cost._costs.load(state)
        return cost
