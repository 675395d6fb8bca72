"""The partials of one micro-batch: rows by pane and key, aggregated before they are stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from penstock.engine.changing import changing
from penstock.engine.columns import KEY, PANE, WIDTH
from penstock.engine.local_groups import grouped_where_they_are
from penstock.engine.observations import Measures, count_rows
from penstock.engine.pane_rows import RowPanes
from penstock.engine.schemas import quoted
from penstock.topology.operators import Compute
from penstock.windows.panes import PanedSpec

BEFORE_ALL_TIMES = -62_135_596_800_000_000  # the year 1, in microseconds


@dataclass(frozen=True, slots=True)
class PartialCounts:
    """What a batch's rows became: late rows missed a window; panes are within [first, end)."""

    rows: int = 0
    late_rows: int = 0
    partials: int = 0
    first: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class PartialFrame:
    """The partials of a batch, not yet computed; ``inner`` was handed over as finished rows."""

    frame: DataFrame
    inner: DataFrame | None
    _rows: Measures
    _partials: Measures

    def counts(self, places: Sequence[DataFrame]) -> PartialCounts:
        """Return what was counted while the partials were written."""
        seen = self._rows.read(places) or (0, 0)
        made = self._partials.read(places)
        if made is None or not made[0]:
            return PartialCounts(int(seen[0]), int(seen[1]))
        return PartialCounts(int(seen[0]), int(seen[1]), int(made[0]), made[1], made[2] + 1)


class Partials:
    """Makes the partials of one compute operator; what does not change is prepared once."""

    def __init__(self, compute: Compute) -> None:
        assert compute.time is not None
        rows: StructType = compute.rows
        time = compute.time if compute.until is None else (compute.time, compute.until)
        self._panes = RowPanes.of(rows, compute.panes, time, compute.spans)
        self._nothing_closed = compute.panes.boundary(BEFORE_ALL_TIMES)
        self._aggregation = compute.aggregation
        self._first = self._panes.first
        self._first_ends = [_first_end(spec, self._first) for spec in compute.panes.specs]
        self.keys = tuple(f"{KEY}{number}" for number in range(len(compute.keys)))
        self._named = {
            key: F.col(quoted(name)) for key, name in zip(self.keys, compute.keys, strict=True)
        }
        self._crosses = compute.spans == "each"
        place = [PANE, WIDTH] if self._crosses else [PANE]
        self._groups = [*place, *self.keys]
        types = [rows[name].dataType for name in compute.keys]
        stored = [StructField(k, t) for k, t in zip(self.keys, types, strict=True)]
        self.columns = StructType([*stored, *compute.aggregation.state.fields])
        width = F.col(WIDTH) if self._crosses else F.lit(1).alias(WIDTH)
        self._stored = [F.col(PANE), width, *[F.col(name) for name in self.columns.names]]

    def of(self, df: DataFrame, closed: int | None, *, is_split: bool) -> PartialFrame:
        """Return the partials of some rows; those of windows closed up to ``closed`` are left out.

        Split: they are made where the rows are. Combined: brought together by key first.
        """
        boundary = self.boundary(closed)
        seen, rows = Measures.on(df, count_rows(), F.count_if(self.is_late(boundary)))
        rows = self._panes.paned(rows, boundary).withColumns(self._named)
        inner: list[DataFrame] = []

        def stay(prepared: DataFrame) -> DataFrame:
            inner.append(prepared)
            return grouped_where_they_are(prepared, PANE)

        made = self._aggregation.partials(rows, self._groups, stay if is_split else None)
        pane = F.col(PANE)
        counted, frame = Measures.on(
            made.select(*self._stored), count_rows(), F.min(pane), F.max(pane)
        )
        return PartialFrame(frame, inner[0] if inner else None, seen, counted)

    def boundary(self, closed: int | None) -> Column:
        """Return the pane boundary up to which windows are closed, as a column."""
        number = self._nothing_closed if closed is None else closed
        return changing(number, self._panes.first_micros)

    def is_late(self, boundary: Column) -> Column:
        """Return whether a row misses a window."""
        ends = self._first_ends
        return (ends[0] if len(ends) == 1 else F.least(*ends)) <= boundary

    def missed(self, boundary: Column) -> Column:
        """Return the windows that a row misses."""
        return self._panes.missed(boundary)


def _first_end(spec: PanedSpec, pane: Column) -> Column:
    """Return the end of the first window that holds a pane."""
    if spec.slide == 1:
        return pane + 1
    phase = (spec.offset + spec.length) % spec.slide
    return pane + spec.slide - F.pmod(pane - phase, F.lit(spec.slide).cast("bigint"))
