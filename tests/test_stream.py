from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import penstock as ps
from penstock.sinks.memory_sink import MemorySink


@pytest.fixture
def ticks(spark: SparkSession) -> DataFrame:
    """A stream with the columns timestamp and value."""
    return spark.readStream.format("rate").load()


@pytest.fixture
def stream(ticks: DataFrame) -> ps.Stream:
    return ps.Stream.read(ticks, time="timestamp", watermark="10 seconds", name="ticks")


def same(row: dict[str, Any]) -> dict[str, Any]:
    return row


Mistake = Callable[[ps.Stream], object]


@pytest.mark.parametrize(
    ("mistake", "operator", "problem", "remedy"),
    [
        (
            lambda s: s.select("valeu", name="pick"),
            "pick",
            'unknown column `valeu` in "valeu"',
            "Columns here: timestamp, value",
        ),
        (lambda s: s.select("value +", name="pick"), "pick", "does not accept", "Columns here"),
        (lambda s: s.select(name="pick"), "pick", "no columns are selected", "select('a'"),
        (lambda s: s.select("value", "1 AS value", name="p"), "p", "'value' is there twice", "AS"),
        (lambda s: s.select("sum(value)"), "select", "needs all rows", "windows"),
        (
            lambda s: s.select("row_number() OVER (ORDER BY value) AS n"),
            "select",
            "needs all rows",
            "windows",
        ),
        (lambda s: s.select(F.col("nope")), "select", "unknown column `nope`", "Columns here"),
        (lambda s: s.filter("nope > 1"), "filter", "unknown column `nope`", "timestamp, value"),
        (lambda s: s.filter("value"), "filter", "does not accept", "Columns here"),
        (
            lambda s: s.union(s.select("value"), name="both"),
            "both",
            "column 'timestamp' is on one side only",
            "select",
        ),
        (
            lambda s: s.union(s.select("timestamp", "cast(value AS string) AS value")),
            "union",
            "bigint on one side and string on the other",
            "select",
        ),
        (lambda s: s.map(same, "oops oops oops"), "same", "not readable", "user string"),
        (lambda s: s.map(same, ""), "same", "", "user string"),
        (lambda s: s.map(same, 7), "same", "schema is a int", "StructType"),
        (lambda s: s.map(same, "a int, A string"), "same", "'A' is there twice", "once"),
        (lambda s: s.map(same, "_penstock_x int"), "same", "is Penstock's own", "Choose one"),
        (
            lambda s: s.select("timestamp", "value AS _watermark").late_rows(),
            "late_rows",
            "'_watermark' is there twice",
            "Rename yours",
        ),
        (lambda s: s.map(7, "a int", name="seven"), "seven", "can't be called", "function"),
        (lambda s: s.map(same, "a int", on_error="shrug"), "same", "'shrug'", "dead_letter"),
        (lambda s: s.map(same, "a int", name="a-b"), "a-b", "identifier", "op_a_b"),
        (lambda s: s.filter("value > 1", name="class"), "class", "identifier", "op_class"),
        (lambda s: s.dead_letters(), "dead_letters", "sets rows aside", "on_error='dead_letter'"),
        (
            lambda s: s.select("value").late_rows(),
            "late_rows",
            "'select' has no event-time column",
            "keep that column",
        ),
        (lambda s: s.to(3, name="end"), "end", "a int is no sink", "ps.sinks"),
        (lambda s: s.to(MemorySink), "sink", "MemorySink is a class", "MemorySink(...)"),
        (lambda s: s.select(5), "select", "a int is neither SQL text nor a Column", "select('a'"),
        (lambda s: s.select("value", None), "select", "None is neither SQL", "select('a'"),
        (lambda s: s.select(["value"]), "select", "a list is neither SQL", "select('a'"),
        (lambda s: s.filter(None), "filter", "None is neither SQL text", "filter('a > 1')"),
        (lambda s: s.filter(True, name="all"), "all", "a bool is neither SQL", "filter('a > 1')"),
        (lambda s: s.union("x"), "union", "a str is no stream", "a.union(b, c)"),
        (lambda s: s.union(s.schema), "union", "a StructType is no stream", "a.union(b, c)"),
        (lambda s: s.union(), "union", "nothing to unite", "a.union(b)"),
        (lambda s: s.select("no such"), "select", "unknown column `no`", "Columns here"),
        (lambda s: s.select("`no such`"), "select", "unknown column `no such` in", "Columns"),
    ],
)
def test_a_mistake_is_told_at_once_with_the_operator_and_what_to_write(
    stream: ps.Stream, mistake: Mistake, operator: str, problem: str, remedy: str
) -> None:
    with pytest.raises(ps.TopologyError) as raised:
        mistake(stream)
    assert raised.value.operator == operator
    assert problem in raised.value.problem
    assert remedy in raised.value.remedy


def test_a_source_must_be_a_stream_with_the_time_column_it_names(
    spark: SparkSession, ticks: DataFrame
) -> None:
    with pytest.raises(ps.TopologyError, match="a table, not a stream"):
        ps.Stream.read(spark.range(3), name="numbers")
    with pytest.raises(ps.TopologyError, match=r"'ts' is missing.*columns here: timestamp"):
        ps.Stream.read(ticks, time="ts")
    with pytest.raises(ps.TopologyError, match="'value' is bigint"):
        ps.Stream.read(ticks, time="value")
    with pytest.raises(ps.TopologyError, match="a watermark needs a time column"):
        ps.Stream.read(ticks, watermark="1 second")
    with pytest.raises(ps.ConfigurationError, match="is not a length of time"):
        ps.Stream.read(ticks, time="timestamp", watermark="soon")
    with pytest.raises(ps.ConfigurationError, match="expected a Spark DataFrame, got a list"):
        ps.Stream.read([1, 2])  # type: ignore[arg-type]
    with pytest.raises(ps.TopologyError, match="no watermark"):
        ps.Stream.read(ticks, time="timestamp").late_rows()
    with pytest.raises(ps.TopologyError, match=r"time is a Column, not the name.*time='ts'"):
        ps.Stream.read(ticks, time=F.col("timestamp"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "kind", ["interval year to month", "array<interval month>", "interval", "varchar(5)"]
)
def test_types_that_cannot_reach_python_are_refused(stream: ps.Stream, kind: str) -> None:
    with pytest.raises(ps.TopologyError, match=r"'same': column 'b' is .*can't travel.*string"):
        stream.map(same, f"a int, b {kind}")


def test_rows_with_a_column_that_cannot_reach_python_are_refused(stream: ps.Stream) -> None:
    months = stream.select("make_ym_interval(1, 2) AS months")
    with pytest.raises(ps.TopologyError, match=r"'same': column 'months' is interval.*string"):
        months.map(same, "a int")


def test_after_a_union_a_column_may_be_null_if_it_may_on_any_side(stream: ps.Stream) -> None:
    sure = stream.select("1 AS a", "named_struct('x', 1) AS b", "array(1) AS c")
    unsure = stream.select(
        "array(1, NULL) AS c", "if(value > 1, 1, NULL) AS a", "named_struct('x', 1) AS b"
    )
    assert [field.nullable for field in sure.schema] == [False, False, False]
    for both in (sure.union(unsure), sure.union(sure, unsure)):
        assert both.columns == ("a", "b", "c")
        assert [field.nullable for field in both.schema] == [True, False, False]
        assert both.schema["c"].dataType.containsNull  # type: ignore[attr-defined]
        assert [column.nullable for column in both._operator.schema] == [True, False, False]


def test_columns_may_have_any_name(spark: SparkSession, stream: ps.Stream) -> None:
    odd = stream.select("value AS `a.b`", "timestamp AS `c``d`", F.col("value").alias("e f"))
    assert odd.columns == ("a.b", "c`d", "e f")
    assert odd.select("`a.b` + 1 AS `a.b`", "`c``d`").columns == ("a.b", "c`d")
    assert odd.filter("`e f` > 1").map(same, "`g.h` int, `i``j` int").columns == ("g.h", "i`j")
    table = spark.createDataFrame([], "`a.b` bigint, `k``l` string")
    assert odd.join(table, on="a.b").columns == ("a.b", "c`d", "e f", "k`l")
    assert odd.union(odd).columns == odd.columns
    df = spark.readStream.format("rate").load().toDF("t`s.x", "value")
    timed = ps.Stream.read(df, time="t`s.x", watermark="1 second")
    assert timed.late_rows().columns == ("t`s.x", "value", "_watermark", "_missed")


@pytest.mark.parametrize(
    ("column", "sink", "operator", "problem", "remedy"),
    [
        (
            "n",
            ps.sinks.parquet("out", partition_by=["area"]),
            "parquet",
            "partition_by column 'area', which is not among the columns n, value",
            "drop it from partition_by.",
        ),
        ("Batch_id", ps.sinks.json("out"), "json", "a column named 'batch_id'", "AS my_batch_id"),
        (
            "n",
            ps.sinks.jdbc("jdbc:postgresql://db/shop", "t", ["id"]),
            "jdbc",
            "the column 'id' (keys or order_by), which is not among n, value",
            "select(...)",
        ),
        (
            "n",
            ps.sinks.jdbc("jdbc:postgresql://db/shop", "t", ["value"], order_by="ts"),
            "jdbc",
            "the column 'ts'",
            "select(...)",
        ),
    ],
)
def test_columns_that_a_sink_cannot_take_are_told_at_once(
    stream: ps.Stream, column: str, sink: ps.sinks.Sink, operator: str, problem: str, remedy: str
) -> None:
    with pytest.raises(ps.TopologyError) as raised:
        stream.select(f"1 AS {column}", "value").to(sink)
    assert raised.value.operator == operator
    assert problem in raised.value.problem
    assert remedy in raised.value.remedy


def test_streams_are_not_changed_and_their_columns_are_known(stream: ps.Stream) -> None:
    picked = stream.select("value * 2 AS double", "timestamp")
    assert stream.columns == ("timestamp", "value")
    assert picked.columns == ("double", "timestamp")
    assert picked.schema.simpleString() == "struct<double:bigint,timestamp:timestamp>"
    letters = stream.map(same, "a int", on_error="dead_letter").dead_letters()
    assert letters.columns == ("operator", "error", "message", "row", "traceback")


def test_explain_shows_what_runs_where(stream: ps.Stream) -> None:
    s = stream.select("value").map(same, "value bigint", name="one").map(same, "value bigint")
    text = s.filter("value > 1").explain()
    assert "ticks: JVM(ticks) -> JVM(select)\n" in text
    assert "one: Python(one + same) -> JVM(filter)\n" in text
    end = s.to(ps.sinks.memory())
    drawing = end.explain(format="mermaid")
    assert drawing.startswith("flowchart LR")
    assert "op_one --> op_same" in drawing
    with pytest.raises(ps.ConfigurationError, match="there is no format 'pdf'"):
        s.explain(format="pdf")  # type: ignore[arg-type]
    # Looking leaves no trace: the stream still leads nowhere until it gets a sink.
    with pytest.raises(ps.TopologyError, match="leads to no sink"):
        ps.run(stream.to(ps.sinks.memory()), end, checkpoint="unused")
