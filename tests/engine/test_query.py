from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import penstock as ps
from oracle import bag
from penstock import journal
from penstock.engine.steps import Step
from penstock.journal.events import BatchFinished, QueryStarted, QueryStopped, SourceProgress

Events = Callable[..., DataFrame]
Finish = Callable[..., ps.Query]


@pytest.fixture
def running(feed: Callable[..., DataFrame], tmp_path: Path) -> Iterator[ps.Query]:
    """Run a query that waits for more rows."""
    stream = ps.Stream.read(feed([pa.table({"n": [1]})]))
    query = ps.run(stream.to(ps.sinks.memory()), checkpoint=str(tmp_path / "running"))
    yield query
    query.stop()


def test_stop_ends_after_the_running_batch_and_a_restart_goes_on(
    spark: SparkSession, events: Events, finish: Finish, tmp_path: Path
) -> None:
    df, out = events(6, 10), str(tmp_path / "out")
    inside, go_on = threading.Event(), threading.Event()

    def hold(step: Step, batch_id: int) -> None:
        if step is Step.COMPILE and batch_id == 1:
            inside.set()
            assert go_on.wait(60)

    def branch() -> ps.Outlet:
        return ps.Stream.read(df).select("id").to(ps.sinks.parquet(out))

    query = ps.run(branch(), checkpoint=str(tmp_path / "checkpoint"), on_step=hold)
    assert inside.wait(60)
    assert query.status().state == "running"
    stopper = threading.Thread(target=query.stop)
    stopper.start()
    go_on.set()
    stopper.join(60)
    assert not query.is_active
    assert query.status().state == "stopped"
    assert query.exception() is None
    done = {path.name for path in Path(out).glob("batch_id=*")}
    assert {"batch_id=0", "batch_id=1"} <= done < {f"batch_id={n}" for n in range(6)}
    finish(branch())
    assert bag(spark.read.parquet(out).select("id")) == bag(events.table.select("id"))


def test_a_stop_that_meets_the_next_batch_at_its_door_still_ends(
    events: Events, finish: Finish, tmp_path: Path
) -> None:
    """The batch comes while stop is under way: it is turned away, and runs after the restart."""
    df, sink = events(3, 10), ps.sinks.memory()
    first_done = threading.Event()

    def told(step: Step, batch_id: int) -> None:
        if step is Step.PLAN and batch_id == 0:
            query_made.wait(60)
            query._runner.stopping = True
            first_done.set()

    query_made = threading.Event()
    query = ps.run(
        ps.Stream.read(df).to(sink), checkpoint=str(tmp_path / "checkpoint"), on_step=told
    )
    query_made.set()
    assert first_done.wait(60)
    assert query.await_termination(60)
    query.stop()
    assert query.status().state == "stopped"
    assert query.exception() is None
    assert list(sink.batches) == [0]
    again = ps.sinks.memory()
    finish(ps.Stream.read(df).to(again))
    assert len(sink.rows()) + len(again.rows()) == 30


def test_a_batch_that_takes_too_long_is_broken_off_at_a_stop(
    events: Events, finish: Finish, tmp_path: Path
) -> None:
    df = events(2, 10)
    inside = threading.Event()

    def hang(frame: DataFrame, batch_id: int) -> None:
        inside.set()
        frame.foreach(_sleep_long)

    query = ps.run(ps.Stream.read(df).to(hang), checkpoint=str(tmp_path / "checkpoint"))
    assert inside.wait(60)
    query.stop(timeout=0.1)
    assert not query.is_active
    sink = ps.sinks.memory()
    finish(ps.Stream.read(df).to(sink))
    assert len(sink.rows()) == 20


def _sleep_long(row: Any) -> None:
    import time

    time.sleep(300)


def test_status_and_journal_tell_the_same(events: Events, finish: Finish) -> None:
    s = ps.Stream.read(events(3, 20), time="ts", watermark="1 second", name="clicks")
    s = s.map(lambda row: {"id": row["id"]}, "id bigint", name="ids")
    query = finish(s.to(ps.sinks.memory(), name="kept"), name="three-batches")
    status = query.status()
    assert (status.state, status.batch_id, status.rows_in, status.slots) == ("stopped", 2, 20, 4)
    assert status.waiting_rows is None
    bodies = [event.body for event in journal.read(query.journal_dir)]
    started, stopped = bodies[0], bodies[-1]
    assert isinstance(stopped, QueryStopped)
    assert (stopped.reason, stopped.error) == ("ended", None)
    assert isinstance(started, QueryStarted)
    assert (started.query_id, started.name, started.slots) == (query.id, "three-batches", 4)
    assert "ids: map" in started.topology
    batches = [body for body in bodies if isinstance(body, BatchFinished)]
    assert [b.observation.batch_id for b in batches] == [0, 1, 2]
    assert batches[-1].observation == status.last
    assert batches[-1].watermark_seconds == status.watermarks_seconds["clicks"]
    told = [body for body in bodies if isinstance(body, SourceProgress)]
    assert [(b.batch_id, b.source) for b in told] == [(0, "clicks"), (1, "clicks")]
    assert "triggerExecution" in told[0].durations_seconds


def test_our_own_sources_tell_how_many_rows_wait(spark: SparkSession, finish: Finish) -> None:
    df = ps.sources.generate(
        ps.sources.Steady(100), duration_seconds=5, max_rows_per_batch=200, spark=spark
    )
    sink = ps.sinks.memory()
    query = finish(ps.Stream.read(df, name="load").select("id").to(sink))
    assert sorted(row.id for row in sink.rows()) == list(range(500))
    waiting = {
        body.batch_id: body.waiting_rows
        for event in journal.read(query.journal_dir)
        if isinstance(body := event.body, SourceProgress)
    }
    assert waiting == {0: 300, 1: 100}
    assert query.status().waiting_rows == 0


def test_a_trigger_paces_micro_batches(spark: SparkSession, tmp_path: Path) -> None:
    """How far apart batches end depends on the machine; what Spark paces them by does not."""
    df = ps.sources.generate(ps.sources.Steady(50), duration_seconds=60, spark=spark)
    first = threading.Event()

    def told(step: Step, batch_id: int) -> None:
        if step is Step.PLAN:
            first.set()

    query = ps.run(
        ps.Stream.read(df).to(ps.sinks.memory()),
        checkpoint=str(tmp_path / "checkpoint"),
        name="paced",
        trigger="1500 milliseconds",
        on_step=told,
    )
    try:
        (spark_query,) = (each for each in spark.streams.active if each.name == "paced")
        trigger = spark_query._jsq.streamingQuery().trigger()
        assert trigger.toString() == "ProcessingTimeTrigger(1500)"
        assert first.wait(60)
        last = query.status().last
        assert last is not None
        assert last.trigger_seconds == 1.5
    finally:
        query.stop()


def test_any_file_system_that_hadoop_knows_will_do(
    spark: SparkSession, events: Events, tmp_path: Path
) -> None:
    """A mount table stands for a file system that is not the local disk."""
    configuration: Any = spark.sparkContext._jsc.hadoopConfiguration()
    configuration.set("fs.viewfs.mounttable.far.link./data", f"file:{tmp_path}/far")
    (tmp_path / "far").mkdir()
    root = "viewfs://far/data"
    s = ps.Stream.read(events(3, 20)).map(lambda row: {"id": row["id"]}, "id bigint")
    query = ps.run(
        s.to(ps.sinks.parquet(f"{root}/out")),
        checkpoint=f"{root}/checkpoint",
        journal=str(tmp_path / "journal"),
        available_now=True,
    )
    assert query.await_termination(60)
    assert bag(spark.read.parquet(f"{root}/out").select("id")) == bag(events.table.select("id"))
    there = {path.name for path in (tmp_path / "far" / "checkpoint").glob("[!.]*")}
    assert there == {"commits", "query.json", "spark"}
    assert len(list(journal.read(tmp_path / "journal"))) > 4


def test_a_sink_that_fails_stops_the_query_and_names_the_reason(
    events: Events, tmp_path: Path
) -> None:
    def refuse(frame: DataFrame, batch_id: int) -> None:
        raise ConnectionError("the database is gone")

    query = ps.run(
        ps.Stream.read(events(1, 3)).to(refuse), checkpoint=str(tmp_path / "c"), available_now=True
    )
    with pytest.raises(
        ps.QueryError, match=r"failed with ConnectionError: the database is gone"
    ) as e:
        query.await_termination(60)
    line = refuse.__code__.co_firstlineno + 1
    assert "refuse) failed" in str(e.value)
    assert f"({__file__} line {line}). The micro-batch is not committed" in str(e.value)
    assert "raise ConnectionError" in e.value.report
    assert query.status().state == "failed"


def test_a_query_that_fails_while_nobody_waits_lets_go_of_its_checkpoint(
    events: Events, finish: Finish, tmp_path: Path
) -> None:
    df = events(1, 3)
    query = ps.run(
        ps.Stream.read(df).to(lambda frame, batch_id: 1 / 0),
        checkpoint=str(tmp_path / "checkpoint"),
        available_now=True,
    )
    query._watcher.join(60)
    stopped = list(journal.read(query.journal_dir))[-1].body
    assert isinstance(stopped, QueryStopped)
    assert "division by zero" in (stopped.error or "")
    sink = ps.sinks.memory()
    finish(ps.Stream.read(df).to(sink))
    assert len(sink.rows()) == 3


def test_of_two_sinks_side_by_side_the_failure_of_one_fails_the_batch(
    events: Events, finish: Finish, tmp_path: Path
) -> None:
    """The batch runs again at a restart; what the good sink wrote is written over."""
    df, out = events(2, 10), tmp_path / "out"
    refusals = [True]

    def moody(frame: DataFrame, batch_id: int) -> None:
        if batch_id == 1 and refusals.pop():
            raise ConnectionError("once")
        frame.collect()

    def branches() -> tuple[ps.Outlet, ps.Outlet]:
        s = ps.Stream.read(df)
        a = s.map(lambda row: {"id": row["id"]}, "id bigint", name="a")
        b = s.map(lambda row: {"id": row["id"]}, "id bigint", name="b")
        return a.to(ps.sinks.parquet(str(out))), b.to(moody)

    with pytest.raises(ps.QueryError, match="once"):
        finish(*branches())
    refusals.append(False)
    query = finish(*branches())
    assert query.status().batch_id == 1
    assert sorted(path.name for path in out.glob("batch_id=*")) == ["batch_id=0", "batch_id=1"]


@pytest.mark.parametrize("timeout", ["x", -5, 1e300, float("nan"), True])
def test_a_wrong_timeout_is_told_and_ends_nothing(running: ps.Query, timeout: Any) -> None:
    with pytest.raises(ps.ConfigurationError, match=r"Query\.stop\(timeout="):
        running.stop(timeout)
    with pytest.raises(ps.ConfigurationError, match=r"Query\.await_termination\(timeout="):
        running.await_termination(timeout)
    assert not running._runner.stopping
    assert running.is_active


def test_what_to_do_at_the_end_is_a_function(running: ps.Query) -> None:
    with pytest.raises(ps.ConfigurationError, match=r"then=3\) can't work. Write a function"):
        running.when_ended(3)  # type: ignore[arg-type]
