"""How busy the slots were since the last decision."""

from __future__ import annotations

from typing import Any


class MeanUtilisation:
    """The mean of what was added since it was last taken.

    >>> mean = MeanUtilisation()
    >>> for utilisation in (0.5, 0.7):
    ...     mean.add(utilisation)
    >>> round(mean.take(), 3), mean.take()
    (0.6, None)
    """

    def __init__(self) -> None:
        self._sum = 0.0
        self._count = 0

    def add(self, utilisation: float | None) -> None:
        """Add the utilisation of a batch, where it is known."""
        if utilisation is not None:
            self._sum += utilisation
            self._count += 1

    def take(self) -> float | None:
        """Return the mean and begin anew; None where nothing was added."""
        mean = self._sum / self._count if self._count else None
        self._sum, self._count = 0.0, 0
        return mean

    def save(self) -> dict[str, Any]:
        """Return the sum so far."""
        return {"sum": self._sum, "count": self._count}

    def load(self, state: dict[str, Any]) -> None:
        """Take up what ``save`` returned."""
        self._sum, self._count = float(state["sum"]), int(state["count"])
