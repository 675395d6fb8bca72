"""The past of a rate in equal buckets, as long as there is room for."""

from __future__ import annotations

from math import floor
from typing import Any

import numpy as np

from penstock.elasticity.forecast.curve import Floats

# Two days in buckets of under ten minutes; a checkpoint holds it as a few kB of text.
MOST_BUCKETS = 384


class History:
    """Mean rates of equally long buckets of time; None where there was no sample.

    When all buckets are full, pairs of them are joined, so that ever longer periods can be seen,
    unless ``longest_seconds`` says that buckets must not get longer: then the oldest are forgotten.

    >>> history = History(width_seconds=10.0)
    >>> for second in range(40):
    ...     _ = history.add(float(second), 100.0 + second)
    >>> history.rate_at(12.0), history.rate_at(15.0)
    (111.5, 114.5)
    """

    def __init__(self, width_seconds: float) -> None:
        self.width_seconds = width_seconds
        self.start_seconds = 0.0
        self.rates: list[float | None] = []
        self._sum, self._count = 0.0, 0

    def add(self, at_seconds: float, rate: float, longest_seconds: float | None = None) -> bool:
        """Take in a sample, later than all before; True when it began a new bucket."""
        if not self.rates:
            self.start_seconds = floor(at_seconds / self.width_seconds) * self.width_seconds
        place = int((at_seconds - self.start_seconds) / self.width_seconds)
        new = place >= len(self.rates)
        if new:
            self._sum, self._count = 0.0, 0
            missed = place - len(self.rates)
            if missed >= MOST_BUCKETS:
                self.start_seconds += place * self.width_seconds
                self.rates, missed = [], 0
            self.rates += [None] * (missed + 1)
        self._sum, self._count = self._sum + rate, self._count + 1
        self.rates[-1] = float(f"{self._sum / self._count:.4g}")
        if len(self.rates) > MOST_BUCKETS:
            self._make_room(longest_seconds)
        return new

    def _make_room(self, longest_seconds: float | None) -> None:
        if longest_seconds is not None and 2 * self.width_seconds > longest_seconds:
            surplus = len(self.rates) - MOST_BUCKETS
            del self.rates[:surplus]
            self.start_seconds += surplus * self.width_seconds
            return
        pairs = zip(
            self.rates[::2], [*self.rates[1::2], None][: (len(self.rates) + 1) // 2], strict=True
        )
        self.rates = [_mean(one, other) for one, other in pairs]
        self.width_seconds *= 2
        self._sum, self._count = self.rates[-1] or 0.0, 1

    def rate_at(self, at_seconds: float) -> float | None:
        """Return the rate at a past time, between the middles of the buckets around it."""
        place = (at_seconds - self.start_seconds) / self.width_seconds - 0.5
        before = floor(place)
        one, other = self._bucket(before), self._bucket(before + 1)
        if one is None or other is None:
            return one if other is None else other
        return one + (place - before) * (other - one)

    def _bucket(self, place: int) -> float | None:
        return self.rates[place] if 0 <= place < len(self.rates) else None

    def filled(self) -> Floats:
        """Return all buckets as numbers, with the mean where there was no sample."""
        known = [rate for rate in self.rates if rate is not None]
        mean = sum(known) / len(known) if known else 0.0
        return np.array([mean if rate is None else rate for rate in self.rates])

    def save(self) -> dict[str, Any]:
        """Return all that is kept, in what JSON knows."""
        return {
            "width": self.width_seconds,
            "start": self.start_seconds,
            "rates": list(self.rates),
            "sum": self._sum,
            "count": self._count,
        }

    @classmethod
    def saved(cls, state: dict[str, Any]) -> History:
        """Return one that goes on from what ``save`` returned."""
        history = cls(float(state["width"]))
        history.start_seconds = float(state["start"])
        history.rates = [None if rate is None else float(rate) for rate in state["rates"]]
        history._sum, history._count = float(state["sum"]), int(state["count"])
        return history


def _mean(one: float | None, other: float | None) -> float | None:
    if one is None or other is None:
        return one if other is None else other
    return (one + other) / 2
