"""The partials of one micro-batch: rows by pane and key, aggregated before they are stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from penstock.engine.aggregation import Aggregation
from penstock.engine.changing import any_index, changing
from penstock.engine.columns import KEY, PANE, WIDTH
from penstock.engine.local_groups import grouped_where_they_are
from penstock.engine.observations import Measures, counting
from penstock.engine.pane_rows import RowPanes
from penstock.engine.schemas import quoted
from penstock.topology.operators import Compute


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
    """Makes the partials of one compute operator; what does not change is prepared once.

    Every expression costs calls to the JVM, and there are a few hundred of them in a batch unless
    they are made beforehand.
    """

    def __init__(self, compute: Compute) -> None:
        assert compute.time is not None
        rows: StructType = compute.rows
        time = compute.time if compute.until is None else (compute.time, compute.until)
        self._panes = compute.panes
        self._row_panes = RowPanes.of(rows, compute.panes, time, compute.spans)
        self._aggregation: Aggregation = compute.aggregation
        self._micros = self._row_panes.first_micros
        self._index = any_index(self._micros)
        self.keys = tuple(f"{KEY}{number}" for number in range(len(compute.keys)))
        self._crosses = compute.spans == "each"
        place = [PANE, WIDTH] if self._crosses else [PANE]
        self._groups = [*place, *self.keys]
        types = [rows[name].dataType for name in compute.keys]
        stored = [StructField(key, type_) for key, type_ in zip(self.keys, types, strict=True)]
        self.columns = StructType([*stored, *compute.aggregation.state.fields])
        self._named = {
            key: F.col(quoted(name)) for key, name in zip(self.keys, compute.keys, strict=True)
        }
        self._pane = {PANE: self._row_panes.first}
        width = F.col(WIDTH) if self._crosses else F.lit(1).alias(WIDTH)
        self._stored = [F.col(PANE), width, *[F.col(name) for name in self.columns.names]]
        pane = F.col(PANE)
        self._made = [counting(), F.min(pane).alias("first"), F.max(pane).alias("last")]
        self._rows = counting()

    def of(self, df: DataFrame, closed: int, *, is_split: bool) -> PartialFrame:
        """Return the partials of some rows; those of windows closed up to ``closed`` are left out.

        Split: they are made where the rows are. Combined: brought together by key first.
        """
        late = F.count_if(self.is_late(closed)).alias("late")
        seen, rows = Measures.on(df, self._rows, late)
        rows = self._paned(rows, closed)
        inner: list[DataFrame] = []

        def stay(prepared: DataFrame) -> DataFrame:
            inner.append(prepared)
            return grouped_where_they_are(prepared, PANE)

        made = self._aggregation.partials(rows, self._groups, stay if is_split else None)
        if not is_split and not self._aggregation.exchanges:
            made = self._aggregation.merged(made, self._groups)
        counted, frame = Measures.on(made.select(*self._stored), *self._made)
        return PartialFrame(frame, inner[0] if inner else None, seen, counted)

    def is_late(self, closed: int) -> Column:
        """Return whether a row misses a window."""
        before = self._panes.start_micros(self._panes.late_before(closed))
        return self._micros < changing(before, self._index)

    def missed(self, closed: int) -> Column:
        """Return the windows that a row misses."""
        return self._row_panes.missed(changing(closed, self._index))

    def _paned(self, df: DataFrame, closed: int) -> DataFrame:
        if not self._row_panes.is_point:
            rows = self._row_panes.paned(df, changing(closed, self._index))
            return rows.withColumns(self._named)
        needed = self._panes.start_micros(self._panes.first_needed(closed))
        # Rows without a time are left out too: nothing is known of null.
        rows = df.filter(self._micros >= changing(needed, self._index))
        return rows.withColumns(self._pane | self._named)
