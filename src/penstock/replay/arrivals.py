"""When rows arrived, rebuilt from the micro-batches that took them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from penstock.replay.recording import Recording

# Between two batches there is always a little time; more than this was waiting.
_PAUSE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of which one arrived after the other, evenly, between two times."""

    since_seconds: float
    until_seconds: float
    rows: float


@dataclass(frozen=True, slots=True)
class Arrivals:
    """How many rows had arrived by each time; even between two ``times_seconds``.

    Two equal times make a jump: rows that arrived all at once.

    >>> steady = Arrivals((0.0, 10.0), (0, 100))
    >>> steady.until(2.5), steady.when(50), list(steady.pieces(20, 40))
    (25, 5.0, [Piece(since_seconds=2.0, until_seconds=4.0, rows=20)])
    """

    times_seconds: tuple[float, ...]
    totals: tuple[int, ...]

    @property
    def rows(self) -> int:
        """All rows that ever arrived."""
        return self.totals[-1]

    def until(self, at_seconds: float) -> int:
        """Return how many rows had arrived, that moment included."""
        after = bisect_right(self.times_seconds, at_seconds)
        if after == 0:
            return 0
        if after == len(self.times_seconds):
            return self.totals[-1]
        since, to = self.times_seconds[after - 1], self.times_seconds[after]
        first, last = self.totals[after - 1], self.totals[after]
        even = first + int((last - first) * (at_seconds - since) / (to - since) + 1e-9)
        return min(last, even)

    def when(self, row: int) -> float:
        """Return when the row with this number, counted from 1, had arrived."""
        after = bisect_left(self.totals, row)
        if after == 0:
            return self.times_seconds[0]
        return self._even(after, row)

    def pieces(self, first: int, last: int) -> Iterator[Piece]:
        """Say when the rows after the ``first`` up to the ``last`` arrived."""
        after = bisect_right(self.totals, first)
        while first < last:
            taken = min(last, self.totals[after])
            since = self._even(after, first) if after else self.times_seconds[0]
            until = self._even(after, taken) if after else self.times_seconds[0]
            yield Piece(since, until, taken - first)
            first, after = taken, after + 1

    def _even(self, after: int, row: int) -> float:
        """Return when a row arrived that came between the knots before and at ``after``."""
        since, to = self.times_seconds[after - 1], self.times_seconds[after]
        first, last = self.totals[after - 1], self.totals[after]
        return since if last == first else since + (to - since) * (row - first) / (last - first)


def arrivals_of(recording: Recording) -> Arrivals:
    """Rebuild when rows arrived.

    A batch takes what arrived since the batch before it began, less what it leaves behind. Where
    the query had nothing to do for a while, its next rows came only when it began again: within
    the last trigger, or at that moment.
    """
    first = recording.batches[0]
    times, totals = [first.started_seconds], [first.rows + (first.waiting_rows or 0)]
    for before, batch in pairwise(recording.batches):
        left = 0
        if batch.waiting_rows is not None and before.waiting_rows is not None:
            left = batch.waiting_rows - before.waiting_rows
        start = max(batch.started_seconds, times[-1])
        since = times[-1]
        if start - before.ended_seconds > _PAUSE_SECONDS:
            since = max(since, start - (recording.trigger_seconds or 0.0))
        if since > times[-1]:
            times.append(since)
            totals.append(totals[-1])
        times.append(start)
        totals.append(totals[-1] + max(0, batch.rows + left))
    return Arrivals(tuple(times), tuple(totals))
