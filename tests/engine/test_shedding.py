"""Rows that a query does not process: too old, or too many. None of them is lost."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import penstock as ps
from oracle import bag
from penstock import journal
from penstock.engine.selection import PRIORITY, TIE, nth_lowest
from penstock.engine.steps import Step
from penstock.journal.events import BatchFinished, RowsShed
from penstock.testing import fail_at

Events = Callable[..., DataFrame]
Finish = Callable[..., ps.Query]

START = 1_700_000_000  # the time of row 0; the rows are a second apart


def shed(query: ps.Query) -> list[tuple[int, str, int]]:
    bodies = [event.body for event in journal.read(query.journal_dir)]
    return [(b.batch_id, b.source, b.rows) for b in bodies if isinstance(b, RowsShed)]


def processed(query: ps.Query) -> list[dict[str, int]]:
    """The rows that each source gave to every micro-batch."""
    bodies = [event.body for event in journal.read(query.journal_dir)]
    seen = [body.observation for body in bodies if isinstance(body, BatchFinished)]
    return [{source.name: source.rows for source in each.sources} for each in seen]


class JobCounter:
    """Counts all jobs that Spark starts while a micro-batch is worked on."""

    def __init__(self, spark: SparkSession) -> None:
        self._scheduler: Any = spark.sparkContext._jsc.sc().dagScheduler()
        self._before = 0
        self.jobs: list[int] = []

    def __call__(self, step: Step, batch_id: int) -> None:
        if step is Step.LOAD:
            self._before = self._scheduler.numTotalJobs()
        elif step is Step.COMMIT:
            self.jobs.append(self._scheduler.numTotalJobs() - self._before)


def ids(row: dict[str, Any]) -> dict[str, Any]:
    return {"id": row["id"]}


def test_rows_older_than_the_deadline_are_kept_apart_and_counted(
    spark: SparkSession, events: Events, finish: Finish, tmp_path: Path
) -> None:
    def run(checkpoint: str, **options: Any) -> tuple[Any, ps.Query, list[int]]:
        sink, counter = ps.sinks.memory(), JobCounter(spark)
        stream = ps.Stream.read(df, time="ts").map(ids, "id bigint")
        query = finish(stream.to(sink), checkpoint=checkpoint, on_step=counter, **options)
        return sink, query, counter.jobs

    df = events(3, 40)
    _, _, usual = run("plain")
    sink, query, jobs = run("checkpoint", deadline="50 seconds", clock=lambda: START + 100.0)
    fresh = F.col("ts") >= F.timestamp_seconds(F.lit(START + 50))
    assert bag(sink.rows()) == bag(events.table.filter(fresh).select("id"))
    kept = spark.read.parquet(str(tmp_path / "checkpoint" / "shed_rows" / "source"))
    assert bag(kept.drop("batch_id")) == bag(events.table.filter(~fresh))
    assert shed(query) == [(0, "source", 40), (1, "source", 10)]
    (reason, *_) = [
        event.body.reason
        for event in journal.read(query.journal_dir)
        if isinstance(event.body, RowsShed)
    ]
    assert reason.startswith("older than the deadline of 50 s; kept in '")
    # Only a batch of which rows are shed has a job more, which writes them.
    assert [more - before for more, before in zip(jobs, usual, strict=True)] == [1, 1, 0]


@pytest.mark.parametrize("is_taken", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_late_rows_of_the_source_take_what_is_shed(
    spark: SparkSession, events: Events, finish: Finish, tmp_path: Path, is_taken: bool
) -> None:
    df = events(3, 40)
    stream = ps.Stream.read(df, time="ts", watermark="5 seconds")
    windows = stream.window(ps.tumbling("20 seconds")).aggregate(n=ps.count())
    counted, late = ps.sinks.memory(), ps.sinks.memory()
    outlets = [windows.to(counted)]
    if is_taken:
        outlets.append(stream.late_rows().to(late))
    query = finish(*outlets, deadline="50 seconds", clock=lambda: START + 100.0)
    fresh = F.col("ts") >= F.timestamp_seconds(F.lit(START + 50))
    where = tmp_path / "checkpoint" / "shed_rows" / "source"
    assert where.exists() != is_taken
    kept = late.rows() if is_taken else spark.read.parquet(str(where)).collect()
    rows = [(row.id, row.user, row.rate, row.ts) for row in kept]
    assert bag(rows) == bag(events.table.filter(~fresh))
    assert {(row._watermark, tuple(row._missed)) for row in late.rows()} <= {(None, ())}
    expected = (
        events.table.filter(fresh)
        .groupBy(F.window("ts", "20 seconds"))
        .agg(F.count("*").alias("n"))
        .filter(F.col("window.end") <= F.timestamp_seconds(F.lit(START + 119 - 5)))
    )
    assert bag([(row.window, row.n) for row in counted.rows()]) == bag(expected)
    assert shed(query) == [(0, "source", 40), (1, "source", 10)]
    assert query.status().watermarks_seconds == {"source": START + 119 - 5}


def test_a_batch_that_is_tried_again_is_split_as_before(
    spark: SparkSession, events: Events, finish: Finish, tmp_path: Path
) -> None:
    df, out = events(3, 40), str(tmp_path / "out")

    def run(now: float, **options: Any) -> ps.Query:
        stream = ps.Stream.read(df, time="ts").select("id", "ts")
        return finish(stream.to(ps.sinks.parquet(out)), clock=lambda: now, **options)

    with pytest.raises(ps.QueryError):
        run(START + 100.0, deadline="50 seconds", on_step=fail_at(Step.COMMIT, 0))
    with pytest.raises(ps.QueryError):
        run(START + 110.0, deadline="50 seconds", on_step=fail_at(Step.WINDOWS, 1))
    # An hour later every row is too old; and this run does not even know a deadline.
    query = run(START + 3_600.0)
    done = spark.read.parquet(out)
    kept = spark.read.parquet(str(tmp_path / "checkpoint" / "shed_rows" / "source"))
    both = done.select("id").unionAll(kept.select("id"))
    assert bag(both) == bag(events.table.select("id"))
    assert {row.id for row in kept.filter("batch_id = 0").collect()} == set(range(40))
    assert {row.id for row in kept.filter("batch_id = 1").collect()} == set(range(40, 60))
    assert shed(query) == [(1, "source", 20)]
    assert kept.filter("batch_id = 2").isEmpty()


def test_a_batch_is_tried_again_with_the_expression_that_its_job_has_too(
    events: Events, finish: Finish
) -> None:
    df, sink = events(2, 10), ps.sinks.memory()

    def run(backlog: ps.Backlog | None, **options: Any) -> ps.Query:
        stream = ps.Stream.read(df, time="ts").select("id")
        return finish(stream.to(sink), backlog=backlog, **options)

    with pytest.raises(ps.QueryError):
        run(ps.Backlog(4, shed="id % 10"), on_step=fail_at(Step.WINDOWS, 0))
    for other in (None, ps.Backlog(4), ps.Backlog(4, shed="-id")):
        with pytest.raises(ps.CheckpointError, match=r"Backlog\(4, shed='id % 10'\)") as refused:
            run(other)
        assert "split.json" in str(refused.value)
    # The way out: once more with that expression; numbers stay those of the first try.
    run(ps.Backlog(7, shed="id % 10"))
    assert sorted(row.id for row in sink.rows()) == [6, 7, 8, 9, *range(13, 20)]
    # The batches are committed, and another expression may hold from the next one on.
    run(ps.Backlog(3, shed="-id"))


def test_of_too_many_rows_the_same_are_shed_when_a_batch_is_tried_again(
    spark: SparkSession, events: Events, finish: Finish, tmp_path: Path
) -> None:
    df, out = events(2, 60), str(tmp_path / "out")

    def run(backlog: ps.Backlog, **options: Any) -> None:
        sink = ps.sinks.parquet(out)
        finish(ps.Stream.read(df, time="ts").to(sink), backlog=backlog, **options)

    with pytest.raises(ps.QueryError, match="broken off"):
        run(ps.Backlog(25, shed="random"), on_step=fail_at(Step.SINKS, 0))
    first_try = {row.id for row in spark.read.parquet(out).collect()}
    assert len(first_try) == 25
    run(ps.Backlog(40, shed="oldest"))  # other settings, which are for the batch after that one
    done = {(row.batch_id, row.id) for row in spark.read.parquet(out).collect()}
    kept = spark.read.parquet(str(tmp_path / "checkpoint" / "shed_rows" / "source"))
    gone = {(row.batch_id, row.id) for row in kept.collect()}
    assert done == {*((0, id) for id in first_try), *((1, id) for id in range(80, 120))}
    assert gone == {(id // 60, id) for id in range(120)} - done


def test_a_batch_first_tried_without_a_deadline_is_not_shed(
    events: Events, finish: Finish, tmp_path: Path
) -> None:
    df, sink = events(2, 10), ps.sinks.memory()

    def run(**options: Any) -> ps.Query:
        return finish(ps.Stream.read(df, time="ts").to(sink), clock=lambda: START + 1e6, **options)

    with pytest.raises(ps.QueryError):
        run(on_step=fail_at(Step.SINKS, 0))  # its rows are written, and nothing is committed
    query = run(deadline="5 seconds")
    assert sorted(row.id for row in sink.rows()) == list(range(10))
    assert shed(query) == [(1, "source", 10)]


def test_of_two_sources_each_has_its_own_late_rows(
    spark: SparkSession, events: Events, finish: Finish, tmp_path: Path
) -> None:
    left, right = events(1, 30, "left"), events(2, 30, "right")
    timed = {"time": "ts", "watermark": "0 seconds"}
    a = ps.Stream.read(left, name="a", **timed).select("id", "'a' AS origin")
    b = ps.Stream.read(right, name="b", **timed).filter("id > -1").select("id", "'b' AS origin")
    sink = ps.sinks.memory()
    query = finish(
        a.union(b).to(sink),
        deadline="1 minute",
        backlog=ps.Backlog(25, shed="newest"),
        clock=lambda: START + 70.0,
    )
    found = sorted((row.origin, row.id) for row in sink.rows())
    # Rows up to 9 are older than a minute; of 30 rows in the second batch the last five are shed.
    expected = [("a", id) for id in range(10, 30)] + [("b", id) for id in range(10, 55)]
    assert found == expected
    assert shed(query) == [(0, "a", 10), (0, "b", 10), (1, "b", 5)]
    assert processed(query) == [{"a": 20, "b": 20}, {"a": 0, "b": 25}]
    # A row that is shed moves no watermark.
    assert query.status().watermarks_seconds == {"a": START + 29, "b": START + 54}
    kept = spark.read.parquet(str(tmp_path / "checkpoint" / "shed_rows" / "b"))
    assert {row.id for row in kept.collect()} == {*range(10), *range(55, 60)}


@pytest.mark.parametrize("by", ["oldest", "random", "id % 10"])
def test_of_too_many_rows_those_are_shed_that_were_chosen(
    spark: SparkSession, events: Events, finish: Finish, tmp_path: Path, by: str
) -> None:
    df = events(2, 100)

    def run(checkpoint: str, on_step: Any = None) -> list[int]:
        sink = ps.sinks.memory()
        stream = ps.Stream.read(df, time="ts")
        backlog = ps.Backlog(35, shed=by)
        query = finish(stream.to(sink), checkpoint=checkpoint, backlog=backlog, on_step=on_step)
        assert shed(query) == [(0, "source", 65), (1, "source", 65)]
        return [row.id for row in sink.rows()]

    done = run("checkpoint")
    kept = spark.read.parquet(str(tmp_path / "checkpoint" / "shed_rows" / "source"))
    gone = {row.id for row in kept.collect()}
    assert sorted([*done, *gone]) == list(range(200))
    if by == "oldest":
        assert sorted(done) == [*range(65, 100), *range(165, 200)]
    elif by == "random":
        first = {id for id in done if id < 100}
        assert first not in ({*range(35)}, {*range(65, 100)})
        assert {id - 100 for id in done if id >= 100} != first, "every batch has its own dice"
        assert sorted(run("again")) == sorted(done)
    else:
        assert {id % 10 for id in done} == {6, 7, 8, 9}
        assert {id for id in gone if id % 10 > 6} == set()


def test_where_offsets_tell_that_rows_are_few_nobody_counts_them(
    spark: SparkSession, finish: Finish
) -> None:
    jobs = {}
    for max_rows in (100, 99):
        df = ps.sources.generate(
            ps.sources.Steady(50), duration_seconds=4, max_rows_per_batch=100, spark=spark
        )
        sink, counter = ps.sinks.memory(), JobCounter(spark)
        query = finish(
            ps.Stream.read(df).to(sink),
            backlog=ps.Backlog(max_rows, shed="random"),
            checkpoint=f"checkpoint-{max_rows}",
            on_step=counter,
        )
        jobs[max_rows] = counter.jobs
        assert len(sink.rows()) == 2 * max_rows
    assert jobs[100] == [1, 1], "the sink's own job, and no other"
    assert min(jobs[99]) > 1
    assert shed(query) == [(0, "source", 1), (1, "source", 1)]


def test_rows_that_nobody_reads_are_shed_too(
    spark: SparkSession, events: Events, finish: Finish, tmp_path: Path
) -> None:
    stream = ps.Stream.read(events(1, 40), time="ts").filter("false")
    query = finish(stream.to(ps.sinks.memory()), deadline="50 seconds", clock=lambda: START + 70.0)
    assert shed(query) == [(0, "source", 20)]
    kept = spark.read.parquet(str(tmp_path / "checkpoint" / "shed_rows" / "source"))
    assert {row.id for row in kept.collect()} == set(range(20))


def test_the_nth_lowest_is_found_by_halving_what_is_left(spark: SparkSession) -> None:
    dice = random.Random(5)
    wide = [dice.randrange(-(1 << 63), 1 << 63) for _ in range(150)]
    narrow = [dice.randrange(-3, 3) for _ in range(150)]
    pairs = [(p, dice.randrange(-(1 << 63), 1 << 63)) for p in (*wide, *narrow)]
    pairs += [(0, 7)] * 40  # more that are alike than are looked at one by one
    keys = spark.createDataFrame(pairs, f"{PRIORITY} bigint, {TIE} bigint").coalesce(1).cache()
    order = sorted(pairs)
    low, high = order[0][0], order[-1][0]
    twin = order.index((0, 7))
    try:
        for n in (1, 100, twin + 1, twin + 40, len(order)):
            assert nth_lowest(keys, n, low, high, few=20) == order[n - 1]
        assert nth_lowest(keys, 170, low, high) == order[169]
    finally:
        keys.unpersist()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"deadline": "30 seconds"}, "'source'.*no time column, and the deadline goes by"),
        ({"deadline": 0, "time": "ts"}, "deadline is no time"),
        ({"backlog": ps.Backlog(5)}, "no time column, and shed='oldest' goes by"),
        ({"backlog": ps.Backlog(5, "colour")}, "unknown column `colour` in the priority"),
        ({"backlog": ps.Backlog(5, "rate")}, r"is double, not a whole number.*bigint\(rate\)"),
        ({"backlog": ps.Backlog(5, "bigint(rand() * 9)")}, "another number each time"),
        ({"backlog": ps.Backlog(5, "unix_micros(now()) % (id + 1)")}, "goes by the clock"),
        ({"backlog": ps.Backlog(5, "id + unix_timestamp()")}, "goes by the clock"),
        ({"backlog": ps.Backlog(5, "datediff(current_date(), ts)")}, "goes by the clock"),
        ({"backlog": ps.Backlog(5, "second(localtimestamp())")}, "goes by the clock"),
        ({"backlog": ps.Backlog(5, "id + (SELECT 1)")}, "reads a table"),
        ({"backlog": ps.Backlog(5, "sum(id)")}, "needs all rows of the stream"),
        ({"backlog": 5}, r"backlog is 5. Give .*ps.Backlog\(max_rows=100_000\)"),
        ({"admission": ps.Admission}, r"admission is the class Admission. Give .*ps.Admission\("),
        ({"admission": ps.Admission()}, r"admission needs to know how long.*trigger="),
    ],
)
def test_what_can_not_be_done_is_told_before_anything_runs(
    events: Events, tmp_path: Path, options: dict[str, Any], problem: str
) -> None:
    time = options.pop("time", None)
    stream = ps.Stream.read(events(1, 2), time=time)
    with pytest.raises(ps.PenstockError, match=problem):
        ps.run(stream.to(ps.sinks.memory()), checkpoint=tmp_path / "checkpoint", **options)
    assert not (tmp_path / "checkpoint").exists()
