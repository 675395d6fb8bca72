"""What a log tells of one run of a query: its micro-batches in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from itertools import pairwise
from statistics import median

from penstock.drawing.ticks import local
from penstock.errors import ConfigurationError

LEAST_BATCHES = 5
LONGEST_GAP_DAYS = 30
_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class RecordedBatch:
    """One micro-batch as it was logged.

    ``busy_wall_seconds`` is how long the query's own work took of ``seconds``; ``waiting_rows`` is
    None where the source did not tell, ``slots`` where the log does not.
    """

    started_seconds: float
    seconds: float
    rows: int
    busy_wall_seconds: float
    waiting_rows: int | None = None
    slots: int | None = None

    @property
    def ended_seconds(self) -> float:
        """When it was over."""
        return self.started_seconds + self.seconds


@dataclass(frozen=True, slots=True)
class Recording:
    """One run of a query, ``trigger_seconds`` is None where it ran as fast as it could."""

    title: str
    run_id: str
    batches: tuple[RecordedBatch, ...]
    trigger_seconds: float | None = None

    @property
    def started_seconds(self) -> float:
        """When its first batch began."""
        return self.batches[0].started_seconds

    @property
    def ended_seconds(self) -> float:
        """When its last batch was over."""
        return self.batches[-1].ended_seconds

    @property
    def rows(self) -> int:
        """Rows that it processed."""
        return sum(batch.rows for batch in self.batches)

    @property
    def limit_seconds(self) -> float:
        """How long a batch may take before the query counts as behind.

        That is the trigger; without one, twice what a batch usually took.
        """
        if self.trigger_seconds is not None:
            return self.trigger_seconds
        return 2 * median(batch.seconds for batch in self.batches)

    @property
    def behind_seconds(self) -> float:
        """How much time the logged run spent in batches that took too long."""
        limit = self.limit_seconds
        return sum(batch.seconds for batch in self.batches if batch.seconds > limit)


def require_enough(recordings: Sequence[Recording], where: str) -> list[Recording]:
    """Return the runs that are long enough to learn from, or say that there are none."""
    enough = [each for each in recordings if len(each.batches) >= LEAST_BATCHES]
    if not enough:
        longest = max(len(each.batches) for each in recordings)
        raise ConfigurationError(
            f"{where} has too few micro-batches: {longest} in its longest run, and at least "
            f"{LEAST_BATCHES} are needed to tell what rows cost. Log the query for longer."
        )
    return enough


def require_one_time(recording: Recording, where: str) -> None:
    """Refuse a run with a timestamp that can't be: one that is months from its neighbour.

    A query may wait for rows over a holiday, but a clock that was wrong once would make years of
    waiting, which cost more slots than all the rest.
    """
    for before, batch in pairwise(recording.batches):
        days = (batch.started_seconds - before.ended_seconds) / _DAY
        if days > LONGEST_GAP_DAYS:
            raise ConfigurationError(
                f"{where} has {days:,.0f} days between two micro-batches of {recording.title}, "
                f"from {_when(before.started_seconds)} to {_when(batch.started_seconds)}. If one "
                "of the two timestamps is wrong, leave its line out; if both are right, put what "
                "came before and what came after in a file each."
            )


def _when(at_seconds: float) -> str:
    return local(at_seconds, UTC).isoformat(timespec="seconds")
