"""How long rows waited from their arrival to the end of their micro-batch, batch by batch."""

from __future__ import annotations

from collections import deque
from math import nan

_MOST_WAITING = 10_000
# Between two batches there is always a little time; more than this was waiting for rows.
_PAUSE_SECONDS = 0.1


class RowLatency:
    """Follows rows through a source that hands them out in the order of their arrival.

    A batch takes what arrived since the batch before it began, less what it leaves behind; within
    that time rows are taken to come evenly. Where the query had nothing to do for a while, its next
    rows came within the last trigger. It is the reading that ``penstock replay`` has, kept up as
    batches end.

    >>> latency = RowLatency()
    >>> latency.after(10.0, 11.0, rows=50, waiting_rows=0, trigger_seconds=2.0)
    nan
    >>> round(latency.after(12.0, 13.0, rows=40, waiting_rows=60, trigger_seconds=2.0), 6)
    2.6
    >>> round(latency.after(14.0, 15.0, rows=60, waiting_rows=0, trigger_seconds=2.0), 6)
    3.6
    """

    def __init__(self) -> None:
        self._before: tuple[float, float] | None = None
        self._left: int | None = None
        self._pieces: deque[tuple[float, float, float]] = deque()

    def begin_anew(self) -> None:
        """Forget what waits: a query that starts again says nothing of the time before."""
        self._before = None
        self._left = None
        self._pieces.clear()

    def after(
        self,
        started_seconds: float,
        ended_seconds: float,
        rows: int,
        waiting_rows: int | None,
        trigger_seconds: float | None = None,
    ) -> float:
        """Take in a batch and return its rows' mean latency in seconds; NaN where nobody knows."""
        if self._before is not None and started_seconds < self._before[0]:
            self.begin_anew()  # the clock was set back
        before, self._before = self._before, (started_seconds, ended_seconds)
        left, self._left = self._left, waiting_rows
        if before is None:
            if waiting_rows:
                self._pieces.append((started_seconds, started_seconds, float(waiting_rows)))
            return nan
        grown = 0 if waiting_rows is None or left is None else waiting_rows - left
        since = before[0]
        if started_seconds - before[1] > _PAUSE_SECONDS:
            since = max(since, started_seconds - (trigger_seconds or 0.0))
        if rows + grown > 0:
            self._pieces.append((since, started_seconds, float(rows + grown)))
        if len(self._pieces) > _MOST_WAITING:
            self._pieces.popleft()
        return self._take(rows, ended_seconds)

    def _take(self, rows: int, ended_seconds: float) -> float:
        left, waited = float(rows), 0.0
        while left > 0 and self._pieces:
            since, until, there = self._pieces[0]
            taken = min(left, there)
            to = since + (until - since) * taken / there
            waited += taken * (ended_seconds - (since + to) / 2)
            left -= taken
            if taken == there:
                self._pieces.popleft()
            else:
                self._pieces[0] = (to, until, there - taken)
        return waited / (rows - left) if rows > left else nan
