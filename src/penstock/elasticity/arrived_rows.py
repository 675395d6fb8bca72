"""When the rows of a micro-batch arrived, from what is known of batches as they end."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

# Between two batches there is always a little time; more than this was waiting for rows.
_PAUSE_SECONDS = 0.1
_MOST_PIECES = 1_000


class Arrived(NamedTuple):
    """Rows that came evenly between two times."""

    since_seconds: float
    until_seconds: float
    rows: int


class ArrivedRows:
    """Follows rows through sources that hand them out in the order of their arrival.

    A batch takes what arrived since the batch before it began, less what it leaves behind; within
    that time rows are taken to come evenly. Where the query had nothing to do for a while, its next
    rows came within the last trigger. Of the rows of a first batch nobody knows when they came:
    they count from its beginning. It is the reading that ``penstock replay`` has of a whole log.

    >>> arrived = ArrivedRows()
    >>> arrived.take(10.0, 11.0, rows=50, waiting_rows=0, trigger_seconds=2.0)
    [Arrived(since_seconds=10.0, until_seconds=10.0, rows=50)]
    >>> arrived.take(12.0, 13.0, rows=40, waiting_rows=60, trigger_seconds=2.0)
    [Arrived(since_seconds=10.0, until_seconds=10.8, rows=40)]
    >>> arrived.take(14.0, 15.0, rows=60, waiting_rows=0, trigger_seconds=2.0)
    [Arrived(since_seconds=10.8, until_seconds=12.0, rows=60)]
    """

    def __init__(self) -> None:
        self._began_seconds: float | None = None
        self._ended_seconds = 0.0
        self._waiting: deque[Arrived] = deque()
        self.waiting_rows = 0

    def began_by(self, at_seconds: float) -> bool:
        """Say whether a batch began before then, so that it is known when the next rows came."""
        return self._began_seconds is not None and self._began_seconds <= at_seconds

    def begin_anew(self) -> None:
        """Forget what waits: a query that starts again says nothing of the time before."""
        self._began_seconds = None
        self._waiting.clear()
        self.waiting_rows = 0

    def take(
        self,
        began_seconds: float,
        ended_seconds: float,
        rows: int,
        waiting_rows: int | None,
        trigger_seconds: float | None = None,
    ) -> list[Arrived]:
        """Take in a batch and say when its ``rows`` arrived; ``waiting_rows`` are left behind."""
        if not self.began_by(began_seconds):
            self.begin_anew()  # the first batch, or the clock was set back
        came = rows + max(0, waiting_rows or 0) - self.waiting_rows
        if came > 0:
            self._add(Arrived(self._since(began_seconds, trigger_seconds), began_seconds, came))
        else:
            self._remove(-came)  # neither taken nor waiting any more: shed, and never committed
        self._began_seconds, self._ended_seconds = began_seconds, ended_seconds
        return self._remove(rows)

    def _since(self, began_seconds: float, trigger_seconds: float | None) -> float:
        if self._began_seconds is None:
            return began_seconds
        if began_seconds - self._ended_seconds > _PAUSE_SECONDS:
            return max(self._began_seconds, began_seconds - (trigger_seconds or 0.0))
        return self._began_seconds

    def _add(self, came: Arrived) -> None:
        self.waiting_rows += came.rows
        if len(self._waiting) >= _MOST_PIECES:
            # A backlog of any length is kept in little memory: the newest pieces become one.
            last = self._waiting.pop()
            came = Arrived(last.since_seconds, came.until_seconds, last.rows + came.rows)
        self._waiting.append(came)

    def _remove(self, rows: int) -> list[Arrived]:
        """Take so many rows out, the oldest first."""
        removed = []
        while rows > 0 and self._waiting:
            since, until, there = self._waiting[0]
            if rows >= there:
                piece = self._waiting.popleft()
            else:
                to = since + (until - since) * rows / there
                piece = Arrived(since, to, rows)
                self._waiting[0] = Arrived(to, until, there - rows)
            rows -= piece.rows
            removed.append(piece)
        self.waiting_rows -= sum(piece.rows for piece in removed)
        return removed
