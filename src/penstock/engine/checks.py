"""What can be wrong with an operator as the user wrote it, told before anything runs."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from penstock.engine.schemas import check_columns, schema_of
from penstock.errors import TopologyError
from penstock.topology.schema import Schema

JOINS = ("inner", "left", "left_semi", "left_anti")


def check_source(operator: str, df: DataFrame, time: str | None, has_watermark: bool) -> None:
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
    schema = schema_of(df.schema)
    if schema.type_of(time) != "timestamp":
        found = schema.type_of(time)
        timestamps = [column.name for column in schema if column.type == "timestamp"]
        raise TopologyError(
            operator,
            f"the time column '{time}' is {found or 'missing'}",
            f"Timestamp columns here: {', '.join(timestamps) or 'none; cast one to timestamp'}.",
        )


def check_join(
    operator: str, stream: Schema, table: DataFrame, on: Sequence[str], how: str
) -> None:
    """Refuse a join that a stream and a table can't make."""
    if how not in JOINS:
        raise TopologyError(
            operator,
            f"a stream can't be joined '{how}' with a table, which would need all its rows",
            f"Write how= one of {', '.join(JOINS)}.",
        )
    if table.isStreaming:
        raise TopologyError(
            operator, "the table is itself a stream", "Unite streams with union, or read a table."
        )
    if not on:
        raise TopologyError(operator, "there are no columns to join on", "Write on='user'.")
    for side, names in (("stream", stream.names), ("table", tuple(table.columns))):
        for key in on:
            if key not in names:
                raise TopologyError(
                    operator,
                    f"unknown column '{key}' on the side of the {side}",
                    f"Columns there: {', '.join(names)}.",
                )
