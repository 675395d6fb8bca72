"""What aggregates read of each row: columns, filters, times and shares, each computed once."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from penstock.engine.schemas import (
    RESERVED,
    analysed,
    as_column,
    check_text,
    quoted,
    schema_of,
)
from penstock.errors import TopologyError
from penstock.windows.aggregates.base import WindowAggregate

_OWN_NAME = re.compile(rf"{RESERVED}in\d+")


def input_name(number: int) -> str:
    """Return the name of a column that aggregates read."""
    return f"{RESERVED}in{number}"


class Inputs:
    """Columns to compute from each row before it is aggregated, as the aggregates ask for them."""

    def __init__(self, label: str, rows: DataFrame, time: str | None, share: str | None) -> None:
        self.rows = rows
        self.empty = rows
        if share is not None and share not in rows.columns:
            self.empty = rows.withColumn(share, F.lit(1.0))
        self._label = label
        self._plan: Any = rows._jdf.queryExecution().analyzed()
        self._schema = schema_of(rows.schema)
        self._time = None if time is None else _ordering(rows.schema, time)
        self._time_name = time or ""
        self._share = share
        self._known: dict[Hashable, tuple[str, str]] = {}
        self._columns: list[Column] = []
        self._plain: set[int] = set()
        self._written: dict[str, str] = {}

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns to compute."""
        return tuple(self._columns)

    @property
    def plain(self) -> frozenset[int]:
        """The positions of those that are columns as they are: nothing in them can fail."""
        return frozenset(self._plain)

    def readable(self, error: TopologyError) -> TopologyError:
        """Tell a mistake in the user's words, not by the names that columns have in here."""
        problem = _OWN_NAME.sub(lambda name: self._written.get(name[0], name[0]), error.problem)
        return TopologyError(error.operator, problem, error.remedy)

    def add(self, aggregate: WindowAggregate) -> tuple[dict[str, str], dict[str, str]]:
        """Add what an aggregate reads; return names and types by the names its recipe uses."""
        written = aggregate.describe()
        names, types = {"where": ""}, {}
        if aggregate.where is not None:
            column, kind = self._input(aggregate.where, None, written)
            if kind != "boolean":
                raise TopologyError(
                    self._label,
                    f"the filter of {written} is {kind}, not true or false",
                    "Write a condition, such as where='a > 1'.",
                )
            names["where"] = f" FILTER (WHERE {column})"
        for name, value in aggregate.inputs().items():
            names[name], types[name] = self._input(value, aggregate.where, written)
        if aggregate.needs_time:
            names["time"] = self._time_for(written)
        if self._share is not None:
            names["share"] = self._own(("share",), F.col(quoted(self._share)))
        return names, types

    def _input(self, value: Any, where: Any, written: str) -> tuple[str, str]:
        key = (_key(value), _key(where))
        if key in self._known:
            return self._known[key]
        column = self._column(value)
        df = analysed(self._label, written, lambda: self.rows.select(column), self._schema)
        self._check_row_by_row(written, df)
        kind = df.schema.fields[0].dataType.simpleString()
        if where is not None:
            # Only rows that count are computed, so that where='b <> 0' protects 'a / b'.
            column = F.when(self._column(where), column)
        elif isinstance(value, str) and value in self.rows.columns:
            self._plain.add(len(self._columns))
        self._known[key] = self._own(key, column), kind
        self._written[self._known[key][0]] = str(value)
        return self._known[key]

    def _check_row_by_row(self, written: str, df: DataFrame) -> None:
        """Refuse what is not computed from one row at a time."""
        made: Any = df._jdf.queryExecution().analyzed()
        below = made.children().apply(0)
        if made.nodeName() == "Project" and below.equals(self._plan):
            return
        if "Generate" in (made.nodeName(), below.nodeName()):
            problem, remedy = "would make several rows of one", "Explode the column before that"
        else:
            problem = "is an aggregate of an aggregate"
            remedy = "Aggregate a plain expression, and window the result again for more"
        raise TopologyError(self._label, f"{written} {problem}", f"{remedy}.")

    def _column(self, value: Any) -> Column:
        if isinstance(value, str) and value in self.rows.columns:
            return F.col(quoted(value))
        if not isinstance(value, str | Column):
            raise TopologyError(
                self._label,
                f"{value!r} is neither SQL text nor a Column",
                "Write for example sum('rate').",
            )
        check_text(self._label, value)
        return as_column(value)

    def _time_for(self, written: str) -> str:
        if self._time is None:
            raise TopologyError(
                self._label,
                f"{written} goes by event time, and there is no time column",
                "Name it where the stream starts: Stream.read(df, time='ts').",
            )
        name = self._own(("time",), self._time)
        self._written[name] = self._time_name
        return name

    def _own(self, key: Hashable, column: Column) -> str:
        if key in self._known:
            return self._known[key][0]
        name = input_name(len(self._columns))
        self._columns.append(column.alias(name))
        self._known[key] = name, ""
        return name


def _key(value: Any) -> Hashable:
    return value if value is None or isinstance(value, str) else ("column", id(value))


def _ordering(schema: StructType, time: str) -> Column:
    """Order by the time itself; a window comes at its end."""
    column = F.col(quoted(time))
    return column["end"] if isinstance(schema[time].dataType, StructType) else column
