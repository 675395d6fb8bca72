"""How long rows waited from their arrival to the end of their micro-batch."""

from __future__ import annotations

import numpy as np

from penstock.replay.arrivals import Piece

_EXACT_SECONDS = 1e-6


class Latencies:
    """Adds up rows by how long they took; rows of a piece are spread evenly over its time.

    >>> latencies = Latencies()
    >>> latencies.add(Piece(0.0, 10.0, 100), done_seconds=12.0)
    >>> latencies.mean_seconds, round(latencies.quantile_seconds(0.95), 3)
    (7.0, 11.5)
    """

    def __init__(self) -> None:
        self._pieces: list[tuple[float, float, float]] = []
        self._rows = 0.0
        self._row_seconds = 0.0

    @property
    def mean_seconds(self) -> float:
        """The mean over all rows; 0 where there were none."""
        return self._row_seconds / self._rows if self._rows else 0.0

    def add(self, piece: Piece, done_seconds: float) -> None:
        """Count rows that were done at one time."""
        least, most = done_seconds - piece.until_seconds, done_seconds - piece.since_seconds
        self._pieces.append((least, most, piece.rows))
        self._rows += piece.rows
        self._row_seconds += piece.rows * (least + most) / 2

    def quantile_seconds(self, share: float) -> float:
        """Return the time within which this share of the rows was done."""
        if not self._pieces:
            return 0.0
        least, most, rows = np.array(self._pieces).T
        spread = np.maximum(most - least, 1e-9)
        low, high = float(least.min()), float(most.max())
        while high - low > _EXACT_SECONDS:
            middle = (low + high) / 2
            if not low < middle < high:
                break  # numbers as large as these lie further apart than that
            within = float((rows * np.clip((middle - least) / spread, 0.0, 1.0)).sum())
            if within < share * self._rows:
                low = middle
            else:
                high = middle
        return high
