"""Operators in one short line each, so that a test's topology reads like its drawing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.topology.operators import (
    Compute,
    Consolidate,
    DeadLetters,
    Filter,
    Join,
    LateRows,
    Map,
    MapBatches,
    OnError,
    Output,
    Process,
    Select,
    Source,
    Union,
)
from penstock.topology.schema import Column, Schema
from penstock.windows.panes import paned
from penstock.windows.specs import tumbling
from penstock.windows.watermark import FixedDelay

ROWS = Schema((Column("x", "int"), Column("ts", "timestamp")))
TEXTS = (Column("user", "string"), Column("area", "string"), Column("amount", "string"))
LOANS = Schema((*TEXTS, Column("ts", "timestamp")))
PANES = paned((tumbling("10 minutes"), tumbling("1 hour")))
LETTERS = Schema((Column("operator", "string"), Column("row", "string")))


@dataclass(frozen=True)
class NamedSink:
    """Stands for a sink of ours, which reads every row once."""

    reads_all = True

    text: str = "memory()"

    def describe(self) -> str:
        return self.text


def work(row: dict[str, Any]) -> dict[str, Any]:
    return row


def source(name: str, time: str | None = "ts") -> Source:
    watermark = FixedDelay.of("10 seconds") if time else None
    return Source(name=name, schema=ROWS, time=time, data=None, watermark=watermark)


def map_(name: str, reads: str, on_error: OnError = "fail") -> Map:
    return Map(
        name=name,
        schema=ROWS,
        inputs=(reads,),
        time="ts",
        function=work,
        returns=None,
        on_error=on_error,
    )


def map_batches(name: str, reads: str, on_error: OnError = "fail") -> MapBatches:
    return MapBatches(
        name=name,
        schema=ROWS,
        inputs=(reads,),
        time="ts",
        function=work,
        returns=None,
        on_error=on_error,
    )


def process(name: str, reads: str, on_error: OnError = "fail") -> Process:
    return Process(
        name=name,
        schema=ROWS,
        inputs=(reads,),
        time="ts",
        function=work,
        returns=None,
        on_error=on_error,
        key_columns=Schema((Column("x", "int"),)),
        state_columns=Schema((Column("n", "bigint"),)),
        groups=8,
        rows=None,
        state=None,
    )


def select(name: str, reads: str, *expressions: str, row_by_row: bool = True) -> Select:
    return Select(
        name=name,
        schema=ROWS,
        inputs=(reads,),
        time="ts",
        expressions=expressions or ("x", "ts"),
        row_by_row=row_by_row,
    )


def filter_(name: str, reads: str, condition: str = "x > 0") -> Filter:
    return Filter(name=name, schema=ROWS, inputs=(reads,), time="ts", condition=condition)


def union(name: str, *reads: str) -> Union:
    return Union(name=name, schema=ROWS, inputs=reads, time="ts")


def join(name: str, reads: str, refresh_seconds: float | None = None) -> Join:
    return Join(
        name=name,
        schema=ROWS,
        inputs=(reads,),
        time="ts",
        table=None,
        on=("x",),
        how="left",
        refresh_seconds=refresh_seconds,
    )


def late_rows(name: str, reads: str, time: str | None = "ts") -> LateRows:
    return LateRows(name=name, schema=ROWS, inputs=(reads,), time=time)


def dead_letters(name: str, *reads: str) -> DeadLetters:
    return DeadLetters(name=name, schema=LETTERS, inputs=reads)


def sink(name: str, reads: str, text: str = "memory()") -> Output:
    return Output(name=name, schema=ROWS, inputs=(reads,), sink=NamedSink(text))


# Rows with several columns, for what depends on which of them are kept.


def loans(name: str, **cardinalities: int) -> Source:
    return Source(name=name, schema=LOANS, time="ts", data=None, cardinalities=cardinalities)


def rate(
    name: str, reads: str, *keeps: str, fuse: bool = True, component: str | None = None
) -> Map:
    return Map(
        name=name,
        schema=LOANS,
        inputs=(reads,),
        time="ts",
        function=work,
        returns=None,
        kept={column: column for column in keeps},
        fuse=fuse,
        component=component,
    )


def renamed(name: str, reads: str, **kept: str) -> Select:
    """Give columns other names: ``renamed("s", "a", place="area")``."""
    columns = tuple(Column(column, "string") for column in kept)
    return Select(
        name=name,
        schema=Schema((*columns, Column("ts", "timestamp"))),
        inputs=(reads,),
        time="ts",
        expressions=tuple(f"{before} AS {after}" for after, before in kept.items()),
        kept=kept,
    )


def by_key(name: str, reads: str, *keys: str, keeps: bool = True, groups: int = 8) -> Process:
    return Process(
        name=name,
        schema=LOANS,
        inputs=(reads,),
        time="ts",
        function=work,
        returns=None,
        key_columns=Schema(tuple(Column(key, "string") for key in keys)),
        state_columns=Schema((Column("n", "bigint"),)),
        groups=groups,
        rows=None,
        state=None,
        kept={key: key for key in keys} if keeps else {},
    )


def windows(
    name: str, reads: str, *keys: str, fuse: bool = True, moves_rows: bool = False
) -> tuple[Compute, Consolidate]:
    """Partials and windows, as ``group_by(*keys).window(...).aggregate(name=name)`` makes them."""
    columns = tuple(Column(key, "string") for key in keys)
    compute = Compute(
        name=f"{name}_partials",
        schema=Schema(columns),
        inputs=(reads,),
        time="ts",
        keys=keys,
        panes=PANES,
        rows=None,
        aggregation=None,
        aggregates="n=count()",
        meaning="count()",
        state="n bigint",
        fuse=fuse,
        moves_rows=moves_rows,
    )
    consolidate = Consolidate(
        name=name,
        schema=Schema((*columns, Column("window", "struct<start:timestamp,end:timestamp>"))),
        inputs=(compute.name,),
        time="window",
        panes=PANES,
        returns=None,
        emit="on_close",
    )
    return compute, consolidate
