"""What a whole run adds up to, counted batch by batch: thinned rows would not tell it exactly."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isnan, nan


@dataclass(slots=True)
class RunTotals:
    """Sums and extremes over all batches of a run.

    ``timed_batches`` had a trigger and a time that is known, ``behind_batches`` of them took longer
    than their trigger. ``row_seconds`` is how long the rows waited together, of all
    ``followed_rows``, whose latency is known.

    >>> totals = RunTotals()
    >>> totals.add(seconds=1.3, trigger_seconds=1.0, rows=10, latency_seconds=2.0, used_slots=3)
    True
    >>> totals.add(seconds=0.6, trigger_seconds=1.0, rows=30, latency_seconds=1.0, used_slots=2)
    False
    >>> totals.behind, totals.mean_latency_seconds, totals.fewest_slots, totals.most_slots
    (0.5, 1.25, 2, 3)
    """

    timed_batches: int = 0
    behind_batches: int = 0
    followed_rows: int = 0
    row_seconds: float = 0.0
    longest_latency_seconds: float = nan
    fewest_slots: float = inf
    most_slots: float = -inf

    def add(
        self,
        seconds: float,
        trigger_seconds: float,
        rows: int,
        latency_seconds: float,
        used_slots: int,
    ) -> bool:
        """Count a batch, and say whether it took longer than its trigger; NaN is not known."""
        self.fewest_slots = min(self.fewest_slots, used_slots)
        self.most_slots = max(self.most_slots, used_slots)
        if rows and not isnan(latency_seconds):
            self.followed_rows += rows
            self.row_seconds += rows * latency_seconds
            if not latency_seconds <= self.longest_latency_seconds:
                self.longest_latency_seconds = latency_seconds
        if not trigger_seconds > 0 or isnan(seconds):
            return False
        self.timed_batches += 1
        is_behind = seconds > trigger_seconds
        self.behind_batches += is_behind
        return is_behind

    @property
    def behind(self) -> float | None:
        """The share of batches that took longer than their trigger; None where none had one."""
        return self.behind_batches / self.timed_batches if self.timed_batches else None

    @property
    def mean_latency_seconds(self) -> float | None:
        """How long a row waited on average; None where nobody knows."""
        return self.row_seconds / self.followed_rows if self.followed_rows else None
