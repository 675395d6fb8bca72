"""Notices at once when what comes departs from what a model expects (Page, 1954)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# In usual errors: what is let pass of each, the most that one may count, the sum that is too much,
# and the most it is let grow, so that a model comes back soon after its errors are usual again.
LET_PASS, AT_MOST, TOO_MUCH, REMEMBERED = 0.75, 4.0, 5.0, 8.0
NONE = (0.0, 0.0)


class Departures:
    """Adds up each model's errors to either side, a little let pass each time.

    Errors to both sides cancel out, a run of them to one side does not. So a model that was best
    for an hour is dropped a few samples after a ramp begins, long before its mean error shows it.

    >>> departures = Departures()
    >>> for rate in (101.0, 99.0, 100.0, 110.0, 120.0, 130.0):
    ...     expected = {"logarithmic": 100.0, "linear": rate - 1}
    ...     departures.observe(expected, rate, usual={"logarithmic": 2.0, "linear": 2.0})
    >>> departures.has_departed("logarithmic"), departures.has_departed("linear")
    (True, False)
    """

    def __init__(self) -> None:
        self._sums: dict[str, tuple[float, float]] = {}

    def observe(
        self, expected: Mapping[str, float], actual: float, usual: Mapping[str, float]
    ) -> None:
        """Take in what came, with the ``usual`` error of every model that has one."""
        smallest = 1e-9 * (1.0 + abs(actual))
        for model, error in usual.items():
            if model in expected:
                off = (actual - expected[model]) / (error if error > smallest else smallest)
                above, below = self._sums.get(model, NONE)
                self._sums[model] = (_added(above, off), _added(below, -off))

    def has_departed(self, model: str) -> bool:
        """Say whether what came lately was all above or all below what the model expected."""
        return max(self._sums.get(model, NONE)) > TOO_MUCH

    def save(self) -> dict[str, list[float]]:
        """Return all that was added up, in what JSON knows."""
        return {model: list(each) for model, each in self._sums.items()}

    @classmethod
    def saved(cls, state: Mapping[str, Any]) -> Departures:
        """Return one that goes on from what ``save`` returned."""
        departures = cls()
        for model, (above, below) in state.items():
            departures._sums[str(model)] = (float(above), float(below))
        return departures


def _added(so_far: float, off: float) -> float:
    # Comparisons instead of min and max: this runs a dozen times a sample.
    total = so_far + (off if off < AT_MOST else AT_MOST) - LET_PASS
    if total <= 0.0:
        return 0.0
    return total if total < REMEMBERED else REMEMBERED
