"""A table of numbers over time that grows at its end and never beyond a bound."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import inf
from struct import Struct

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
MOST_ROWS = 100_000
_EARLIEST = -1e300
COUNT = "count"


class Merge(Enum):
    """What becomes of a column where several rows become one."""

    SUM = "sum"
    MEAN = "mean"
    MAX = "max"
    LAST = "last"


@dataclass(frozen=True, slots=True)
class Buckets:
    """Rows put together by stretches of time, for drawing; stretches without rows are left out."""

    columns: Mapping[str, Numbers]

    def __getitem__(self, column: str) -> Numbers:
        return self.columns[column]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


class GrowingTable:
    """Rows of numbers in the order of their first column, which is a time in seconds.

    A row is a tuple of floats, NaN where nothing is known. Beyond ``most_rows`` the older half is
    thinned: two rows become one, each column by its own rule. So the newest rows are all there, and
    a day, a week or a year takes the same memory. A column ``count`` is added at the end: how many
    rows became one. A row that is older than the one before it, or of no known time, as where a
    clock was set back, counts as of the same time.

    >>> columns = {"at": Merge.LAST, "rows": Merge.SUM, "slots": Merge.MEAN}
    >>> table = GrowingTable(columns, most_rows=4)
    >>> for second in range(5):
    ...     table.append((float(second), 10.0, second * 2.0))
    >>> table.column("at").tolist(), table.column("rows").tolist(), table.column("slots").tolist()
    ([1.0, 2.0, 3.0, 4.0], [20.0, 10.0, 10.0, 10.0], [1.0, 4.0, 6.0, 8.0])
    """

    def __init__(self, columns: Mapping[str, Merge], most_rows: int = MOST_ROWS) -> None:
        self._names = (*columns, COUNT)
        self._merges = (*columns.values(), Merge.SUM)
        self._width = len(self._names)
        self._most = most_rows * self._width
        self._cells = array("d")
        # Twice as fast as extending an array by a tuple, and operators of a day are many numbers.
        self._packed = Struct(f"{self._width}d").pack

    def __len__(self) -> int:
        return len(self._cells) // self._width

    def append(self, row: Sequence[float]) -> None:
        """Add a row, which should not be older than the last one."""
        if len(self._cells) >= self._most:
            self._thin()
        cells = self._cells
        newest = cells[-self._width] if cells else _EARLIEST
        cells.frombytes(self._packed(*row, 1.0))
        if not row[0] >= newest:
            cells[-self._width] = newest

    def column(self, name: str) -> Numbers:
        """Return a whole column."""
        return self._between(-inf, inf, [self._names.index(name)])[:, 0]

    def last(self) -> dict[str, float]:
        """Return the newest row by column, NaN everywhere where there is none."""
        if not len(self):
            return dict.fromkeys(self._names, float("nan"))
        return dict(zip(self._names, self._cells[-self._width :], strict=True))

    def first_time_after(self, at_seconds: float) -> float | None:
        """Return the time of the first row after a moment; None where there is none."""
        times = np.frombuffer(self._cells, dtype=np.float64)[:: self._width]
        place = np.searchsorted(times, at_seconds, side="right")
        return float(times[place]) if place < len(times) else None

    def between(self, since_seconds: float, until_seconds: float) -> dict[str, Numbers]:
        """Return the rows with ``since_seconds < time <= until_seconds``, by column."""
        rows = self._between(since_seconds, until_seconds, list(range(self._width)))
        return {name: rows[:, n] for n, name in enumerate(self._names)}

    def buckets(
        self,
        since_seconds: float,
        until_seconds: float,
        most: int,
        columns: Mapping[str, str] | None = None,
    ) -> Buckets:
        """Put the rows of a time together into ``most`` stretches at most, each as one row.

        ``columns`` says which are wanted, by the names that they get; all unless said.
        """
        wanted = columns or {name: name for name in self._names}
        at = [self._names.index(name) for name in wanted.values()]
        rows = self._between(since_seconds, until_seconds, [0, self._width - 1, *at])
        times, weights, rows = rows[:, 0], rows[:, 1], rows[:, 2:]
        rows = put_together(rows, times, weights, [self._merges[n] for n in at], most)
        return Buckets({name: rows[:, n] for n, name in enumerate(wanted)})

    def _between(self, since_seconds: float, until_seconds: float, columns: list[int]) -> Numbers:
        """Return a copy of some cells: an array whose buffer somebody looks at can't grow."""
        cells = np.frombuffer(self._cells, dtype=np.float64).reshape(-1, self._width)
        times = cells[:, 0]
        first, last = np.searchsorted(times, (since_seconds, until_seconds), side="right")
        return cells[first:last, columns]

    def _thin(self) -> None:
        rows = self._between(-inf, inf, list(range(self._width)))
        old = max(2, len(rows) // 2)
        thinned = _merged(rows[:old], rows[:old, -1], np.arange(0, old, 2), self._merges)
        self._cells = array("d", np.concatenate((thinned, rows[old:])).tobytes())


def put_together(
    rows: Numbers, times: Numbers, weights: Numbers, merges: Sequence[Merge], most: int
) -> Numbers:
    """Make one row of those in each of ``most`` stretches of time; fewer rows stay as they are."""
    if len(rows) <= most:
        return rows
    width = max((times[-1] - times[0]) / most, 1e-9)
    stretch = np.clip(((times - times[0]) / width).astype(np.int64), 0, most - 1)
    starts = np.flatnonzero(np.diff(stretch, prepend=-1))
    return _merged(rows, weights, starts, merges)


def _merged(
    rows: Numbers, weights: Numbers, starts: NDArray[np.int64], merges: Sequence[Merge]
) -> Numbers:
    """Make one row of each run of rows; where nothing is known of a run, that stays so.

    ``weights`` are how many rows each has been made of: in a mean it counts as often.
    """
    if not len(rows):
        return rows
    ends = np.append(starts[1:], len(rows)) - 1
    merged = np.empty((len(starts), rows.shape[1]))
    for n, merge in enumerate(merges):
        column = rows[:, n]
        if merge is Merge.LAST:
            merged[:, n] = column[ends]
            continue
        known = ~np.isnan(column)
        if merge is Merge.MAX:
            found = np.maximum.reduceat(np.where(known, column, -np.inf), starts)
        elif merge is Merge.SUM:
            found = np.add.reduceat(np.where(known, column, 0.0), starts)
        else:
            counted = np.maximum(np.add.reduceat(np.where(known, weights, 0.0), starts), 1.0)
            found = np.add.reduceat(np.where(known, column * weights, 0.0), starts) / counted
        any_known = np.logical_or.reduceat(known, starts)
        merged[:, n] = np.where(any_known, found, np.nan)
    return merged
