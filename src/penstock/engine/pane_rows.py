"""From rows with a time to rows with panes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType, TimestampType

from penstock.engine.columns import PANE, WIDTH
from penstock.engine.schemas import RESERVED, quoted
from penstock.topology.operators import Spans
from penstock.windows.panes import PanedSpec, Panes

SHARE = RESERVED + "share"
MAX_COPIES = 100_000

Time = str | tuple[str, str]


def paned_rows(
    df: DataFrame, panes: Panes, time: Time, spans: Spans, closed: Column | None
) -> DataFrame:
    """Add the pane of each row, or of each of its copies, where it spans time.

    ``PANE`` is the pane (bigint), ``WIDTH`` 1. Rows whose time is null are left out, as Spark's
    ``window`` does, and so are rows that only windows with an end up to the pane boundary
    ``closed`` hold.

    ``spans='each'``: a row is in the pane in which it starts, and a copy with ``WIDTH`` 0 is at
    each later boundary that it crosses and at which windows start. A window [i, j) is all of
    ``WIDTH`` 1 in [i, j) and all of ``WIDTH`` 0 at i. ``spans='split'``: a copy in each pane that
    the row touches, with its share of the row in ``SHARE``.
    """
    return RowPanes.of(df.schema, panes, time, spans).paned(df, closed)


def missed_windows(df: DataFrame, panes: Panes, time: Time, spans: Spans, closed: Column) -> Column:
    """Return the windows that hold a row and have an end up to the pane boundary ``closed``.

    An array of (name, start, end), spec by spec in the order of time; empty for a null time.
    """
    return RowPanes.of(df.schema, panes, time, spans).missed(closed)


@dataclass(frozen=True)
class RowPanes:
    """How the rows of one schema get their panes; made once, applied to every micro-batch."""

    panes: Panes
    spans: Spans
    first_micros: Column
    last_micros: Column
    is_point: bool

    @classmethod
    def of(cls, schema: StructType, panes: Panes, time: Time, spans: Spans) -> RowPanes:
        """Find the times of rows; an end is not within the row, unless that is its start too."""
        if isinstance(time, str):
            micros = _micros(schema, time)
            return cls(panes, "start", micros, micros, is_point=True)
        start = F.unix_micros(F.col(quoted(time[0])))
        if spans == "start":
            return cls(panes, spans, start, start, is_point=True)
        end = F.coalesce(F.unix_micros(F.col(quoted(time[1]))), start)
        backwards = F.raise_error(
            F.concat(
                F.lit(f"a row ends before it starts: {time[1]} is "),
                F.timestamp_micros(end).cast("string"),
                F.lit(f" and {time[0]} is "),
                F.timestamp_micros(start).cast("string"),
                F.lit(". Filter such rows out, or swap the two columns in time=(start, end)."),
            )
        ).cast("bigint")
        last = F.when(end > start, end - 1).when(end == start, start).when(end < start, backwards)
        if spans == "end":
            return cls(panes, spans, last, last, is_point=True)
        return cls(panes, spans, start, last, is_point=False)

    def paned(self, df: DataFrame, closed: Column | None) -> DataFrame:
        """Add the panes; see ``paned_rows``."""
        df = df.filter(self.first_micros.isNotNull())
        if self.is_point:
            if closed is not None:
                # On the time itself: Spark would compute the pane a second time for a filter on it.
                df = df.filter(self.first_micros >= self._first_needed(closed) * self.panes.micros)
            return df.withColumns({PANE: self.first, WIDTH: F.lit(1)})
        copies = self._made_of(self._split if self.spans == "split" else self._crossings)
        df = df.withColumn(_COPY, F.explode_outer(copies))
        names = (PANE, WIDTH, SHARE) if self.spans == "split" else (PANE, WIDTH)
        df = df.withColumns({name: F.col(f"{_COPY}.{name}") for name in names}).drop(_COPY)
        if closed is None:
            return df
        needed = F.col(PANE) >= self._first_needed(closed)
        if self.spans == "each":
            needed = F.when(F.col(WIDTH) == 1, needed).otherwise(self._starts_open(closed))
        return df.filter(needed)

    def missed(self, closed: Column) -> Column:
        """Return the windows that a row is too late for; see ``missed_windows``."""
        none = F.array().cast("array<struct<name: string, start: timestamp, end: timestamp>>")

        def all_specs(row: Column) -> Column:
            return F.concat(*[self._missed_of(spec, row, closed) for spec in self.panes.specs])

        return F.when(self.first_micros.isNull(), none).otherwise(self._made_of(all_specs))

    @property
    def first(self) -> Column:
        """The first pane that a row touches."""
        return _floor_div(self.first_micros, self.panes.micros)

    @property
    def last(self) -> Column:
        """The last pane that a row touches."""
        return _floor_div(self.last_micros, self.panes.micros)

    def _first_needed(self, closed: Column) -> Column:
        """Return the first pane that an open window holds, as ``Panes.first_needed`` does."""
        starts = [_aligned_up(closed + (1 - spec.length), spec) for spec in self.panes.specs]
        return starts[0] if len(starts) == 1 else F.least(*starts)

    def _starts_open(self, closed: Column) -> Column:
        """Whether a window that is still open starts at the boundary."""
        pane = F.col(PANE)
        found = F.lit(False)
        for spec in self.panes.specs:
            starts = _mod(pane - spec.offset, spec.slide) == 0
            found = found | (starts & (pane + spec.length > closed))
        return found

    def _made_of(self, make: Callable[[Column], Column]) -> Column:
        """Make a column of a row's times (a, z) and panes (first, last), each computed once.

        Written out wherever they are needed, they would be the larger part of the plan.
        """
        row = F.struct(
            self.first_micros.alias("a"),
            self.last_micros.alias("z"),
            self.first.alias("first"),
            self.last.alias("last"),
        )
        return F.transform(F.array(row), make)[0]

    def _crossings(self, row: Column) -> Column:
        """One copy where the row starts, and one where windows start while it lasts."""
        first, last = row["first"], row["last"]
        boundaries = [
            _steps(_aligned_up(first + 1, spec), last, spec.slide) for spec in self.panes.specs
        ]
        at = boundaries[0] if len(boundaries) == 1 else F.array_distinct(F.concat(*boundaries))
        whole = F.struct(first.alias(PANE), F.lit(1).alias(WIDTH))
        crossing = F.transform(at, lambda i: F.struct(i.alias(PANE), F.lit(0).alias(WIDTH)))
        return F.concat(F.array(whole), crossing)

    def _split(self, row: Column) -> Column:
        """One copy in each pane that the row touches, with its share of the row's length."""
        step, start, end = self.panes.micros, row["a"], row["z"] + 1

        def share(pane: Column) -> Column:
            covered = F.least((pane + 1) * step, end) - F.greatest(pane * step, start)
            return covered / (end - start)

        return F.transform(
            _steps(row["first"], row["last"], 1),
            lambda pane: F.struct(
                pane.alias(PANE), F.lit(1).alias(WIDTH), share(pane).alias(SHARE)
            ),
        )

    def _missed_of(self, spec: PanedSpec, row: Column, closed: Column) -> Column:
        low = _aligned_up(row["first"] - (spec.length - 1), spec)
        high = F.least(row["last"], closed - spec.length)
        step, name = self.panes.micros, spec.spec.name
        return F.transform(
            _steps(low, high, spec.slide),
            lambda start: F.struct(
                F.lit(name).alias("name"),
                F.timestamp_micros(start * step).alias("start"),
                F.timestamp_micros((start + spec.length) * step).alias("end"),
            ),
        )


_COPY = RESERVED + "copy"


def _micros(schema: StructType, time: str) -> Column:
    column = F.col(quoted(time))
    if isinstance(schema[time].dataType, TimestampType):
        return F.unix_micros(column)
    # A window's time is the last moment in it, as Spark's window_time has it.
    return F.unix_micros(column["end"]) - 1


def _steps(low: Column, high: Column, step: int) -> Column:
    """Return low, low + step, ... up to high: a bounded number of them."""
    too_many = F.raise_error(
        f"a row lasts for more than {MAX_COPIES:,} panes or starts of windows. Filter rows that "
        "last so long, write longer windows, or write spans='start' or 'end'."
    ).cast("array<bigint>")
    none = F.array().cast("array<bigint>")
    return (
        F.when(low > high, none)
        .when(high - low > MAX_COPIES * step, too_many)
        .otherwise(F.sequence(low, high, F.lit(step).cast("bigint")))
    )


def _mod(value: Column, step: int) -> Column:
    """Return the remainder from 0 up, also of what lies before 1970."""
    return F.pmod(value, F.lit(step).cast("bigint"))


def _floor_div(value: Column, step: int) -> Column:
    if step == 1:
        return value
    return F.call_function("div", value - _mod(value, step), F.lit(step).cast("bigint"))


def _aligned_up(value: Column, spec: PanedSpec) -> Column:
    """Return the first start of a window from here on."""
    return value if spec.slide == 1 else value + _mod(spec.offset - value, spec.slide)
