"""What a row costs an operator, learnt from its busy time batch by batch."""

from __future__ import annotations

from math import isfinite
from typing import Any

from penstock.elasticity.capacity.drifting import DriftingCosts

# A task's own start is expected to take nothing, give or take this.
START_SECONDS = 0.005
MEMORY = 0.7


class RowCost:
    """Learns what a row takes and what each task takes to begin, from busy times.

    Both are followed at once because a quiet stream would otherwise make rows look dear: ten rows
    that take 20 ms mostly show what beginning takes, and move the cost of a row very little. A cost
    that jumps moves it a little in the first batch that shows it, and all the way in the second.

    >>> cost = RowCost()
    >>> for rows, busy in ((10_000, 1.01), (20_000, 2.01), (10_000, 1.01), (50, 0.016)):
    ...     cost.observe(rows, tasks=2, busy_seconds=busy)
    >>> round(cost.seconds_per_row * 1e6)
    101
    """

    def __init__(self) -> None:
        self._costs: DriftingCosts | None = None
        self._cpu, self._busy = 0.0, 0.0

    @property
    def seconds_per_row(self) -> float:
        """Busy seconds of a row; 0 before any was seen."""
        return self._costs.unit if self._costs else 0.0

    @property
    def start_seconds(self) -> float:
        """Busy seconds that a task takes besides its rows."""
        return self._costs.task if self._costs else 0.0

    @property
    def cpu_share(self) -> float | None:
        """How much of its busy time the operator had a core; None where nobody measures it."""
        return min(1.0, self._cpu / self._busy) if self._busy > 0 else None

    def observe(
        self, rows: int, tasks: int, busy_seconds: float, cpu_seconds: float | None = None
    ) -> None:
        """Take in a batch; one without rows says nothing."""
        if rows <= 0 or not isfinite(busy_seconds) or busy_seconds < 0:
            return
        if cpu_seconds is not None and isfinite(cpu_seconds) and busy_seconds > 0:
            self._cpu = MEMORY * self._cpu + max(0.0, cpu_seconds)
            self._busy = MEMORY * self._busy + busy_seconds
        if self._costs is None:
            each = busy_seconds / rows
            self._costs = DriftingCosts(0.0, each, (START_SECONDS**2, 0.0, each * each))
        else:
            self._costs.observe(max(1, tasks), rows, busy_seconds)

    def save(self) -> dict[str, Any]:
        """Return all that was learnt, in what JSON knows."""
        costs = None if self._costs is None else self._costs.save()
        return {"costs": costs, "cpu": self._cpu, "busy": self._busy}

    @classmethod
    def saved(cls, state: dict[str, Any]) -> RowCost:
        """Return one that goes on from what ``save`` returned."""
        cost = cls()
        if state["costs"] is not None:
            cost._costs = DriftingCosts(0.0, 0.0, (0.0, 0.0, 0.0))
            cost._costs.load(state["costs"])
        cost._cpu, cost._busy = float(state["cpu"]), float(state["busy"])
        return cost
