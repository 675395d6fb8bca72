"""How many slots it takes to have every row done in time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

MOST_COHORTS = 256


@dataclass(frozen=True, slots=True)
class Cohort:
    """Rows that came at about the same time, and wait."""

    arrived_seconds: float
    rows: float


class WaitingRows:
    """Which rows wait, and since when: the last that came, as sources are read in order.

    >>> waiting = WaitingRows()
    >>> for second in range(5):
    ...     waiting.arrived(float(second), rows=100.0)
    >>> waiting.left(250.0)
    >>> [(each.arrived_seconds, each.rows) for each in waiting.cohorts]
    [(2.0, 50.0), (3.0, 100.0), (4.0, 100.0)]
    """

    def __init__(self) -> None:
        self.cohorts: list[Cohort] = []

    def arrived(self, now_seconds: float, rows: float) -> None:
        """Add rows that came."""
        if rows > 0:
            self.cohorts.append(Cohort(now_seconds, rows))

    def left(self, rows: float) -> None:
        """Keep the newest ``rows`` of them; the others are done."""
        kept: list[Cohort] = []
        for cohort in reversed(self.cohorts):
            if rows <= 0 or len(kept) == MOST_COHORTS:
                break
            kept.append(Cohort(cohort.arrived_seconds, min(cohort.rows, rows)))
            rows -= cohort.rows
        if kept and rows > 0:  # more than came: they have waited at least as long as the oldest
            kept[-1] = Cohort(kept[-1].arrived_seconds, kept[-1].rows + rows)
        self.cohorts = kept[::-1]

    def save(self) -> dict[str, Any]:
        """Return the rows that wait."""
        return {"cohorts": [[each.arrived_seconds, each.rows] for each in self.cohorts]}

    def load(self, state: dict[str, Any]) -> None:
        """Take up what ``save`` returned."""
        self.cohorts = [Cohort(float(at), float(rows)) for at, rows in state["cohorts"]]


def slots_in_time(
    waiting: Iterable[Cohort],
    arriving_slots: float,
    *,
    seconds_per_row: float,
    now_seconds: float,
    max_latency_seconds: float,
    batch_interval_seconds: float,
    fixed_seconds: float = 0.0,
) -> float:
    """Return the slots with which all rows, those that wait and those to come, are done in time.

    Rows are done in the order they came. Those up to a cohort are done in time if their work fits
    between now and the cohort's due time, less a batch interval (rows wait for their batch to
    begin, and are out when it ends) and the fixed cost of a batch. What comes later
    (``arriving_slots``, the slots it keeps busy) must be kept up with too. A cohort that can't
    make it any more is to be done within the next batch.

    >>> old = [Cohort(0.0, rows=1_000.0), Cohort(10.0, rows=1_000.0)]
    >>> slots_in_time(old, 1.0, seconds_per_row=0.05, now_seconds=10.0, max_latency_seconds=30.0,
    ...               batch_interval_seconds=5.0)
    4.0
    """
    shortest = max(batch_interval_seconds - fixed_seconds, 0.1 * batch_interval_seconds, 1e-3)
    reserve = batch_interval_seconds + fixed_seconds
    most, work = arriving_slots, 0.0
    for cohort in sorted(waiting, key=lambda each: each.arrived_seconds):
        work += cohort.rows * seconds_per_row
        due = cohort.arrived_seconds + max_latency_seconds - reserve
        most = max(most, work / max(due - now_seconds, shortest))
    return most
