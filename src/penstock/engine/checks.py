"""What can be wrong with an operator as the user wrote it, told before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pyspark.sql import Column, DataFrame
from pyspark.sql.types import StructType

from penstock.arguments import is_one_of, shown
from penstock.classic_session import require_classic
from penstock.engine.schemas import check_arrow, check_columns, check_text, schema_of
from penstock.errors import ConfigurationError, SinkError, TopologyError, text_of
from penstock.placement.key_groups import check_groups
from penstock.sinks import Sink, call
from penstock.sinks.sink import ChecksColumns
from penstock.topology.dag import label_of
from penstock.topology.operators import Consolidate, Operator, Source
from penstock.topology.schema import Schema, union_problem

How = Literal[
    "inner",
    "left",
    "left_outer",
    "leftouter",
    "left_semi",
    "leftsemi",
    "semi",
    "left_anti",
    "leftanti",
    "anti",
]
JOINS = ("inner", "left", "left_semi", "left_anti")
# Spark reads these without regard to case and underscores.
_JOINS_AS_WRITTEN = {
    "inner": "inner",
    "left": "left",
    "leftouter": "left",
    "semi": "left_semi",
    "leftsemi": "left_semi",
    "anti": "left_anti",
    "leftanti": "left_anti",
}
_JOINS_OF_ALL_ROWS = ("right", "rightouter", "outer", "full", "fullouter")


def check_source(
    operator: str, df: DataFrame, time: Any, until: str | None, has_watermark: bool
) -> None:
    """Refuse a source that is no stream, has a column twice, or no such time column."""
    if not df.isStreaming:
        raise TopologyError(
            operator,
            "its DataFrame is a table, not a stream",
            "Read it with spark.readStream, or join a stream with it.",
        )
    check_columns(operator, df.schema, "Rename one with df.toDF(...)")
    if time is None:
        if has_watermark:
            remedy = "Write Stream.read(df, time='ts', watermark=...)."
            raise TopologyError(operator, "a watermark needs a time column", remedy)
        return
    if not isinstance(time, str):
        raise TopologyError(
            operator,
            f"time is {_a(time)}, not the name of a column",
            "Write Stream.read(df, time='ts').",
        )
    schema = schema_of(df.schema)
    for name in (time, until) if until is not None else (time,):
        if schema.type_of(name) != "timestamp":
            found = schema.type_of(name)
            known = [column.name for column in schema if column.type == "timestamp"]
            raise TopologyError(
                operator,
                f"the time column '{name}' is {found or 'missing'}",
                f"Timestamp columns here: {', '.join(known) or 'none; cast one to timestamp'}.",
            )


def check_selected(operator: str, expressions: Sequence[Any]) -> None:
    """Refuse a select without columns, or of what is neither SQL nor a Column."""
    remedy = "Write select('a', 'b + 1 AS c')."
    if not expressions:
        raise TopologyError(operator, "no columns are selected", remedy)
    for expression in expressions:
        check_expression(operator, expression, remedy)


def check_expression(operator: str, expression: Any, remedy: str) -> None:
    """Refuse what is neither SQL nor a Column."""
    if not isinstance(expression, str | Column):
        raise TopologyError(operator, f"{_a(expression)} is neither SQL text nor a Column", remedy)
    check_text(operator, expression)


def check_function(operator: str, function: Any, on_error: Any) -> None:
    """Refuse what can't be called on rows, and an ``on_error`` that there is not."""
    if not callable(function):
        raise TopologyError(operator, f"{_a(function)} can't be called", "Give a function.")
    if not is_one_of(on_error, ("fail", "dead_letter")):
        raise TopologyError(
            operator, f"on_error is {shown(on_error)}", "Write on_error='fail' or 'dead_letter'."
        )


def cost_key(operator: str, schema: Schema, given: Any) -> tuple[str, ...]:
    """Return the columns that a function's cost depends on, which must be there."""
    if given is None:
        return ()
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, tuple | list) or not names:
        raise TopologyError(operator, f"cost_key is {given!r}", "Write cost_key='user'.")
    for name in names:
        if not isinstance(name, str) or name not in schema:
            raise TopologyError(
                operator,
                f"cost_key {name!r} is no column of the stream that it reads",
                f"Columns here: {', '.join(schema.names)}.",
            )
    return tuple(dict.fromkeys(names))


def function_label(function: Any, name: str | None, kind: str) -> str:
    """Return an operator's name: the one given, else the function's, else the operator's kind."""
    fallback = getattr(function, "__name__", kind)
    return label_of(name, fallback if fallback.isidentifier() else kind)


def check_process(operator: str, rows: StructType, keys: Sequence[str], groups: Any) -> None:
    """Refuse keys that can't be told apart in the same way everywhere, and groups that are none."""
    check_arrow(operator, rows)
    for key in keys:
        kind = rows[key].dataType.simpleString()
        if "map<" in kind or "collate" in kind:
            remedy = f"map_entries({key})" if "map<" in kind else f"lower({key})"
            raise TopologyError(
                operator,
                f"the key '{key}' is {kind}, and state is kept by keys that are equal byte by byte",
                f"Make a plain key of it before: select('{remedy} AS ...').",
            )
    try:
        check_groups(groups, "groups={}")
    except ConfigurationError as error:
        problem, _, remedy = str(error).partition(". ")
        raise TopologyError(operator, problem, remedy) from None


def check_union(operator: str, left: Operator, right: Operator) -> None:
    """Refuse streams whose columns are not alike."""
    problem = union_problem(left.schema, right.schema)
    if problem:
        raise TopologyError(
            operator,
            f"{problem} ('{left.name}' and '{right.name}')",
            "Make them alike with select(...) before the union.",
        )


def join_keys(operator: str, on: Any) -> tuple[str, ...]:
    """Return the names of the columns to join on."""
    keys = (on,) if isinstance(on, str) else on
    if not isinstance(keys, list | tuple) or not all(isinstance(key, str) for key in keys):
        raise TopologyError(
            operator,
            f"on is {_a(on)}, not the name of a column or a list of names",
            "Write on='user' or on=['user', 'day']; rename columns with select(...) "
            "where the two sides differ.",
        )
    if not keys:
        raise TopologyError(operator, "there are no columns to join on", "Write on='user'.")
    return tuple(dict.fromkeys(keys))


def join_kind(operator: str, how: Any) -> str:
    """Return the kind of a join as the topology names it, however Spark lets one write it."""
    spelling = str(how).lower().replace("_", "")
    kind = _JOINS_AS_WRITTEN.get(spelling)
    if kind is not None:
        return kind
    if spelling in _JOINS_OF_ALL_ROWS:
        problem = (
            f"a stream can't be joined '{how}' with a table: that gives the table's rows without "
            "a match too, and they are known only when all rows of the stream are"
        )
    elif spelling == "cross":
        problem = "a cross join has no columns to join on, and join always has some"
    else:
        problem = f"there is no join of the kind {how!r}"
    raise TopologyError(operator, problem, f"Write how= one of {', '.join(JOINS)}.")


def join_table(operator: str, table: Any) -> DataFrame:
    """Return the DataFrame of what a user gave as a table; calls it if it is a function."""
    df = table
    if callable(table):
        try:
            df = table()
        except Exception as error:
            raise TopologyError(
                operator,
                f"its table function raised {type(error).__name__}: {text_of(error)}".rstrip("."),
                "It is called without arguments and must return a DataFrame.",
            ) from error
    if not isinstance(df, DataFrame):
        what = f"its table function returned {_a(df)}" if callable(table) else f"{_a(df)} is given"
        raise TopologyError(
            operator,
            f"{what} where a table is due",
            "Give a DataFrame, such as spark.read.parquet('prices'), or a function that returns "
            "one.",
        )
    return require_classic(df)


def check_join(operator: str, stream: Schema, table: DataFrame, on: Sequence[str]) -> None:
    """Refuse a join that a stream and a table can't make."""
    if table.isStreaming:
        raise TopologyError(
            operator, "the table is itself a stream", "Unite streams with union, or read a table."
        )
    for side, names in (("stream", stream.names), ("table", tuple(table.columns))):
        for key in on:
            if key not in names:
                raise TopologyError(
                    operator,
                    f"unknown column '{key}' on the side of the {side}",
                    f"Columns there: {', '.join(names)}.",
                )


def check_late(operator: str, of: Operator, upstream: Sequence[Operator]) -> None:
    """Refuse to look for late rows where there is no time, or no watermark."""
    if any(isinstance(op, Consolidate) for op in upstream):
        raise TopologyError(
            operator,
            "complete windows are never late",
            "Write late_rows() on the stream that the windows read.",
        )
    if of.time is None:
        raise TopologyError(
            operator,
            f"'{of.name}' has no event-time column",
            "Write Stream.read(df, time='ts', watermark='10 seconds') and keep that column "
            "in every select and map on the way.",
        )
    if any(op.watermark is None for op in upstream if isinstance(op, Source)):
        raise TopologyError(
            operator,
            "a source before it has no watermark, so no row is ever late",
            "Write Stream.read(df, time='ts', watermark='10 seconds').",
        )


def check_letters(operator: str, failing: int) -> None:
    """Refuse to look for dead letters where nothing makes any."""
    if not failing:
        raise TopologyError(
            operator,
            "no operator before it sets rows aside",
            "Write map(..., on_error='dead_letter') on the operators whose bad rows you want.",
        )


def as_sink(operator: str, given: Any) -> Sink:
    """Return a sink as it is, and a function as a sink."""
    if isinstance(given, type) and isinstance(given, Sink):
        raise TopologyError(
            operator,
            f"{given.__name__} is a class, not a sink",
            f"Make one: .to({given.__name__}(...)).",
        )
    if isinstance(given, Sink):
        return given
    if not callable(given):
        raise TopologyError(
            operator, f"{_a(given)} is no sink", "Write for example .to(ps.sinks.parquet('out'))."
        )
    return call(given)


def check_sink(operator: str, sink: Sink, columns: Sequence[str]) -> None:
    """Ask a sink that can tell whether it can take these columns."""
    if not isinstance(sink, ChecksColumns):
        return
    try:
        sink.check(columns)
    except SinkError as error:
        # Sinks say what to do in their last sentence, where they know it.
        problem, _, remedy = str(error).rstrip(".").rpartition(". ")
        if not problem:
            problem, remedy = remedy, "Change the columns with select(...), or the sink's settings"
        raise TopologyError(operator, problem, f"{remedy}.") from None


def _a(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"
