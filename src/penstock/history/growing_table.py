"""A table of numbers over time that grows at its end and never beyond a bound."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import inf

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
MOST_ROWS = 100_000


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
    a day, a week or a year takes the same memory.

    >>> columns = {"at": Merge.LAST, "rows": Merge.SUM, "slots": Merge.MEAN}
    >>> table = GrowingTable(columns, most_rows=4)
    >>> for second in range(5):
    ...     table.append((float(second), 10.0, second * 2.0))
    >>> table.column("at").tolist(), table.column("rows").tolist(), table.column("slots").tolist()
    ([1.0, 2.0, 3.0, 4.0], [20.0, 10.0, 10.0, 10.0], [1.0, 4.0, 6.0, 8.0])
    """

    def __init__(self, columns: Mapping[str, Merge], most_rows: int = MOST_ROWS) -> None:
        self._names = tuple(columns)
        self._merges = tuple(columns.values())
        self._width = len(columns)
        self._most = most_rows * self._width
        self._cells = array("d")

    def __len__(self) -> int:
        return len(self._cells) // self._width

    def append(self, row: Sequence[float]) -> None:
        """Add a row, whose time is not before that of the last one."""
        if len(self._cells) >= self._most:
            self._thin()
        self._cells.extend(row)

    def column(self, name: str) -> Numbers:
        """Return a whole column."""
        return self._between(-inf, inf, [self._names.index(name)])[:, 0]

    def last(self) -> dict[str, float]:
        """Return the newest row by column, NaN everywhere where there is none."""
        if not len(self):
            return dict.fromkeys(self._names, float("nan"))
        return dict(zip(self._names, self._cells[-self._width :], strict=True))

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
        rows = self._between(since_seconds, until_seconds, [0, *at])
        times, rows = rows[:, 0], rows[:, 1:]
        if len(rows) > most:
            since, until = max(since_seconds, times[0]), min(until_seconds, times[-1])
            width = max((until - since) / most, 1e-9)
            stretch = np.clip(((times - since) / width).astype(np.int64), 0, most - 1)
            starts = np.flatnonzero(np.diff(stretch, prepend=-1))
            rows = _merged(rows, starts, [self._merges[n] for n in at])
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
        thinned = _merged(rows[:old], np.arange(0, old, 2), self._merges)
        self._cells = array("d", np.concatenate((thinned, rows[old:])).tobytes())


def _merged(rows: Numbers, starts: NDArray[np.int64], merges: Sequence[Merge]) -> Numbers:
    """Make one row of each run of rows; where nothing is known of a run, that stays so."""
    if not len(rows):
        return rows
    known = ~np.isnan(rows)
    counts = np.add.reduceat(known, starts, axis=0, dtype=np.float64)
    counts[counts == 0] = np.nan
    sums = np.add.reduceat(np.where(known, rows, 0.0), starts, axis=0)
    ends = np.append(starts[1:], len(rows)) - 1
    merged = np.empty((len(starts), rows.shape[1]))
    for n, merge in enumerate(merges):
        if merge is Merge.LAST:
            merged[:, n] = rows[ends, n]
        elif merge is Merge.MAX:
            highest = np.maximum.reduceat(np.where(known[:, n], rows[:, n], -np.inf), starts)
            merged[:, n] = np.where(np.isfinite(highest), highest, np.nan)
        else:
            per = counts[:, n] / (counts[:, n] if merge is Merge.SUM else 1.0)
            merged[:, n] = sums[:, n] / per
    return merged
