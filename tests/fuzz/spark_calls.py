"""Every public name that needs Spark, with arguments that work."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

import penstock as ps
import penstock.testing as pt
from fuzz.calling import Call
from fuzz.wrong_values import takes_nothing
from penstock.testing.batches_run import GivenRows

SCHEMA = "a bigint, b double, ts timestamp"
FEW: tuple[Any, ...] = (
    None,
    -1,
    10**400,
    float("nan"),
    "",
    "no_such_column",
    "'; DROP TABLE users; --",
    "sum(a) OVER (",
    "naïve \x00",
    "\ud800",
    b"bytes",
    [None],
    ["a", 3],
    {"a": None},
    {1: 2},
    object,
    takes_nothing,
    np.array([1.0, 2.0]),
    pd.DataFrame({"a": [1, 2]}),
)
REFUSED: tuple[Any, ...] = (
    -1,
    float("nan"),
    "\ud800",
    b"bytes",
    [None],
    {1: 2},
    np.array([1.0, 2.0]),
    object,
)
"""What no setting of a run can be: what worked would start a query each time."""


class Largest(ps.Aggregate):
    """An aggregate of one's own, for ``reduce``."""

    state = "most bigint"
    result = "most bigint"

    def compute(self, state: pa.RecordBatch | None, batch: pa.RecordBatch) -> pa.RecordBatch:
        known = [] if state is None else state.column("most").to_pylist()
        return pa.RecordBatch.from_pydict({"most": [max([*known, *batch.column("a").to_pylist()])]})

    def consolidate(self, states: list[pa.RecordBatch]) -> pa.RecordBatch:
        return pa.RecordBatch.from_pydict(
            {"most": [max(each.column("most")[0].as_py() for each in states)]}
        )

    def finish(self, state: pa.RecordBatch) -> pa.RecordBatch:
        return state


def as_it_is(row: dict[str, Any]) -> dict[str, Any]:
    """Give a row back."""
    return row


def unchanged(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Give a batch back."""
    return batch


def keep(key: tuple[Any, ...], rows: list[dict[str, Any]], state: ps.KeyState) -> None:
    """Keep nothing."""


def spark_calls(spark: SparkSession, directory: Path) -> dict[str, Call]:
    """Return the calls, on streams and tables of three columns."""
    rows = directory / "rows"
    rows.mkdir(exist_ok=True)
    frame = spark.readStream.schema(SCHEMA).parquet(str(rows))
    stream = ps.Stream.read(frame, time="ts", watermark="1 second", name="rows")
    table = spark.createDataFrame([(1, 2.0)], "a bigint, b double")
    return dict(
        [
            *_of_streams(frame, stream, table),
            *_of_windows(stream),
            *_of_tables(table),
            *_of_runs(spark, frame, directory),
            *_of_sources(spark),
            *_of_testing(spark, directory),
        ]
    )


def _of_streams(
    frame: DataFrame, stream: ps.Stream, table: DataFrame
) -> Iterator[tuple[str, Call]]:
    read = {"df": frame, "time": "ts", "watermark": "1 second"}
    yield "Stream.read", Call(ps.Stream.read, read, values=FEW)
    mapped = {"fn": as_it_is, "schema": SCHEMA}
    yield "Stream.map", Call(stream.map, mapped, values=FEW)
    batches = {"fn": unchanged, "schema": SCHEMA}
    yield "Stream.map_batches", Call(stream.map_batches, batches, values=FEW)
    yield "Stream.select", Call(stream.select, {"expressions": ["a"]}, values=FEW)
    yield "Stream.filter", Call(stream.filter, {"condition": "a > 1"}, values=FEW)
    yield "Stream.union", Call(stream.union, {"others": [stream]}, values=FEW)
    yield "Stream.join", Call(stream.join, {"table": table.select("a"), "on": "a"}, values=FEW)
    yield "Stream.group_by", Call(stream.group_by, {"columns": ["a"]}, values=FEW)
    yield "Stream.window", Call(stream.window, {"specs": [ps.tumbling(1)]}, values=FEW)
    yield "Stream.late_rows", Call(stream.late_rows, values=FEW)
    failing = stream.map(as_it_is, SCHEMA, on_error="dead_letter")
    yield "Stream.dead_letters", Call(failing.dead_letters, values=FEW)
    yield "Stream.to", Call(stream.to, {"sink": ps.sinks.memory()}, values=FEW)
    unread = stream.map(as_it_is, SCHEMA)
    yield "Stream.component", Call(unread.component, {"name": "mine"}, values=FEW)
    yield "Stream.explain", Call(stream.explain, values=FEW)
    outlet = stream.to(ps.sinks.memory())
    yield "Outlet.explain", Call(outlet.explain, values=FEW)


def _of_windows(stream: ps.Stream) -> Iterator[tuple[str, Call]]:
    grouped = stream.group_by("a")
    process = {"fn": keep, "state": "n bigint", "schema": "a bigint"}
    yield "Grouped.process", Call(grouped.process, process, values=FEW)
    yield "Grouped.window", Call(grouped.window, {"specs": [ps.tumbling(1)]}, values=FEW)
    windows = grouped.window(ps.tumbling(1))
    yield "Windowed.aggregate", Call(windows.aggregate, {"n": ps.count()}, values=FEW)
    yield "Windowed.reduce", Call(windows.reduce, {"aggregate": Largest()}, values=FEW)
    yield "Windowed.skyline", Call(windows.skyline, {"minimize": ["b"]}, values=FEW)
    best = {"delta": 3, "minimize": ["b"], "maximize": ["ts"]}
    yield "Windowed.top_dominant", Call(windows.top_dominant, best, values=FEW)


def _of_tables(table: DataFrame) -> Iterator[tuple[str, Call]]:
    timed = table.selectExpr("a", "b", "timestamp_seconds(a) AS ts")
    sums = {
        "df": timed,
        "time": "ts",
        "windows": ps.tumbling(10),
        "aggs": {"n": ps.count()},
    }
    yield "windowed", Call(ps.windowed, sums, values=FEW)
    yield "skyline", Call(ps.skyline, {"df": table, "minimize": ["b"]}, values=FEW)
    best = {"df": table, "delta": 3, "minimize": ["b"]}
    yield "top_dominant", Call(ps.top_dominant, best, values=FEW)
    yield "balance", Call(ps.balance, {"df": table, "k": 2, "cost": "b"}, values=FEW)
    yield "KeyCosts.timed", Call(ps.KeyCosts("a").timed, {"function": iter}, values=FEW)
    learn = {"df": table, "seconds": "b"}
    yield "KeyCosts.learn", Call(ps.KeyCosts("a").learn, learn, values=FEW)


def _of_runs(spark: SparkSession, frame: DataFrame, directory: Path) -> Iterator[tuple[str, Call]]:
    def run(*outlets: Any, **settings: Any) -> ps.Query:
        # Of a stream of its own: every branch of one must lead to a sink.
        stream = ps.Stream.read(frame, time="ts", watermark="1 second", name="rows")
        given = outlets or (stream.to(ps.sinks.memory()),)
        where = str(directory / f"checkpoint-{uuid.uuid4().hex}")
        return ps.run(*given, **{"checkpoint": where, "available_now": True, **settings})

    run.__signature__ = _signature(ps.run)  # type: ignore[attr-defined]
    yield "run", Call(run, then=lambda query: query.stop(), values=REFUSED, left_out=("clock",))
    watch = {"spark": spark, "dry_run": True}
    yield (
        "autoscale",
        Call(
            ps.autoscale, watch, then=lambda made: made.stop(), values=REFUSED, left_out=("clock",)
        ),
    )
    yield from _of_a_query(spark, run())
    context = {"context": spark.sparkContext}
    yield "LocalSlots.available", Call(ps.LocalSlots(2).available, context, values=FEW)


def _of_a_query(spark: SparkSession, query: ps.Query) -> Iterator[tuple[str, Call]]:
    """Give what is asked of a query, of one that has ended: tests/engine has one that runs."""
    query.await_termination()
    ended = query.await_termination
    yield "Query.await_termination", Call(ended, {"timeout": 1.0}, values=FEW)
    yield "Query.stop", Call(query.stop, {"timeout": 1.0}, values=FEW)
    yield "Query.explain", Call(query.explain, values=FEW)
    yield "Query.when_ended", Call(query.when_ended, {"then": dict}, values=FEW)
    watching = ps.autoscale(spark, dry_run=True)
    watching.stop()
    yield "Autoscaler.when_ended", Call(watching.when_ended, {"then": dict}, values=FEW)


def _signature(function: Any) -> Any:
    import inspect

    return inspect.signature(function)


def _of_sources(spark: SparkSession) -> Iterator[tuple[str, Call]]:
    pattern = {"pattern": ps.sources.Steady(10), "duration_seconds": 1, "spark": spark}
    yield "sources.generate", Call(ps.sources.generate, pattern, values=FEW)
    records = (
        spark.readStream.format("rate")
        .load()
        .selectExpr(
            "array(named_struct('key', 'a', 'value', binary('b'))) AS headers",
            "'clicks' AS topic",
            "0 AS partition",
            "value AS offset",
        )
    )
    once = {"records": records, "within": "1 day"}
    yield "sources.kafka_once", Call(ps.sources.kafka_once, once, values=FEW)
    yield "sources.replay", Call(ps.sources.replay, {"trace": [1, 2], "spark": spark}, values=FEW)


def _of_testing(spark: SparkSession, directory: Path) -> Iterator[tuple[str, Call]]:
    batches = {"batches": [[{"n": 1}]], "schema": "n bigint", "spark": spark}
    source = pt.MemorySource([[(1,)]], "n bigint", directory=directory / "mine", spark=spark)
    yield (
        "testing.MemorySource",
        Call(
            pt.MemorySource,
            {**batches, "directory": directory / "theirs"},
            values=FEW,
            left_out=("directory",),
        ),
    )
    yield "testing.MemorySource.add", Call(source.add, {"batches": [[(2,)]]}, values=FEW)
    yield "testing.MemorySource.fail", Call(source.fail, {"batch": 0}, values=FEW)
    yield "testing.MemorySource.failures", Call(source.failures, {"batch": 0}, values=FEW)
    yield "testing.MemorySource.rewind", Call(source.rewind, {"to_batch": 0}, values=FEW)
    same = {"actual": [{"n": 1}], "expected": [{"n": 1}]}
    # Those that check are there to fail with AssertionError.
    wrong = (AssertionError,)
    yield "testing.assert_rows", Call(pt.assert_rows, same, also=wrong, values=FEW)
    given = {"source": GivenRows(StructType.fromDDL("n bigint"), ())}
    done = pt.BatchesRun(pt.SinkRows({"a": []}), (), inputs=given)
    as_batch = {"run": done, "query": lambda df: df, "spark": spark}
    yield (
        "testing.assert_same_as_batch",
        Call(pt.assert_same_as_batch, as_batch, also=wrong, values=FEW),
    )
    largest = {"aggregate": Largest(), "rows": [{"a": 1}, {"a": 2}], "tries": 2}
    yield "testing.check_aggregate", Call(pt.check_aggregate, largest, also=wrong, values=FEW)
    over = {"topology": as_stream, **batches}
    yield "testing.run_batches", Call(pt.run_batches, over, values=REFUSED, left_out=("clock",))
    yield "testing.spark_session", Call(pt.spark_session, values=REFUSED)
    yield "testing.BatchesRun.events_of", Call(done.events_of, {"kind": ps.Decision}, values=FEW)


def as_stream(stream: ps.Stream) -> ps.Stream:
    """Give a stream back."""
    return stream
