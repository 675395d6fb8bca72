"""What can be wrong with a preference query as the user wrote it, told before anything runs."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal

from pyspark.sql.types import (
    BooleanType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    NumericType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from penstock.arguments import is_text, shown
from penstock.errors import TopologyError
from penstock.preference.points import MOST_DIGITS
from penstock.preference.preference import Preference

NewColumn = Literal["k_column", "counts"]
_NEW_COLUMNS: dict[NewColumn, str] = {"k_column": "k", "counts": "beaten"}
_COMPARED = (
    NumericType,
    BooleanType,
    DateType,
    TimestampType,
    TimestampNTZType,
    DayTimeIntervalType,
)


def check_compared(
    operator: str, preference: Preference, schema: StructType, keys: Collection[str] = ()
) -> None:
    """Refuse columns that are not there, of which no value is better, or that are keys."""
    for name in preference.columns:
        if name not in schema.names:
            raise TopologyError(
                operator,
                f"{name!r} is no column of the rows",
                f"Columns here: {', '.join(schema.names)}; make others with select(...).",
            )
        if name in keys:
            raise TopologyError(
                operator,
                f"rows are grouped by '{name}', so that it is the same for all that are compared",
                "Leave it out of minimize and maximize, or out of the groups.",
            )
        _check_type(operator, name, schema[name].dataType)


def _check_type(operator: str, name: str, kind: DataType) -> None:
    if isinstance(kind, DecimalType) and kind.precision > MOST_DIGITS:
        fewer = f"decimal({MOST_DIGITS},{min(kind.scale, MOST_DIGITS)})"
        raise TopologyError(
            operator,
            f"column '{name}' is {kind.simpleString()}, and {MOST_DIGITS} digits are the most",
            f"Cast it before: CAST({name} AS {fewer}), or to double, which rounds to about 16 "
            "digits.",
        )
    if not isinstance(kind, _COMPARED):
        raise TopologyError(
            operator,
            f"column '{name}' is {kind.simpleString()}, of which no value is better than another",
            "Compare numbers, decimals, booleans, dates or timestamps.",
        )


def check_keys(operator: str, schema: StructType, keys: Collection[str]) -> None:
    """Refuse groups that Spark and Python, which both form them, would tell apart differently."""
    for name in keys:
        kind = schema[name].dataType.simpleString()
        if "map<" in kind or "collate" in kind:
            plain = (
                f"map_entries({name})" if "map<" in kind else f"lower({name}) COLLATE UTF8_BINARY"
            )
            raise TopologyError(
                operator,
                f"the key '{name}' is {kind}, and rows are grouped by keys equal byte by byte",
                f"Make a plain key of it before, such as {plain}.",
            )


def check_delta(operator: str, delta: Any) -> None:
    """Refuse a number of rows that is none."""
    if not isinstance(delta, int) or isinstance(delta, bool) or delta < 1:
        raise TopologyError(
            operator,
            f"delta is {delta!r}",
            "Write how many rows are wanted at least, such as top_dominant(100, ...).",
        )


def check_new_column(operator: str, argument: NewColumn, name: Any) -> None:
    """Refuse what is no name of a column."""
    if not is_text(name) or not name:
        raise TopologyError(
            operator,
            f"{argument} is {shown(name)}",
            f"Write the name of a new column, such as '{_NEW_COLUMNS[argument]}'.",
        )
