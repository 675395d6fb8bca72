"""Holt's linear method with a trend that fades (Gardner and McKenzie, 1985)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# Smoothing of the level and of the trend, and how much of the trend is left a step later. Without a
# trend it is simple exponential smoothing.
GRID = (
    (0.2, 0.0, 0.9),
    (0.5, 0.0, 0.9),
    (0.3, 0.1, 0.9),
    (0.5, 0.2, 0.95),
    (0.8, 0.2, 0.9),
    (0.8, 0.5, 0.95),
    (0.3, 0.1, 0.98),
)
MEMORY = 0.95


@dataclass(slots=True)
class _Variant:
    alpha: float
    beta: float
    phi: float
    level: float = 0.0
    trend: float = 0.0
    error: float = 0.0

    def ahead(self, steps: float) -> float:
        faded: float = self.phi * (1.0 - self.phi**steps) / (1.0 - self.phi)
        return self.level + self.trend * faded

    def observe(self, rate: float, steps: float) -> None:
        expected = self.ahead(steps)
        self.error = MEMORY * self.error + abs(rate - expected)
        before = self.level
        # After a gap the new sample says more, and the old trend less.
        alpha = 1.0 - (1.0 - self.alpha) ** steps
        beta = 1.0 - (1.0 - self.beta) ** steps
        self.level = expected + alpha * (rate - expected)
        kept = self.trend * self.phi**steps
        self.trend = kept + beta * ((self.level - before) / steps - kept)


class DampedTrend:
    """Follows level and trend with a few settings side by side; the one least off is used.

    >>> trend = DampedTrend()
    >>> for rate in range(100, 200, 2):
    ...     trend.observe(float(rate), steps=1.0)
    >>> 199.0 < trend.ahead(1.0) < trend.ahead(5.0) < 208.0
    True
    """

    def __init__(self) -> None:
        self._variants = [_Variant(*setting) for setting in GRID]
        self._best = self._variants[0]
        self._begun = False

    def observe(self, rate: float, steps: float) -> None:
        """Take in a sample that came ``steps`` usual steps after the one before."""
        if not self._begun:
            self._begun = True
            for variant in self._variants:
                variant.level = rate
            return
        for variant in self._variants:
            variant.observe(rate, steps)
        self._choose()

    def _choose(self) -> None:
        self._best = min(self._variants, key=lambda variant: variant.error)

    def ahead(self, steps: float) -> float:
        """Return the rate expected so many usual steps after the last sample."""
        return self._best.ahead(steps)

    def save(self) -> list[list[float]]:
        """Return all that was learnt, in what JSON knows."""
        followed = self._variants if self._begun else []
        return [[each.level, each.trend, each.error] for each in followed]

    @classmethod
    def saved(cls, state: Sequence[Sequence[float]]) -> DampedTrend:
        """Return one that goes on from what ``save`` returned."""
        trend = cls()
        if state:
            trend._begun = True
            for variant, numbers in zip(trend._variants, state, strict=True):
                variant.level, variant.trend, variant.error = map(float, numbers)
            trend._choose()
        return trend
