from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import penstock as ps


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


def test_joins_that_a_stream_cannot_make_are_refused(
    spark: SparkSession, ticks: DataFrame, stream: ps.Stream
) -> None:
    table = spark.createDataFrame([(1, "a")], "value bigint, name string")
    with pytest.raises(ps.TopologyError, match=r"joined 'right'.*inner, left"):
        stream.join(table, on="value", how="right")  # type: ignore[arg-type]
    with pytest.raises(ps.TopologyError, match=r"'user' on the side of the stream.*timestamp"):
        stream.join(table, on="user")
    with pytest.raises(ps.TopologyError, match=r"'timestamp' on the side of the table.*name"):
        stream.join(table, on=["value", "timestamp"])
    with pytest.raises(ps.TopologyError, match="itself a stream"):
        stream.join(ticks, on="value")
    clash = table.withColumn("timestamp", F.current_timestamp())
    with pytest.raises(ps.TopologyError, match="'timestamp' is there twice"):
        stream.join(clash, on="value")
    with pytest.raises(ps.TopologyError, match="no columns to join on"):
        stream.join(table, on=[])


def test_streams_are_not_changed_and_their_columns_are_known(stream: ps.Stream) -> None:
    picked = stream.select("value * 2 AS double", "timestamp")
    assert stream.columns == ("timestamp", "value")
    assert picked.columns == ("double", "timestamp")
    assert picked.schema.simpleString() == "struct<double:bigint,timestamp:timestamp>"
    letters = stream.map(same, "a int", on_error="dead_letter").dead_letters()
    assert letters.columns == ("operator", "error", "message", "row", "traceback")


def run(*outlets: ps.Outlet, checkpoint: Path, **options: Any) -> ps.Query:
    return ps.run(*outlets, checkpoint=str(checkpoint), **options)


def test_a_branch_without_a_sink_is_refused_unless_said(stream: ps.Stream, tmp_path: Path) -> None:
    end = stream.to(ps.sinks.memory())
    stream.filter("value > 1").select("value", name="forgotten")
    with pytest.raises(ps.TopologyError, match=r"'forgotten'.*leads to no sink.*\.to\(sink\)"):
        run(end, checkpoint=tmp_path)
    query = run(end, checkpoint=tmp_path, unused="ignore", available_now=True)
    assert query.await_termination(60)
    assert "forgotten" not in query.explain()


def test_two_operators_of_one_name_are_refused_and_unnamed_ones_are_numbered(
    stream: ps.Stream, tmp_path: Path
) -> None:
    twice = stream.filter("value > 1", name="big").filter("value > 2", name="big")
    with pytest.raises(ps.TopologyError, match=r"'big'.*same name.*big_2"):
        run(twice.to(ps.sinks.memory()), checkpoint=tmp_path)
    text = stream.filter("value > 3").filter("value > 4").filter("value > 5").explain()
    assert [name for name in ("filter:", "filter_2:", "filter_3:") if name in text] == [
        "filter:",
        "filter_2:",
        "filter_3:",
    ]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"trigger": "1 second", "available_now": True}, "exclude each other"),
        ({"trigger": 0}, "is no time"),
        ({"trigger": "2 moons"}, "is not a length of time"),
    ],
)
def test_run_refuses_settings_that_cannot_work(
    stream: ps.Stream, tmp_path: Path, options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ps.ConfigurationError, match=problem):
        run(stream.to(ps.sinks.memory()), checkpoint=tmp_path, **options)


def test_run_wants_branches_that_end_in_a_sink(stream: ps.Stream, tmp_path: Path) -> None:
    with pytest.raises(ps.ConfigurationError, match="nothing to run"):
        run(checkpoint=tmp_path)
    with pytest.raises(ps.ConfigurationError, match="not a Stream"):
        run(stream, checkpoint=tmp_path)  # type: ignore[arg-type]
    with pytest.raises(ps.ConfigurationError, match=r"Static\(0\)"):
        ps.Static(0)
    with pytest.raises(ps.ConfigurationError, match="leaves no slot"):
        ps.LocalSlots(max=0)


def test_two_sinks_of_one_query_may_not_write_the_same_place(
    stream: ps.Stream, tmp_path: Path
) -> None:
    out = str(tmp_path / "out")
    a, b = stream.to(ps.sinks.parquet(out)), stream.select("value").to(ps.sinks.parquet(out + "/"))
    with pytest.raises(ps.TopologyError, match=r"'parquet_2'.*'parquet' writes.*too"):
        run(a, b, checkpoint=tmp_path / "checkpoint")


def test_explain_shows_what_runs_where(stream: ps.Stream) -> None:
    s = stream.select("value").map(same, "value bigint", name="one").map(same, "value bigint")
    text = s.filter("value > 1").explain()
    assert "ticks: JVM(ticks) -> JVM(select) -> Python(one + same) -> JVM(filter)" in text
    drawing = s.to(ps.sinks.memory()).explain(format="mermaid")
    assert drawing.startswith("flowchart LR")
    assert "op_one --> op_same" in drawing
    with pytest.raises(ps.ConfigurationError, match="there is no format 'pdf'"):
        s.explain(format="pdf")  # type: ignore[arg-type]
    # Looking leaves no trace: the stream still leads nowhere until it gets a sink.
    with pytest.raises(ps.TopologyError, match="leads to no sink"):
        ps.run(stream.to(ps.sinks.memory()), checkpoint="unused")
