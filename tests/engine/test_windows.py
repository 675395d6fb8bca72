"""Windows end to end on real Spark; what Spark itself says of the same rows is the oracle."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import penstock as ps
from oracle import bag
from penstock import journal
from penstock.engine import closing
from penstock.engine.steps import Step
from penstock.journal.window_events import PanesStored, RowsLate, WindowsClosed
from penstock.testing import fail_at

Events = Callable[..., DataFrame]
Finish = Callable[..., ps.Query]
START = 1_700_000_000


def written(spark: SparkSession, path: Path) -> DataFrame:
    return spark.read.parquet(str(path)).drop("batch_id")


def closed_by(seconds: int) -> Any:
    """The windows that end at or before a time."""
    return F.col("window.end") <= F.timestamp_seconds(F.lit(seconds))


def test_windows_over_windows_close_together(
    spark: SparkSession, events: Events, finish: Finish, tmp_path: Path
) -> None:
    s = ps.Stream.read(events(4, 60), time="ts", watermark="5 seconds")
    users = s.group_by("user").window(ps.tumbling("20 seconds"))
    mean = users.aggregate(n=ps.count(), mean=ps.avg("rate"), name="by_user")
    whole = mean.window(ps.tumbling("1 minute")).aggregate(
        n=ps.sum("n"), users=ps.count(), best=ps.max("mean"), name="whole"
    )
    finish(
        mean.to(ps.sinks.parquet(str(tmp_path / "users"))),
        whole.to(ps.sinks.parquet(str(tmp_path / "whole"))),
    )
    mark = START + 239 - 5
    first = events.table.groupBy(F.window("ts", "20 seconds"), "user").agg(
        F.count("*").alias("n"), F.avg("rate").alias("mean")
    )
    second = first.groupBy(F.window(F.window_time("window"), "1 minute").alias("window")).agg(
        F.sum("n").alias("n"), F.count("*").alias("users"), F.max("mean").alias("best")
    )
    assert bag(written(spark, tmp_path / "users")) == bag(first.filter(closed_by(mark)))
    assert bag(written(spark, tmp_path / "whole")) == bag(second.filter(closed_by(mark)))


def test_open_windows_come_out_when_they_change_and_closed_ones_once(
    spark: SparkSession, events: Events, finish: Finish, tmp_path: Path
) -> None:
    s = ps.Stream.read(events(3, 40), time="ts", watermark="0 seconds")
    windows = s.group_by("user").window(ps.sliding("60 seconds", "20 seconds"), emit="every_batch")
    finish(windows.aggregate(n=ps.count()).to(ps.sinks.parquet(str(tmp_path / "out"))))
    out = spark.read.parquet(str(tmp_path / "out"))
    native = events.table.groupBy(F.window("ts", "60 seconds", "20 seconds"), "user").agg(
        F.count("*").alias("n")
    )
    mark = START + 119
    final = out.filter("is_final").select("window", "user", "n")
    assert bag(final) == bag(native.filter(closed_by(mark)))
    newest = out.groupBy("window", "user").agg(F.max_by("n", "batch_id").alias("n"))
    assert bag(newest) == bag(native)
    for batch in range(3):
        came = out.filter(f"batch_id = {batch} AND NOT is_final").select("window", "user")
        rows = events.table.filter(f"id DIV 40 = {batch}")
        changed = rows.groupBy(F.window("ts", "60 seconds", "20 seconds"), "user").count()
        still_open = changed.filter(~closed_by(START + 40 * batch + 39))
        assert bag(came) == bag(still_open.select("window", "user"))


@pytest.fixture
def trips(spark: SparkSession, tmp_path: Path) -> DataFrame:
    """Rows of 25 seconds each, one every second."""
    for batch in range(3):
        spark.range(batch * 60, batch * 60 + 60).selectExpr(
            "id",
            f"timestamp_seconds({START} + id) AS began",
            f"timestamp_seconds({START} + id + 25) AS ended",
        ).coalesce(1).write.mode("append").parquet(str(tmp_path / "trips"))
    return spark.read.parquet(str(tmp_path / "trips"))


@pytest.mark.parametrize("spans", ["start", "end", "each", "split"])
def test_rows_that_span_time(
    spark: SparkSession, trips: DataFrame, finish: Finish, tmp_path: Path, spans: Any
) -> None:
    stream = spark.readStream.schema(trips.schema).option("maxFilesPerTrigger", 1)
    s = ps.Stream.read(
        stream.parquet(str(tmp_path / "trips")),
        time=("began", "ended"),
        watermark="0 seconds",
        spans=spans,
    )
    windows = s.window(ps.sliding("60 seconds", "20 seconds"))
    out = windows.aggregate(n=ps.count(), s=ps.sum("id")).to(ps.sinks.parquet(str(tmp_path / "o")))
    finish(out)
    starts = F.explode(F.sequence(F.lit(START - 160), F.lit(START + 300), F.lit(20)))
    every = trips.withColumn("at", starts).selectExpr(
        "id",
        "at",
        "unix_seconds(began) AS b",
        "unix_seconds(ended) AS e",
        "greatest(0, least(at + 60, unix_seconds(ended)) - greatest(at, unix_seconds(began))) / 25D"
        " AS share",
    )
    holds = {
        "start": "at <= b AND b < at + 60",
        "end": "at < e AND e <= at + 60",
        "each": "at < e AND b < at + 60",
        "split": "share > 0",
    }[spans]
    weight = F.col("share") if spans == "split" else F.lit(1)
    expected = (
        every.filter(holds)
        .groupBy(
            F.expr(
                "struct(timestamp_seconds(at) AS start, timestamp_seconds(at + 60) AS end)"
            ).alias("window")
        )
        .agg(F.sum(weight).alias("n"), F.sum(F.col("id") * weight).alias("s"))
        .filter(closed_by(START + 179))
    )
    rounded = [F.col("window"), F.round("n", 6), F.round("s", 6)]
    got = written(spark, tmp_path / "o").select(*rounded)
    assert bag(got) == bag(expected.select(*rounded))


@pytest.mark.slow
def test_a_leap_of_the_watermark_closes_more_windows_than_anyone_would_name(
    spark: SparkSession, events: Events, finish: Finish, tmp_path: Path
) -> None:
    s = ps.Stream.read(events(2, 80), time="ts", watermark="0 seconds")
    spec = ps.sliding("40 seconds", "50 milliseconds")
    out = s.group_by("user").window(spec).aggregate(n=ps.count(), most=ps.max("rate"))
    query = finish(out.to(ps.sinks.parquet(str(tmp_path / "out"))))
    native = events.table.groupBy(F.window("ts", "40 seconds", "50 milliseconds"), "user").agg(
        F.count("*").alias("n"), F.max("rate").alias("most")
    )
    assert bag(written(spark, tmp_path / "out")) == bag(native.filter(closed_by(START + 159)))
    closed = [e.body for e in journal.read(query.journal_dir) if isinstance(e.body, WindowsClosed)]
    assert closed[0].windows > 512


def test_late_rows_name_the_windows_they_missed_and_count_in_the_others(
    spark: SparkSession, finish: Finish, tmp_path: Path
) -> None:
    # batch 0:        0 ............ 100          the watermark is then at 90
    # batch 1:              70                    misses [0,80) of the sliding one, [60,90)
    for batch, times in enumerate(([0, 30, 100], [70, 95], [300])):
        spark.createDataFrame([(t,) for t in times], "t bigint").selectExpr(
            "t", "timestamp_seconds(t) AS ts"
        ).coalesce(1).write.parquet(str(tmp_path / "in" / f"{batch}"))
    stream = spark.readStream.schema("t bigint, ts timestamp").option("maxFilesPerTrigger", 1)
    df = stream.parquet(str(tmp_path / "in" / "*"))
    s = ps.Stream.read(df, time="ts", watermark="10 seconds")
    specs = ps.sliding(80, 20, name="wide"), ps.tumbling(30, name="narrow")
    windows = s.window(*specs).aggregate(n=ps.count(), seen=ps.collect("t"))
    query = finish(
        windows.to(ps.sinks.parquet(str(tmp_path / "out"))),
        s.late_rows().to(ps.sinks.parquet(str(tmp_path / "late"))),
    )
    (late,) = written(spark, tmp_path / "late").collect()
    seconds = [(m.name, m.start.timestamp(), m.end.timestamp()) for m in late["_missed"]]
    assert (late.t, late["_watermark"].timestamp()) == (70, 90)
    assert sorted(seconds) == [("narrow", 60, 90), ("wide", 0, 80)]
    held = {
        (row.window_name, row.window.start.timestamp()): row.seen
        for row in written(spark, tmp_path / "out").collect()
    }
    assert held["wide", 0] == [0, 30]
    assert held["wide", 20] == [30, 70, 95]
    assert ("narrow", 60) not in held
    bodies = [e.body for e in journal.read(query.journal_dir)]
    assert [(e.operator, e.rows) for e in bodies if isinstance(e, RowsLate)] == [("windows", 1)]


@pytest.mark.parametrize("step", [Step.WINDOWS, Step.SINKS, Step.COMMIT])
def test_windows_go_on_after_a_break_as_if_nothing_had_happened(
    spark: SparkSession, events: Events, finish: Finish, tmp_path: Path, step: Step
) -> None:
    df = events(5, 40)

    def branch() -> ps.Outlet:
        s = ps.Stream.read(df, time="ts", watermark="5 seconds")
        windows = s.group_by("user").window(ps.sliding("30 seconds", "10 seconds"))
        return windows.aggregate(s=ps.sum("rate")).to(ps.sinks.parquet(str(tmp_path / "out")))

    with pytest.raises(ps.QueryError):
        finish(branch(), on_step=fail_at(step, 2))
    finish(branch())
    native = events.table.groupBy(F.window("ts", "30 seconds", "10 seconds"), "user").agg(
        F.sum("rate").alias("s")
    )
    closed = native.filter(closed_by(START + 199 - 5))
    assert bag(written(spark, tmp_path / "out")) == bag(closed)


@pytest.mark.parametrize("size", ["small", pytest.param("large", marks=pytest.mark.slow)])
def test_the_store_is_compacted_and_forgets_what_no_window_needs(
    spark: SparkSession,
    events: Events,
    finish: Finish,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    size: str,
) -> None:
    if size == "large":
        # As if there were millions of keys: several tasks, and only the panes of a closing read.
        monkeypatch.setattr(closing, "_ONE_TASK_ROWS", 0)
        monkeypatch.setattr(closing, "_WORTH_PRUNING_ROWS", 0)
    s = ps.Stream.read(events(24, 10), time="ts", watermark="0 seconds")
    windows = s.group_by("user").window(ps.sliding("100 seconds", "10 seconds"))
    out = windows.aggregate(n=ps.count(), most=ps.max("rate")).to(
        ps.sinks.parquet(str(tmp_path / "out"))
    )
    query = finish(out)
    native = events.table.groupBy(F.window("ts", "100 seconds", "10 seconds"), "user").agg(
        F.count("*").alias("n"), F.max("rate").alias("most")
    )
    assert bag(written(spark, tmp_path / "out")) == bag(native.filter(closed_by(START + 239)))
    stored = [e.body for e in journal.read(query.journal_dir) if isinstance(e.body, PanesStored)]
    assert len(stored) == 24
    assert max(event.segments for event in stored) < 14
    # Runs of several batches go when the last of their panes does.
    assert stored[-1].age_seconds <= 200
    record = sorted((tmp_path / "checkpoint" / "commits").glob("*.json"))[-1]
    state = json.loads(record.read_text())["windows"]["windows_partials"]
    named = {segment["name"].partition(".")[0] for segment in state["segments"]}
    store = tmp_path / "checkpoint" / "panes" / "windows_partials"
    there = {path.name.rpartition("=")[2] for path in store.iterdir()}
    assert named <= there
    assert len(there - named) <= 1  # a compaction may have been on its way
    assert any(segment["since"] is not None for segment in state["segments"])


def test_a_silent_source_does_not_hold_windows_for_ever(
    spark: SparkSession, events: Events, finish: Finish, tmp_path: Path
) -> None:
    now = iter(range(0, 10_000, 20))
    busy = events(4, 30, "busy")
    table = events.table
    quiet = events(1, 5, "quiet")
    a = ps.Stream.read(busy, time="ts", watermark="0 seconds", name="busy")
    b = ps.Stream.read(quiet, time="ts", watermark="0 seconds", name="quiet", idle_after=30)
    windows = a.union(b).window(ps.tumbling("10 seconds")).aggregate(n=ps.count())
    finish(windows.to(ps.sinks.parquet(str(tmp_path / "out"))), clock=lambda: float(next(now)))
    both = table.unionAll(events.table)
    native = both.groupBy(F.window("ts", "10 seconds")).agg(F.count("*").alias("n"))
    assert bag(written(spark, tmp_path / "out")) == bag(native.filter(closed_by(START + 119)))
