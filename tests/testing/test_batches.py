"""A job over lists of rows: what comes out, when, what is late, what failed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import penstock as ps
from penstock.errors import ConfigurationError, OperatorError, QueryError
from penstock.journal import QueryStarted, WindowsClosed
from penstock.testing import (
    BatchesRun,
    ManualClock,
    assert_rows,
    assert_same_as_batch,
    run_batches,
)
from penstock.testing.quiet_failures import quiet_failures

CLICKS = "user string, n bigint, ts timestamp"
NOON = datetime(2026, 1, 1, 12)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def checked(row: dict[str, Any]) -> dict[str, Any]:
    if row["n"] < 0:
        raise ValueError("less than nothing")
    return row


def totals(clicks: ps.Stream) -> ps.Stream:
    clean = clicks.map(checked, CLICKS, on_error="dead_letter")
    return clean.group_by("user").window(ps.tumbling("10 seconds")).aggregate(n=ps.sum("n"))


# 12:00:  0 ....... 10 ....... 20 ....... 30
# batch 0   a b a!                               the watermark is 5 s behind: 11:59:59
# batch 1                         a              20: closes [0, 10) and [10, 20)
# batch 2   a (late)                b            22
BATCHES = [
    [("a", 1, at(1)), ("b", 2, at(3)), ("a", -1, at(4))],
    [("a", 5, at(25))],
    [("a", 7, at(2)), ("b", 1, at(27))],
]


def clicks(batches: Any = BATCHES, **options: Any) -> BatchesRun:
    return run_batches(totals, batches, CLICKS, time="ts", watermark="5 seconds", **options)


def total(start: int, user: str, n: int) -> dict[str, Any]:
    return {"window": {"start": at(start), "end": at(start + 10)}, "user": user, "n": n}


@pytest.fixture(scope="module")
def done(spark: SparkSession) -> BatchesRun:
    return clicks(spark=spark)


def test_windows_come_out_in_the_batch_that_closes_them(done: BatchesRun) -> None:
    first = [total(0, "a", 1), total(0, "b", 2)]
    assert [len(batch) for batch in done.batches] == [0, 2, 0]
    assert_rows(done.batches[1], first, check_order=False)
    assert_rows(done.rows, first)
    assert done.rows.names == ("windows",)


def test_late_rows_and_dead_letters_are_there_though_nobody_takes_them(done: BatchesRun) -> None:
    missed = Row(name="10 seconds", start=at(0), end=at(10))
    assert done.late_rows == (Row(user="a", n=7, ts=at(2), _watermark=at(20), _missed=[missed]),)
    (letter,) = done.dead_letters
    assert (letter.operator, letter.error, letter.message) == (
        "checked",
        "ValueError",
        "less than nothing",
    )
    assert '"n": -1' in letter.row


def test_watermarks_decisions_and_events_are_told(done: BatchesRun) -> None:
    assert done.watermarks == (at(-1), at(20), at(22))
    assert [decision.slots for decision in done.decisions]
    assert [event.windows for event in done.events_of(WindowsClosed)] == [1]
    assert [event.seq for event in done.events] == [*range(1, len(done.events) + 1)]


def test_all_windows_come_out_when_they_are_closed_at_the_end(spark: SparkSession) -> None:
    done = clicks(close_windows=True, spark=spark)
    assert [len(batch) for batch in done.batches] == [0, 2, 0, 2]
    assert_rows(done.batches[3], [total(20, "a", 5), total(20, "b", 1)])
    assert done.watermarks[:3] == (at(-1), at(20), at(22))
    assert len(done.late_rows) == 1


def test_a_restart_changes_nothing(spark: SparkSession) -> None:
    done = clicks(close_windows=True, restart_after=[0, 2], spark=spark)
    assert len(done.events_of(QueryStarted)) == 3
    assert [len(batch) for batch in done.batches] == [0, 2, 0, 2]
    assert_rows(done.batches[1], [total(0, "a", 1), total(0, "b", 2)])
    assert len(done.late_rows) == len(done.dead_letters) == 1


def test_without_late_rows_it_is_what_spark_computes(spark: SparkSession) -> None:
    def by_spark(df: DataFrame) -> DataFrame:
        rows = df.where("n >= 0")
        return rows.groupBy(F.window("ts", "10 seconds"), "user").agg(F.sum("n").alias("n"))

    done = clicks(BATCHES[:2], close_windows=True, spark=spark)
    assert_same_as_batch(done, by_spark)
    late = clicks(close_windows=True, spark=spark)
    with pytest.raises(AssertionError, match="DIFFERENT_ROWS"):
        assert_same_as_batch(late, by_spark)


def test_sinks_are_swapped_and_nothing_is_written(spark: SparkSession, tmp_path: Path) -> None:
    opened: list[str] = []

    class Forbidden:
        def open(self, query_id: str) -> None:
            opened.append(query_id)

        def write(self, df: DataFrame, batch_id: int) -> None:
            opened.append(f"batch {batch_id}")

        def describe(self) -> str:
            return "forbidden()"

    def job(numbers: ps.Stream) -> list[ps.Outlet]:
        small = numbers.filter("n < 3")
        return [
            numbers.to(ps.sinks.parquet(tmp_path / "out")),
            small.to(Forbidden(), name="small"),
            small.select("-n AS n").to(ps.sinks.parquet(tmp_path / "out")),
        ]

    done = run_batches(job, [[(1,), (2,)], [(3,)]], "n bigint", spark=spark)
    assert done.rows.names == ("parquet", "small", "parquet_2")
    assert [row.n for row in done.rows["parquet"]] == [1, 2, 3]
    assert [row.n for row in done.rows["small"]] == [1, 2]
    assert [row.n for row in done.rows["parquet_2"]] == [-1, -2]
    assert [batch["small"] for batch in done.batches] == [[Row(n=1), Row(n=2)], []]
    assert opened == []
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ConfigurationError, match="there are 3 sinks: parquet, small, parquet_2"):
        list(done.rows)
    with pytest.raises(KeyError, match="no sink 'large'"):
        done.rows["large"]


def test_a_topology_that_takes_late_rows_and_letters_itself(spark: SparkSession) -> None:
    def job(clicks: ps.Stream) -> dict[str, ps.Stream]:
        clean = clicks.map(checked, CLICKS, on_error="dead_letter")
        windows = clean.group_by("user").window(ps.tumbling("10 seconds"))
        return {
            "totals": windows.aggregate(n=ps.sum("n")),
            "late": clean.late_rows(),
            "bad": clean.dead_letters(),
        }

    done = run_batches(job, BATCHES, CLICKS, time="ts", watermark="5 seconds", spark=spark)
    assert done.rows.names == ("totals", "late", "bad")
    assert tuple(done.rows["late"]) == done.late_rows
    assert len(done.late_rows) == 1
    assert tuple(done.rows["bad"]) == done.dead_letters
    assert len(done.dead_letters) == 1


def test_without_windows_rows_behind_the_watermark_are_late(spark: SparkSession) -> None:
    done = run_batches(
        lambda rows: rows.select("n"),
        [[(1, at(30))], [(2, at(20)), (3, at(26))]],
        "n bigint, ts timestamp",
        time="ts",
        watermark="5 seconds",
        spark=spark,
    )
    assert [row.n for row in done.rows] == [1, 2, 3]
    assert [row.n for row in done.late_rows] == [2]


def test_several_sources_by_name(spark: SparkSession) -> None:
    def job(orders: ps.Stream, returns: ps.Stream) -> ps.Stream:
        back = returns.select("item", "-n AS n", "ts")
        both = orders.union(back)
        return both.group_by("item").window(ps.tumbling("10 seconds")).aggregate(n=ps.sum("n"))

    batches = {
        "returns": [[], [("x", 1, at(2))]],
        "orders": [[("x", 5, at(1))], [("y", 2, at(3))], [("x", 1, at(12))]],
    }
    done = run_batches(
        job,
        batches,
        "item string, n bigint, ts timestamp",
        time="ts",
        watermark={"orders": "1 second", "returns": ps.KSlack(at_least="2 seconds")},
        close_windows=True,
        spark=spark,
    )
    expected = [(0, "x", 4), (0, "y", 2), (10, "x", 1)]
    assert sorted((row.window.start, row.item, row.n) for row in done.rows) == [
        (at(start), item, n) for start, item, n in expected
    ]
    assert [len(batch) for batch in done.batches] == [0, 0, 0, 3]
    assert done.watermarks[0] is None

    def by_spark(orders: DataFrame, returns: DataFrame) -> DataFrame:
        both = orders.union(returns.selectExpr("item", "-n", "ts"))
        return both.groupBy(F.window("ts", "10 seconds"), "item").agg(F.sum("n").alias("n"))

    assert_same_as_batch(done, by_spark)


def test_what_made_the_job_fail_is_raised(spark: SparkSession) -> None:
    def job(clicks: ps.Stream) -> ps.Stream:
        return clicks.map(checked, CLICKS)

    with pytest.raises(OperatorError, match="ValueError: less than nothing") as caught:
        run_batches(job, BATCHES, CLICKS, spark=spark)
    assert caught.value.operator == "checked"
    assert 'raise ValueError("less than nothing")' in caught.value.user_traceback


@pytest.fixture
def spark_log(spark: SparkSession) -> Iterator[Callable[[], str]]:
    """Take what Spark logs meanwhile, besides where it goes anyway."""
    java: Any = spark.sparkContext._jvm
    log4j = java.org.apache.logging.log4j
    text = java.java.io.StringWriter()
    appender = log4j.core.appender.WriterAppender.createAppender(
        None, None, text, "kept", False, True
    )
    appender.start()
    root = log4j.LogManager.getContext(False).getConfiguration().getRootLogger()
    root.addAppender(appender, None, None)
    yield lambda: str(text.toString())
    root.removeAppender("kept")


def level_of_spark(spark: SparkSession) -> str:
    java: Any = spark.sparkContext._jvm
    return str(java.org.apache.logging.log4j.LogManager.getLogger("org.apache.spark.x").getLevel())


@pytest.mark.parametrize(
    ("fails", "told"),
    [
        (lambda stream: stream.map(checked, "n bigint"), "less than nothing"),
        (lambda stream: stream.select("raise_error('boom') AS n"), "boom"),
    ],
)
def test_spark_does_not_log_the_failure_that_is_raised(
    spark: SparkSession, spark_log: Callable[[], str], fails: Any, told: str
) -> None:
    before = level_of_spark(spark)
    with pytest.raises(QueryError, match=told):
        run_batches(fails, [[{"n": -1}, {"n": -2}]], "n bigint", spark=spark)
    assert spark_log() == ""
    assert level_of_spark(spark) == before
    spark.sparkContext.setLogLevel("FATAL")
    assert level_of_spark(spark) == "FATAL"
    spark.sparkContext.setLogLevel(before)
    with pytest.raises(Exception, match="boom"):
        spark.sql("SELECT raise_error('boom')").collect()
    assert "Exception in task" in spark_log()


def test_spark_logs_what_it_was_asked_to(spark: SparkSession, spark_log: Callable[[], str]) -> None:
    before = level_of_spark(spark)
    spark.sparkContext.setLogLevel("INFO")
    try:
        with pytest.raises(QueryError, match="boom"):
            run_batches(lambda s: s.select("raise_error('boom') AS n"), [[(1,)]], "n bigint")
    finally:
        spark.sparkContext.setLogLevel(before)
    assert "Exception in task" in spark_log()


def test_the_last_of_runs_that_overlap_gives_the_level_back(spark: SparkSession) -> None:
    before = level_of_spark(spark)
    first, second = quiet_failures(spark), quiet_failures(spark)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert level_of_spark(spark) == "OFF"
    second.__exit__(None, None, None)
    assert level_of_spark(spark) == before


def test_it_leaves_nothing_behind(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of its own: other programs write to the machine's at any time.
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert tempfile.gettempdir() == str(tmp_path)

    def left() -> tuple[list[str], int, int]:
        files = [str(each.relative_to(tmp_path)) for each in tmp_path.rglob("*")]
        queries: Any = spark.streams
        return files, len(queries.active), queries._jsqm.listListeners().__len__()

    used: list[str] = []

    def seen(numbers: ps.Stream) -> ps.Stream:
        used.extend(os.listdir(tmp_path))
        return numbers.filter("n > 1")

    before = left()
    run_batches(seen, [[(1,)], [(2,)]], "n bigint", spark=spark)
    with pytest.raises(OperatorError):
        run_batches(lambda clicks: clicks.map(checked, CLICKS), BATCHES, CLICKS, spark=spark)
    assert used, "this is where it works"
    assert left() == before


def test_policy_placement_slots_and_clock_are_those_given(spark: SparkSession) -> None:
    shown = []

    class Two:
        def decide(self, observation: ps.Observation) -> ps.Decision:
            shown.append((observation.batch_id, observation.at_seconds))
            return ps.Decision(slots=2, reason="two are enough")

    done = run_batches(
        lambda numbers: numbers.map(lambda row: row, "n bigint"),
        [[(1,)], [(2,)], [(3,)]],
        "n bigint",
        policy=Two(),
        placement=ps.LeastLoaded(),
        slots=ps.LocalSlots(max=3),
        clock=ManualClock(1_000),
        spark=spark,
    )
    assert {moment for _, moment in shown} == {1_000.0}
    assert {event.at_seconds for event in done.events} == {1_000.0}
    assert done.decisions
    assert {(each.slots, each.reason) for each in done.decisions} == {(2, "two are enough")}
    assert done.events_of(QueryStarted)[0].slots == 3


@pytest.mark.parametrize(
    ("batches", "options", "message"),
    [
        ([], {}, "there are no batches"),
        ([{"n": 1}], {}, "a list with a list of rows for each micro-batch"),
        ([(1,), (2,)], {}, "a list with a list of rows for each micro-batch"),
        ([[(1,)]], {"close_windows": True}, "close_windows needs a watermark"),
        ([[(1,)]], {"restart_after": [1]}, "names micro-batch 1. There are 1"),
        ([[("x",)]], {}, "row 0 of batch 0 of 'source' does not fit"),
        ({"a": [[(1,)]], "b": []}, {}, "must take a stream for each source: a, b"),
        ({"a": [[(1,)]]}, {"time": {"b": "ts"}}, "there is no source 'b'"),
    ],
)
def test_mistakes_are_told(
    spark: SparkSession, batches: Any, options: Mapping[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        run_batches(lambda rows: rows, batches, "n bigint", spark=spark, **options)


@pytest.mark.parametrize("returned", [None, [], "rows"])
def test_a_function_that_returns_no_stream_is_told(spark: SparkSession, returned: Any) -> None:
    with pytest.raises(ConfigurationError, match="the topology function returned"):
        run_batches(lambda rows: returned, [[(1,)]], "n bigint", spark=spark)
    with pytest.raises(TypeError, match="unexpected keyword argument 'trigger'"):
        run_batches(lambda rows: rows, [[(1,)]], "n bigint", spark=spark, trigger="1 second")
