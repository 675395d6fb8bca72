"""What PSPS and DABS reached, and what no policy can in micro-batches: the frontier's bound."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan

from penstock.reproduction import psps_tables

MOST_SLOTS = 32
"""PSPS compares with 8 replicas of each of its 4 operators."""


@dataclass(frozen=True, slots=True)
class Four:
    """The four metrics of PSPS: three shares, and the mean latency.

    ``degradation`` is by the second, as in all other tables.
    """

    saved: float
    degradation: float
    processed: float
    latency_seconds: float

    def beats(self, other: Four) -> bool:
        """Whether it is better in all four at once."""
        return (
            self.saved > other.saved
            and self.degradation < other.degradation
            and self.processed > other.processed
            and self.latency_seconds < other.latency_seconds
        )


def _printed(of_paper: tuple[float, float, float, float]) -> Four:
    saved, degradation, processed, latency_millis = of_paper
    return Four(saved, degradation, processed, latency_millis / 1_000)


PSPS, DABS = _printed(psps_tables.PSPS), _printed(psps_tables.DABS)
WANTED = Four(PSPS.saved, PSPS.degradation, PSPS.processed, DABS.latency_seconds)
"""The better of both in each metric."""


def fixed_cost_needed(mean_slots: float, wanted: Four) -> float:
    """Return the fixed cost of a batch above which no policy has both latency and savings.

    Rows that arrive evenly while a batch runs are done at the end of the next: on average one and
    a half batches later. In a batch of T seconds slots work for T less the fixed cost F, so that
    slots that just keep up are busy slots x T / (T - F).

    >>> round(fixed_cost_needed(12.05, WANTED), 3)
    0.131
    """
    longest = wanted.latency_seconds / 1.5
    return longest * (1.0 - mean_slots / (MOST_SLOTS * (1.0 - wanted.saved)))


def bound(fixed_seconds: float, mean_slots: float, latency_seconds: float) -> float:
    """Return the most that can be saved at a mean latency; NaN where a batch is not that short."""
    batch = latency_seconds / 1.5
    if batch <= fixed_seconds:
        return nan
    saved = 1.0 - mean_slots / MOST_SLOTS * batch / (batch - fixed_seconds)
    return saved if saved > 0 else nan
