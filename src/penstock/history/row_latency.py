"""How long rows waited from their arrival to the end of their micro-batch, batch by batch."""

from __future__ import annotations

from collections import deque
from math import nan

_MOST_WAITING = 10_000


class RowLatency:
    """Follows rows through a source that hands them out in the order of their arrival.

    A batch takes what arrived since the batch before it began, less what it leaves behind; within
    that time rows are taken to come evenly. It is the reading that ``penstock replay`` has, kept up
    as batches end.

    >>> latency = RowLatency()
    >>> latency.after(started_seconds=10.0, ended_seconds=11.0, rows=50, waiting_rows=0)
    nan
    >>> round(latency.after(started_seconds=12.0, ended_seconds=13.0, rows=40, waiting_rows=60), 6)
    2.6
    >>> round(latency.after(started_seconds=14.0, ended_seconds=15.0, rows=60, waiting_rows=0), 6)
    3.6
    """

    def __init__(self) -> None:
        self._before: float | None = None
        self._left = 0
        self._pieces: deque[tuple[float, float, float]] = deque()

    def begin_anew(self) -> None:
        """Forget what waits: a query that starts again says nothing of the time before."""
        self._before = None
        self._left = 0
        self._pieces.clear()

    def after(
        self, started_seconds: float, ended_seconds: float, rows: int, waiting_rows: int | None
    ) -> float:
        """Take in a batch and return its rows' mean latency in seconds; NaN where nobody knows."""
        before, self._before = self._before, started_seconds
        left, self._left = self._left, waiting_rows or 0
        if before is None:
            if self._left:
                self._pieces.append((started_seconds, started_seconds, float(self._left)))
            return nan
        arrived = max(0, rows + self._left - left)
        if arrived:
            self._pieces.append((before, max(before, started_seconds), float(arrived)))
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
