"""How long rows took from their arrival to their commit, from what is known of micro-batches."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.elasticity.observation import Observation
from penstock.metrics.tally import Distribution

# Between two batches there is always a little time; more than this was waiting for rows.
_PAUSE_SECONDS = 0.1
_MOST_PIECES = 1_000


@dataclass(slots=True)
class _Arrived:
    """Rows that came evenly between two times and wait, the oldest first."""

    since_seconds: float
    until_seconds: float
    rows: int


class RowLatency:
    """Says of each micro-batch when its rows arrived: first come, first served.

    A batch takes what arrived since the batch before it began, less what it leaves behind. Where
    the query had nothing to do for a while, its next rows came within the last trigger.

    >>> latency, seconds = RowLatency(), Distribution((1.0, 2.0, 3.0))
    >>> for at in (10.0, 12.0):
    ...     latency.add(Observation(0, at + 0.5, 0.5, 2.0, slots=1), rows=100, into=seconds)
    >>> seconds.counts  # all at once, then evenly within the two seconds before
    [125, 50, 25, 0]
    """

    def __init__(self) -> None:
        self._waiting: deque[_Arrived] = deque()
        self._began_seconds: float | None = None
        self._ended_seconds = 0.0

    def add(self, seen: Observation, rows: int, into: Distribution) -> None:
        """Count the ``rows`` that a micro-batch took."""
        began, ended = seen.started_seconds, seen.at_seconds
        came = rows + max(0, seen.waiting_rows or 0) - sum(each.rows for each in self._waiting)
        if came > 0:
            self._waiting.append(_Arrived(self._since(seen), began, came))
        # Rows that are neither taken nor wait any more were shed, and never committed.
        for _ in self._take(-came):
            pass
        for piece in self._take(rows):
            least, most = ended - piece.until_seconds, ended - piece.since_seconds
            into.spread(max(0.0, least), max(0.0, most), piece.rows)
        self._shorten()
        self._began_seconds, self._ended_seconds = began, ended

    def _take(self, rows: int) -> Iterator[_Arrived]:
        """Take so many rows, the oldest first."""
        while rows > 0 and self._waiting:
            oldest = self._waiting[0]
            taken = min(rows, oldest.rows)
            span = oldest.until_seconds - oldest.since_seconds
            until = oldest.since_seconds + span * taken / oldest.rows
            yield _Arrived(oldest.since_seconds, until, taken)
            oldest.since_seconds, oldest.rows = until, oldest.rows - taken
            rows -= taken
            if not oldest.rows:
                self._waiting.popleft()

    def _since(self, seen: Observation) -> float:
        began = seen.started_seconds
        if self._began_seconds is None or self._began_seconds > began:
            return began
        if began - self._ended_seconds > _PAUSE_SECONDS:
            return max(self._began_seconds, began - (seen.trigger_seconds or 0.0))
        return self._began_seconds

    def _shorten(self) -> None:
        """Keep a backlog of any length in little memory: the newest pieces become one."""
        while len(self._waiting) > _MOST_PIECES:
            last = self._waiting.pop()
            self._waiting[-1].until_seconds = last.until_seconds
            self._waiting[-1].rows += last.rows
