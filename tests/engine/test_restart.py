from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import penstock as ps
from documents_written import resealed
from oracle import bag
from penstock import journal
from penstock.engine.checkpoint import open_checkpoint
from penstock.engine.documents import sealed
from penstock.engine.steps import Step
from penstock.journal.events import BatchSkipped
from penstock.sinks.filesystem import HadoopFiles
from penstock.testing import fail_at
from penstock.topology.compatibility import Fingerprint

Events = Callable[..., DataFrame]
Finish = Callable[..., ps.Query]


def contents(checkpoint: Path) -> dict[str, bytes]:
    """What a start that is refused must leave as it was."""
    return {str(path): path.read_bytes() for path in checkpoint.rglob("*") if path.is_file()}


@pytest.mark.parametrize("step", list(Step))
def test_a_run_that_breaks_off_after_any_step_goes_on_as_if_nothing_had_happened(
    spark: SparkSession, events: Events, finish: Finish, tmp_path: Path, step: Step
) -> None:
    out, odd = str(tmp_path / "out"), str(tmp_path / "odd")
    df = events(4, 25)

    def branches() -> list[ps.Outlet]:
        s = ps.Stream.read(df, time="ts", watermark="5 seconds")
        ids = s.map(lambda r: {"id": r["id"]}, "id bigint", name="ids")
        # Two that need Python let their stream be kept first, so that a run comes to every step.
        every = ids.map(lambda r: r, "id bigint", name="every")
        odds = ids.map(lambda r: r if r["id"] % 2 else None, "id bigint", name="odds")
        return [every.to(ps.sinks.parquet(out)), odds.to(ps.sinks.parquet(odd))]

    with pytest.raises(ps.QueryError, match="broken off"):
        finish(*branches(), on_step=fail_at(step, 2))
    query = finish(*branches())
    assert bag(spark.read.parquet(out).select("id")) == bag(events.table.select("id"))
    expected = events.table.filter("id % 2 = 1").select("id")
    assert bag(spark.read.parquet(odd).select("id")) == bag(expected)
    assert query.status().watermarks_seconds == {"source": 1700000000.0 + 99 - 5}
    skipped = [e.body for e in journal.read(query.journal_dir) if isinstance(e.body, BatchSkipped)]
    assert [e.batch_id for e in skipped] == ([2] if step in (Step.COMMIT, Step.PLAN) else [])


def test_harmless_changes_are_accepted_at_a_restart(
    spark: SparkSession, events: Events, finish: Finish, tmp_path: Path
) -> None:
    df = events(2, 10)
    first = ps.Stream.read(df, name="events").map(lambda r: {"id": r["id"]}, "id bigint")
    finish(first.to(ps.sinks.memory()))
    spark.range(20, 30).selectExpr(
        "id", "'new' AS user", "0.5D AS rate", "timestamp_seconds(id) AS ts"
    ).coalesce(1).write.mode("append").parquet(str(tmp_path / "events"))
    s = ps.Stream.read(df, name="events").filter("user = 'new'").select("id", "user")
    one, two = ps.sinks.memory(), ps.sinks.memory()
    finish(
        s.to(one),
        s.select("user").to(two),
        policy=ps.Static(2),
        slots=ps.LocalSlots(max=3),
        placement=ps.RoundRobin(),
    )
    assert sorted(row.id for row in one.rows()) == list(range(20, 30))
    assert len(two.rows()) == 10


def test_a_change_of_sources_is_refused_with_what_changed(events: Events, finish: Finish) -> None:
    df = events(1, 10)
    finish(ps.Stream.read(df, name="events").to(ps.sinks.memory()))
    with pytest.raises(ps.CheckpointError, match="source 'events' is gone; source 'clicks' is new"):
        finish(ps.Stream.read(df, name="clicks").to(ps.sinks.memory()))
    gained = "had no time column and now has the time column 'ts'"
    with pytest.raises(ps.CheckpointError, match=gained):
        finish(ps.Stream.read(df, name="events", time="ts").to(ps.sinks.memory()))


def test_sources_may_be_written_in_another_order_at_a_restart(
    events: Events, finish: Finish, spark: SparkSession, tmp_path: Path
) -> None:
    a, b = events(1, 10, "a"), events(2, 10, "b")

    def run(first: str, second: str) -> tuple[Any, Any]:
        streams = {"a": ps.Stream.read(a, name="a"), "b": ps.Stream.read(b, name="b")}
        sinks = {"a": ps.sinks.memory(), "b": ps.sinks.memory()}
        finish(streams[first].to(sinks[first]), streams[second].to(sinks[second]))
        return sinks["a"], sinks["b"]

    one, two = run("a", "b")
    assert (len(one.rows()), len(two.rows())) == (10, 20)
    spark.range(100, 105).selectExpr(
        "id", "'x' AS user", "0.5D AS rate", "timestamp_seconds(id) AS ts"
    ).coalesce(1).write.mode("append").parquet(str(tmp_path / "b"))
    one, two = run("b", "a")
    assert (len(one.rows()), sorted(row.id for row in two.rows())) == (0, [100, 101, 102, 103, 104])


@pytest.mark.parametrize(
    ("file", "text", "problem"),
    [
        ("commits/000000000001.json", '{"format": "penstock-com', "cut short or damaged"),
        ("commits/000000000001.json", "", "cut short or damaged"),
        ("commits/000000000001.json", "[1]", "was not written by Penstock"),
        ("commits/000000000001.json", '{"format": "other"}', "was not written by Penstock"),
        ("commits/000000000001.json", '{"format": "penstock-commit", "version": 99}', "version 99"),
        (
            "commits/000000000001.json",
            sealed({"format": "penstock-commit", "version": 3}),
            "a field missing or wrong",
        ),
        ("query.json", "{", "cut short or damaged"),
        (
            "query.json",
            sealed({"format": "penstock-query", "version": 2}),
            "a field missing or wrong",
        ),
    ],
)
def test_a_damaged_checkpoint_is_refused_naming_the_file_and_the_way_out(
    events: Events, finish: Finish, tmp_path: Path, file: str, text: str, problem: str
) -> None:
    df = events(2, 5)
    finish(ps.Stream.read(df).to(ps.sinks.memory()))
    (tmp_path / "checkpoint" / file).write_text(text)
    before = contents(tmp_path / "checkpoint")
    with pytest.raises(ps.CheckpointError, match=problem) as raised:
        finish(ps.Stream.read(df).to(ps.sinks.memory()))
    assert contents(tmp_path / "checkpoint") == before
    assert file in str(raised.value)
    assert any(word in str(raised.value) for word in ("checkpoint directory", "Install that one"))


def test_missing_commit_records_are_noticed(
    spark: SparkSession, events: Events, finish: Finish, tmp_path: Path
) -> None:
    df = events(3, 5)
    finish(ps.Stream.read(df).to(ps.sinks.memory()))
    (tmp_path / "checkpoint" / "commits" / "000000000002.json").unlink()
    spark.range(1).selectExpr(
        "id", "'x' AS user", "0.5D AS rate", "timestamp_seconds(id) AS ts"
    ).write.mode("append").parquet(str(tmp_path / "events"))
    before = contents(tmp_path / "checkpoint")
    with pytest.raises(ps.CheckpointError, match="records are missing"):
        finish(ps.Stream.read(df).to(ps.sinks.memory()))
    assert contents(tmp_path / "checkpoint") == before


def test_a_record_of_another_query_is_refused(
    events: Events, finish: Finish, tmp_path: Path
) -> None:
    df = events(1, 5)
    finish(ps.Stream.read(df).to(ps.sinks.memory()))
    record = tmp_path / "checkpoint" / "commits" / "000000000000.json"
    record.write_text(resealed(record.read_text(), query_id="another"))
    before = contents(tmp_path / "checkpoint")
    with pytest.raises(ps.CheckpointError, match="belongs to another query"):
        finish(ps.Stream.read(df).to(ps.sinks.memory()))
    assert contents(tmp_path / "checkpoint") == before


def test_the_checkpoint_of_a_plain_spark_query_is_refused(
    events: Events, finish: Finish, tmp_path: Path
) -> None:
    df = events(1, 5)
    plain = df.writeStream.foreachBatch(lambda *_: None).trigger(availableNow=True)
    plain.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()
    with pytest.raises(ps.CheckpointError, match=r"no query\.json"):
        finish(ps.Stream.read(df).to(ps.sinks.memory()))


def test_old_commit_records_are_deleted(
    events: Events, finish: Finish, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.engine.commit_log.KEPT_RECORDS", 2)
    finish(ps.Stream.read(events(5, 3)).to(ps.sinks.memory()))
    names = sorted(path.name for path in (tmp_path / "checkpoint" / "commits").iterdir())
    assert names == ["000000000003.json", "000000000004.json"]


def test_an_operator_with_state_that_came_later_is_remembered(
    spark: SparkSession, tmp_path: Path
) -> None:
    files, where = HadoopFiles(spark), str(tmp_path / "checkpoint")

    def reopen(fingerprint: Fingerprint) -> str:
        opened = open_checkpoint(files, where, fingerprint)
        opened.lock.release()
        return opened.query_id

    first = reopen(Fingerprint(("a",), {"a": None}))
    hourly = Fingerprint(("a",), {"a": None}, {"sums": {"window": "1 hour"}})
    daily = Fingerprint(("a",), {"a": None}, {"sums": {"window": "1 day"}})
    assert reopen(hourly) == first
    with pytest.raises(ps.CheckpointError, match="'sums' changed its window from 1 hour to 1 day"):
        reopen(daily)
    with pytest.raises(ps.CheckpointError, match="'sums', which keeps state, is gone"):
        reopen(Fingerprint(("a",), {"a": None}))
