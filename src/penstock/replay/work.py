"""What rows and batches cost, learnt from a log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from penstock.replay.line import median_slope
from penstock.replay.recording import RecordedBatch, Recording

# No micro-batch of Spark is quicker, unless the log has one.
QUICKEST_BATCH_SECONDS = 0.1
_SHORTEST_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class Work:
    """A micro-batch takes ``fixed_seconds`` and, on one slot, so many seconds for each row.

    ``error`` is how far the logged batches were from that: the median, as a share.

    >>> Work(fixed_seconds=0.5, slot_seconds_per_row=0.01).batch_seconds(rows=300, slots=2)
    2.0
    """

    fixed_seconds: float
    slot_seconds_per_row: float
    error: float = 0.0

    def batch_seconds(self, rows: int, slots: int) -> float:
        """Return how long a micro-batch takes."""
        return self.fixed_seconds + rows * self.slot_seconds_per_row / slots


def work_of(recording: Recording, slots_then: int) -> Work:
    """Fit what rows and batches cost; ``slots_then`` is for batches that don't say their slots.

    The line through the batches is that of the median slope, so that a few wild batches (the first
    of a run, a pause of the JVM) do not bend it. Where all batches were about equally large, no
    line tells the fixed part from the rest: then it is what Spark took besides the query's work.
    """
    # The first batch of a run also loads classes, plans and state.
    batches = [batch for batch in recording.batches[1:] if batch.rows > 0]
    batches = batches or [batch for batch in recording.batches if batch.rows > 0]
    if not batches:
        fixed = median(batch.seconds for batch in recording.batches)
        return Work(max(_SHORTEST_SECONDS, fixed), 0.0)
    loads = [batch.rows / (batch.slots or slots_then) for batch in batches]
    took = [batch.seconds for batch in batches]
    fixed, per_row = _line(loads, took, batches)
    floor = max(_SHORTEST_SECONDS, min(QUICKEST_BATCH_SECONDS, *took))
    if fixed < floor:
        fixed = floor
        per_row = max(0.0, median((y - floor) / x for x, y in zip(loads, took, strict=True)))
    found = [abs(fixed + per_row * x - y) / y for x, y in zip(loads, took, strict=True) if y > 0]
    return Work(fixed, per_row, median(found) if found else 0.0)


def _line(
    loads: Sequence[float], took: Sequence[float], batches: Sequence[RecordedBatch]
) -> tuple[float, float]:
    """Return the fixed part and the slope: the median of the slopes of all pairs (Theil, Sen)."""
    slope = median_slope(loads, took)
    if slope is not None:
        slope = max(0.0, slope)
        return median(y - slope * x for x, y in zip(loads, took, strict=True)), slope
    fixed = median(max(0.0, batch.seconds - batch.busy_wall_seconds) for batch in batches)
    return fixed, median(max(0.0, y - fixed) / x for x, y in zip(loads, took, strict=True))
