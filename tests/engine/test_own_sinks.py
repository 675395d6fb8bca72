"""Sinks that users write: they may read a batch twice, in part, or not at all."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import DataFrame, SparkSession

import penstock as ps
from oracle import bag

Events = Callable[..., DataFrame]
Finish = Callable[..., ps.Query]
NEWEST = 1_700_000_000.0


def look_first(df: DataFrame, batch_id: int) -> None:
    if not df.isEmpty():
        df.collect()


def take_one(df: DataFrame, batch_id: int) -> None:
    df.take(1)


def read_nothing(df: DataFrame, batch_id: int) -> None:
    pass


@pytest.mark.parametrize("sink", [look_first, take_one, read_nothing])
def test_watermark_and_counts_do_not_depend_on_how_a_sink_reads(
    spark: SparkSession, events: Events, finish: Finish, sink: Callable[[DataFrame, int], None]
) -> None:
    calls = spark.sparkContext.accumulator(0)

    def counted(row: dict[str, Any]) -> dict[str, Any]:
        calls.add(1)
        return row

    columns = "id bigint, user string, rate double, ts timestamp"
    s = ps.Stream.read(events(2, 200), time="ts", watermark="0 seconds")
    query = finish(s.map(counted, columns).to(sink))
    status = query.status()
    assert status.watermarks_seconds == {"source": NEWEST + 399}
    seen = {op.name: (op.rows_in, op.rows_out) for op in status.last.operators}
    assert seen["source"] == seen["counted"] == (200, 200)
    assert calls.value == 400


def test_a_sink_may_stop_the_query_that_it_belongs_to(
    spark: SparkSession, events: Events, finish: Finish, tmp_path: Path
) -> None:
    df, out = events(4, 10), str(tmp_path / "out")
    made, seen = threading.Event(), []

    def enough(frame: DataFrame, batch_id: int) -> None:
        seen.append(batch_id)
        if batch_id == 1:
            assert made.wait(60)
            query.stop()

    def branches() -> list[ps.Outlet]:
        s = ps.Stream.read(df).select("id")
        return [s.to(ps.sinks.parquet(out)), s.to(enough)]

    query = ps.run(*branches(), checkpoint=str(tmp_path / "checkpoint"))
    made.set()
    assert query.await_termination(60)
    assert query.status().state == "stopped"
    assert seen == [0, 1]
    finish(*branches())
    assert bag(spark.read.parquet(out).select("id")) == bag(events.table.select("id"))


def test_a_second_start_on_a_live_checkpoint_is_refused_and_harms_nobody(
    spark: SparkSession,
    events: Events,
    finish: Finish,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first is in the middle of a batch, its files half written, when the second comes."""
    monkeypatch.setattr("penstock.engine.checkpoint_lock.PATIENCE_SECONDS", 0.0)
    df, out = events(1, 40), str(tmp_path / "out")
    inside, go_on = tmp_path / "inside", tmp_path / "go_on"

    def slow(row: dict[str, Any]) -> dict[str, Any]:
        import time

        if row["id"] == 39:
            inside.touch()
            while not go_on.exists():
                time.sleep(0.01)
        return {"id": row["id"]}

    def start(**options: Any) -> ps.Query:
        branch = ps.Stream.read(df).map(slow, "id bigint").to(ps.sinks.parquet(out))
        checkpoint = str(tmp_path / "checkpoint")
        return ps.run(branch, checkpoint=checkpoint, available_now=True, **options)

    query = start()
    while not inside.exists():
        assert not query.await_termination(0.05)
    with pytest.raises(ps.CheckpointError, match="a query is running on the checkpoint"):
        start()
    with pytest.raises(ps.CheckpointError, match="a query is running on the checkpoint"):
        start(journal=str(tmp_path / "elsewhere"))
    go_on.touch()
    assert query.await_termination(60)
    assert bag(spark.read.parquet(out).select("id")) == bag(events.table.select("id"))


def test_when_one_of_two_sinks_fails_the_other_is_not_waited_for(
    events: Events, tmp_path: Path
) -> None:
    """The other's rows would take five minutes each."""
    waiting = tmp_path / "waiting"

    def sleepy(row: dict[str, Any]) -> dict[str, Any]:
        import time

        waiting.touch()
        time.sleep(300)
        return row

    def refuse(frame: DataFrame, batch_id: int) -> None:
        import time

        while not waiting.exists():
            time.sleep(0.01)
        raise ConnectionError("gone")

    s = ps.Stream.read(events(1, 4)).select("id")
    a = s.map(sleepy, "id bigint", name="a").to(ps.sinks.parquet(str(tmp_path / "out")))
    b = s.map(lambda row: row, "id bigint", name="b").to(refuse)
    query = ps.run(
        a,
        b,
        checkpoint=str(tmp_path / "checkpoint"),
        available_now=True,
        slots=ps.LocalSlots(max=2),
    )
    with pytest.raises(ps.QueryError, match="gone"):
        assert query.await_termination(120)


def test_late_rows_compile_no_new_code_batch_after_batch(
    spark: SparkSession, events: Events, finish: Finish
) -> None:
    """The watermark changes with every batch and must reach the compiled code as an argument."""
    metrics: Any = spark._jvm.org.apache.spark.metrics.source.CodegenMetrics
    compiled: list[int] = []

    def count(step: str, batch_id: int) -> None:
        if step == "plan":
            compiled.append(metrics.METRIC_COMPILATION_TIME().getCount())

    s = ps.Stream.read(events(8, 10), time="ts", watermark="0 seconds")
    late = ps.sinks.memory()
    finish(s.late_rows().to(late), s.to(ps.sinks.memory()), on_step=count)
    assert compiled[-1] == compiled[3]


def test_two_joins_with_one_table_do_not_share_its_cache(
    spark: SparkSession, events: Events, finish: Finish, tmp_path: Path
) -> None:
    """One join reads the table again, the other must go on with what it read first."""
    where, now = str(tmp_path / "users"), [0.0]
    spark.createDataFrame([("u1", 1)], "user string, age int").write.parquet(where)

    def grow(step: str, batch_id: int) -> None:
        if step == "plan" and batch_id == 0:
            # Not by Spark, which would refresh its caches of the directory by itself.
            new = pa.table({"user": ["u2"], "age": pa.array([2], pa.int32())})
            parquet.write_table(new, f"{where}/more.parquet")
            now[0] = 60.0

    table = spark.read.parquet(where)
    once, again = ps.sinks.memory(), ps.sinks.memory()
    s = ps.Stream.read(events(2, 7))
    finish(
        s.join(table, "user", name="once").to(once),
        s.join(table, "user", refresh="1 minute", name="again").to(again),
        clock=lambda: now[0],
        on_step=grow,
    )
    assert {row.user for row in once.batches[1]} == {"u1"}
    assert {row.user for row in again.batches[1]} == {"u1", "u2"}


@pytest.mark.parametrize("nonsense", [None, 3, "two", float("nan"), 2.5, 0, -1, True])
def test_a_decision_that_cannot_be_carried_out_changes_nothing(
    events: Events, finish: Finish, nonsense: Any
) -> None:
    class Confused:
        def decide(self, observation: ps.Observation) -> ps.Decision:
            if observation.batch_id < 0:
                return ps.Decision(2, "two")
            return nonsense if nonsense in (None, 3, "two") else ps.Decision(nonsense, "?")

    sink = ps.sinks.memory()
    query = finish(ps.Stream.read(events(2, 10)).to(sink), policy=Confused())
    assert len(sink.rows()) == 20
    assert query.decisions() == [ps.Decision(2, "two")]
