"""How long rows waited from their arrival to the end of their micro-batch, batch by batch."""

from __future__ import annotations

from math import nan

from penstock.elasticity.arrived_rows import ArrivedRows


class RowLatency:
    """The mean latency of each micro-batch's rows; of a first batch nobody knows it.

    >>> latency = RowLatency()
    >>> latency.after(10.0, 11.0, rows=50, waiting_rows=0, trigger_seconds=2.0)
    nan
    >>> round(latency.after(12.0, 13.0, rows=40, waiting_rows=60, trigger_seconds=2.0), 6)
    2.6
    >>> round(latency.after(14.0, 15.0, rows=60, waiting_rows=0, trigger_seconds=2.0), 6)
    3.6
    """

    def __init__(self) -> None:
        self._arrived = ArrivedRows()

    def begin_anew(self) -> None:
        """Forget what waits: a query that starts again says nothing of the time before."""
        self._arrived.begin_anew()

    def after(
        self,
        started_seconds: float,
        ended_seconds: float,
        rows: int,
        waiting_rows: int | None,
        trigger_seconds: float | None = None,
    ) -> float:
        """Take in a batch and return its rows' mean latency in seconds; NaN where nobody knows."""
        begun_before = self._arrived.began_by(started_seconds)
        pieces = self._arrived.take(
            started_seconds, ended_seconds, rows, waiting_rows, trigger_seconds
        )
        taken = sum(piece.rows for piece in pieces)
        if not begun_before or not taken:
            return nan
        waited = sum(
            piece.rows * (ended_seconds - (piece.since_seconds + piece.until_seconds) / 2)
            for piece in pieces
        )
        return waited / taken
