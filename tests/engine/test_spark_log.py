"""Spark's log beside the commit log: what a start must notice, on files as Spark writes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import penstock as ps
from oracle import bag
from penstock.engine.spark_log import SparkLog
from penstock.errors import CheckpointError
from penstock.sinks.filesystem import HadoopFiles

OFFSETS = 'v1\n{{"batchWatermarkMs":0,"batchTimestampMs":17}}\n{{"logOffset":{0}}}'
DONE = 'v1\n{"nextBatchWatermarkMs":0}'


@pytest.fixture
def log(spark: SparkSession, tmp_path: Path) -> SparkLog:
    """Return the log of a query that has done micro-batches 0 to 2 and planned 3."""
    for name in ("offsets", "commits", "sources/0"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "metadata").write_text('{"id":"8a3f"}')
    for batch in range(4):
        (tmp_path / f"offsets/{batch}").write_text(OFFSETS.format(batch))
        (tmp_path / f"sources/0/{batch}").write_text('v1\n{"path":"file:///in/0"}')
    for batch in range(3):
        (tmp_path / f"commits/{batch}").write_text(DONE)
    return SparkLog(HadoopFiles(spark), str(tmp_path))


def test_a_log_as_spark_left_it_is_taken(log: SparkLog, tmp_path: Path) -> None:
    log.check(2, log.checksum(2))
    log.check(2, None)  # a record of an earlier version
    (tmp_path / "offsets/3").unlink()
    log.check(2, log.checksum(2))
    (tmp_path / "commits/2").unlink()  # Spark sends the batch again, and it is skipped
    log.check(2, log.checksum(2))
    (tmp_path / "sources/0/2").rename(tmp_path / "sources/0/2.compact")
    log.check(2, log.checksum(2))


@pytest.mark.parametrize("committed", [None, 0, 1])
def test_a_commit_log_that_ends_before_sparks_has_lost_records(
    log: SparkLog, committed: int | None
) -> None:
    with pytest.raises(CheckpointError, match="records are missing"):
        log.check(committed, None)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("offsets/2", None),
        ("offsets/2", OFFSETS.format(1)),
        ("offsets/2", ""),
        ("offsets/3", ""),
        ("offsets/3", OFFSETS.format(3)[:-4]),
        ("offsets/3", OFFSETS.format(3).replace("v1", "w1")),
        ("commits/2", ""),
        ("commits/2", DONE[:-3]),
        ("metadata", ""),
        ("metadata", '{"id":'),
        ("sources/0/2", None),
    ],
)
def test_what_is_lost_or_damaged_is_named(
    log: SparkLog, tmp_path: Path, file: str, text: str | None
) -> None:
    known = log.checksum(2)
    if text is None:
        (tmp_path / file).unlink()
    else:
        (tmp_path / file).write_text(text)
    with pytest.raises(CheckpointError, match=f"{file}' is .*put the file back"):
        log.check(2, known)


def test_offsets_that_are_lost_do_not_hide_new_rows_behind_a_committed_batch(
    spark: SparkSession,
    events: Callable[..., DataFrame],
    finish: Callable[..., ps.Query],
    tmp_path: Path,
) -> None:
    """Spark would send the next rows under the number of the batch whose offsets it lost."""
    out, newest = str(tmp_path / "out"), tmp_path / "checkpoint" / "spark" / "offsets" / "1"
    df = events(2, 10)
    finish(ps.Stream.read(df).select("id").to(ps.sinks.parquet(out)))
    kept = newest.read_bytes()
    newest.unlink()
    crc = newest.with_name(".1.crc")
    sum_kept = crc.read_bytes()
    crc.unlink()
    spark.range(20, 30).selectExpr(
        "id", "'u' AS user", "0.5D AS rate", "timestamp_seconds(id) AS ts"
    ).coalesce(1).write.mode("append").parquet(str(tmp_path / "events"))
    with pytest.raises(ps.CheckpointError, match="offsets/1' is missing"):
        finish(ps.Stream.read(df).select("id").to(ps.sinks.parquet(out)))
    newest.write_bytes(kept)
    crc.write_bytes(sum_kept)
    finish(ps.Stream.read(df).select("id").to(ps.sinks.parquet(out)))
    assert bag(spark.read.parquet(out).select("id")) == bag(spark.range(30))
