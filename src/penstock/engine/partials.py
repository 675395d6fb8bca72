"""The partials of one micro-batch: rows by pane and key, aggregated before they are stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from penstock.engine.aggregate_steps import MeasuredKeys
from penstock.engine.aggregation import Aggregation, Beside, Place, SqlAggregation
from penstock.engine.changing import any_index, changing
from penstock.engine.columns import KEY, PANE, WIDTH
from penstock.engine.local_groups import LocalGroups
from penstock.engine.observations import Measures, counting
from penstock.engine.pane_rows import RowPanes
from penstock.engine.schemas import quoted
from penstock.engine.user_aggregation import UserAggregation
from penstock.topology.operators import Compute

_COUNTS, _LATE, _MICROS = (f"_penstock_{name}" for name in ("counts", "late", "micros"))
_ROWS, _LATE_ROWS, _NEWEST, _OLDEST = (
    f"_penstock_{name}" for name in ("all_rows", "late_rows", "newest", "oldest")
)
_NO_PANE = -(2**63)


@dataclass(frozen=True, slots=True)
class PartialCounts:
    """What a batch's rows became: late rows missed a window; panes are within [first, end).

    The newest and the oldest time are of all rows, where they were looked at.
    """

    rows: int = 0
    late_rows: int = 0
    partials: int = 0
    first: int = 0
    end: int = 0
    newest_micros: int | None = None
    oldest_micros: int | None = None

    def and_(self, other: PartialCounts) -> PartialCounts:
        """Return the counts of these rows and others."""
        with_panes = [each for each in (self, other) if each.partials]
        newest = [m for m in (self.newest_micros, other.newest_micros) if m is not None]
        oldest = [m for m in (self.oldest_micros, other.oldest_micros) if m is not None]
        return PartialCounts(
            rows=self.rows + other.rows,
            late_rows=self.late_rows + other.late_rows,
            partials=self.partials + other.partials,
            first=min((each.first for each in with_panes), default=0),
            end=max((each.end for each in with_panes), default=0),
            newest_micros=max(newest, default=None),
            oldest_micros=min(oldest, default=None),
        )


@dataclass(frozen=True, slots=True)
class PartialFrame:
    """The partials of a batch, not yet computed; ``inner`` were handed over as finished rows."""

    frame: DataFrame
    inner: tuple[DataFrame, ...]
    _made: Measures
    _rows: Measures | None = None
    _beside: PartialFrame | None = None

    def beside(self, other: PartialFrame) -> PartialFrame:
        """Return these partials and others as one."""
        frame, inner = self.frame.union(other.frame), (*self.inner, *other.inner)
        return replace(self, frame=frame, inner=inner, _beside=other)

    def counts(self, places: Sequence[DataFrame]) -> PartialCounts:
        """Return what was counted while the partials were written."""
        own = self._own_counts(places)
        return own if self._beside is None else own.and_(self._beside.counts(places))

    def _own_counts(self, places: Sequence[DataFrame]) -> PartialCounts:
        made = self._made.told(places) or (0, None, None)
        seen = made[3:] if self._rows is None else self._rows.told(places) or ()
        rows, late, newest, oldest = (*seen, None, None, None, None)[:4]
        partials, first, last = made[:3]
        return PartialCounts(
            rows=int(rows or 0),
            late_rows=int(late or 0),
            partials=int(partials),
            first=first if partials else 0,
            end=last + 1 if partials else 0,
            newest_micros=newest,
            oldest_micros=oldest,
        )


class Partials:
    """Makes the partials of one compute operator; what does not change is prepared once.

    Every expression costs calls to the JVM, and there are a few hundred of them in a batch unless
    they are made beforehand.

    Rows are counted, and their times looked at, in the aggregate itself, where Spark can: a count
    of its own would take apart the code that Spark generates for the whole stage. Rows that are
    too late for every window are then in a pane of their own, which is not stored.
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
        width = F.col(WIDTH) if self._crosses else F.lit(1).alias(WIDTH)
        self._stored = [F.col(PANE), width, *[F.col(name) for name in self.columns.names]]
        pane = F.col(PANE)
        self._is_stored = pane > _NO_PANE
        stored_pane = F.when(self._is_stored, pane)
        found = [F.count(stored_pane).alias("partials"), F.min(stored_pane).alias("first")]
        self._found = [*found, F.max(stored_pane).alias("last")]
        self.counts_on_the_way = self._row_panes.is_point and isinstance(
            compute.aggregation, SqlAggregation
        )
        self.are_points = self._row_panes.is_point
        self._local: LocalGroups | None = None
        self._prepare_counts()

    def _prepare_counts(self) -> None:
        """Prepare what is the same for every batch where rows are counted in the aggregate."""
        counts, micros = F.col(_COUNTS), F.col(_MICROS)
        # A number and not null: Spark is faster with groups that can't be null.
        pane = F.coalesce(F.when(counts, self._row_panes.first), F.lit(_NO_PANE)).alias(PANE)
        self._beside = Beside(
            groups=(pane, *[column.alias(key) for key, column in self._named.items()]),
            when=counts,
            carried=(F.col(_LATE), self._micros.alias(_MICROS)),
            measures=(
                F.count(F.lit(1)).alias(_ROWS),
                F.count_if(F.col(_LATE)).alias(_LATE_ROWS),
                F.max(micros).alias(_NEWEST),
                F.min(micros).alias(_OLDEST),
            ),
        )
        self._told = [
            F.sum(_ROWS).alias("rows"),
            F.sum(_LATE_ROWS).alias("late"),
            F.max(_NEWEST).alias("newest"),
            F.min(_OLDEST).alias("oldest"),
        ]

    def by_key(
        self, df: DataFrame, closed: int, place: Place, measured: MeasuredKeys
    ) -> PartialFrame:
        """Return the partials of some rows, made where ``place`` puts them, and measured by key."""
        assert isinstance(self._aggregation, UserAggregation)
        counted, rows = self._with_panes(df, closed)
        made = self._aggregation.partials(rows, self._groups, place, measured)
        found, made = Measures.on(made.select(*self._stored), *self._found)
        return PartialFrame(made, (), found, counted)

    def placed(self, df: DataFrame, closed: int, place: Place | None) -> PartialFrame:
        """Return the partials of some rows, made where ``place`` puts them, or where they are."""
        counted, rows = self._with_panes(df, closed)
        made = self._aggregation.partials(rows, self._groups, place)
        found, made = Measures.on(made.select(*self._stored), *self._found)
        return PartialFrame(made, (), found, counted)

    def of(self, df: DataFrame, closed: int, *, is_split: bool) -> PartialFrame:
        """Return the partials of some rows; those of windows closed up to ``closed`` are left out.

        Split: they are made where the rows are. Combined: brought together by key first.
        """
        inner: list[DataFrame] = []

        def stay(prepared: DataFrame) -> DataFrame:
            inner.append(prepared)
            if self._local is None:
                self._local = LocalGroups(prepared.sparkSession)
            return self._local.of(prepared)

        place = stay if is_split else None
        if self.counts_on_the_way:
            made, measured, counted = self._counted(df, closed, place)
        else:
            made, measured, counted = self._plain(df, closed, place)
        return PartialFrame(made, tuple(inner), measured, counted)

    def changing(
        self, df: DataFrame, closed: int, boundary: int, *, was_split: bool, is_split: bool
    ) -> PartialFrame:
        """Return the partials of some rows: one way up to a pane, another from there on."""
        until = changing(self._panes.start_micros(boundary), self._index)
        is_older = F.coalesce(self._micros < until, F.lit(False))
        older = self.of(df.filter(is_older), closed, is_split=was_split)
        return older.beside(self.of(df.filter(~is_older), closed, is_split=is_split))

    def _counted(
        self, df: DataFrame, closed: int, place: Place | None
    ) -> tuple[DataFrame, Measures, None]:
        needed = self._panes.start_micros(self._panes.first_needed(closed))
        flags = {
            _COUNTS: self._micros >= changing(needed, self._index),
            _LATE: self.is_late(closed),
        }
        rows = df.withColumns(flags)
        assert isinstance(self._aggregation, SqlAggregation)
        made = self._aggregation.counted_partials(rows, self._groups, self._beside, place)
        measured, made = Measures.on(made, *self._found, *self._told)
        return made.filter(self._is_stored).select(*self._stored), measured, None

    def _plain(
        self, df: DataFrame, closed: int, place: Place | None
    ) -> tuple[DataFrame, Measures, Measures]:
        counted, rows = self._with_panes(df, closed)
        made = self._aggregation.partials(rows, self._groups, place)
        if place is None and not self._aggregation.exchanges:
            made = self._aggregation.merged(made, self._groups)
        measured, made = Measures.on(made.select(*self._stored), *self._found)
        return made, measured, counted

    def _with_panes(self, df: DataFrame, closed: int) -> tuple[Measures, DataFrame]:
        late = F.count_if(self.is_late(closed)).alias("late")
        counted, rows = Measures.on(df, counting(), late)
        rows = self._row_panes.paned(rows, changing(closed, self._index))
        return counted, rows.withColumns(self._named)

    def is_late(self, closed: int) -> Column:
        """Return whether a row misses a window."""
        before = self._panes.start_micros(self._panes.late_before(closed))
        return self._micros < changing(before, self._index)

    def missed(self, closed: int) -> Column:
        """Return the windows that a row misses."""
        return self._row_panes.missed(changing(closed, self._index))
