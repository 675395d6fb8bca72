"""Spark's log beside the commit log: what a start must notice, on files as Spark writes them."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from zlib import crc32

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import penstock as ps
from oracle import bag
from penstock.engine.hadoop_checksums import checksum_path, fits_checksums
from penstock.engine.spark_log import SparkLog, sweep
from penstock.errors import CheckpointError
from penstock.sinks.filesystem import HadoopFiles
from penstock.testing import fail_at

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


def crc_of(content: bytes) -> bytes:
    """Write checksums as Hadoop does: of every 512 bytes one."""
    pieces = [content[start : start + 512] for start in range(0, len(content), 512)]
    return b"crc\0" + struct.pack(">I", 512) + b"".join(crc32(p).to_bytes(4) for p in pieces)


@pytest.mark.parametrize(
    "file", ["metadata", "offsets/3", "commits/2", "sources/0/2", "sources/0/1", "sources/0/3"]
)
def test_a_file_that_is_still_in_form_must_fit_its_checksums(
    log: SparkLog, tmp_path: Path, file: str
) -> None:
    path = tmp_path / file
    path.write_text(path.read_text() + " " * 1_000)
    beside = path.with_name(f".{path.name}.crc")
    whole = crc_of(path.read_bytes())
    beside.write_bytes(whole)
    log.check(2, log.checksum(2))
    for damaged in (
        b"",
        b"crc",
        whole[:-1],
        b"crc\0" + bytes(4),
        whole[:-1] + b"?",
        b"x" + whole[1:],
    ):
        beside.write_bytes(damaged)
        with pytest.raises(CheckpointError, match=f"{file}' is .*put the file back"):
            log.check(2, log.checksum(2))
    beside.write_bytes(whole)
    path.write_text(path.read_text() + "\n")
    with pytest.raises(CheckpointError, match=f"{file}' is .*put the file back"):
        log.check(2, log.checksum(2))
    beside.unlink()  # nothing to tell by
    log.check(2, log.checksum(2))


def test_a_sources_log_is_checked_from_the_entry_that_holds_all_before(
    log: SparkLog, tmp_path: Path
) -> None:
    sources = tmp_path / "sources/0"
    (sources / "1").rename(sources / "1.compact")
    (sources / ".0.crc").write_bytes(crc_of(b"not this"))  # Spark reads it no more
    log.check(2, log.checksum(2))
    (sources / ".1.compact.crc").write_bytes(crc_of(b"not this"))
    with pytest.raises(CheckpointError, match=r"sources/0/1\.compact' is .*put the file back"):
        log.check(2, log.checksum(2))


def test_the_checksums_that_spark_writes_are_understood(
    events: Callable[..., DataFrame], finish: Callable[..., ps.Query], tmp_path: Path
) -> None:
    finish(ps.Stream.read(events(2, 10)).select("id").to(ps.sinks.memory()))
    spark_log = tmp_path / "checkpoint" / "spark"
    files = [path for path in spark_log.rglob("[!.]*") if path.is_file()]
    assert {path.parent.name for path in files} >= {"spark", "offsets", "commits"}
    for path in files:
        assert Path(checksum_path(str(path))).exists()
        assert fits_checksums(str(path))
        path.write_bytes(path.read_bytes()[:-1])
        assert not fits_checksums(str(path))


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
        ("metadata", None),
        ("metadata", ""),
        ("metadata", '{"id":'),
        ("sources/0/2", None),
        ("sources/0/3", None),
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


def test_entries_that_were_only_begun_are_swept_and_whole_ones_stay(
    spark: SparkSession, log: SparkLog, tmp_path: Path
) -> None:
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    for name in ("offsets/.4.5f1c.tmp", "offsets/..4.5f1c.tmp.crc", "commits/.3.77aa.tmp"):
        (tmp_path / name).touch()
    sweep(HadoopFiles(spark), str(tmp_path))
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_first_batch_that_found_no_room_for_its_offsets_runs_once_there_is(
    feed: Callable[..., DataFrame], finish: Callable[..., ps.Query], tmp_path: Path
) -> None:
    """Spark refuses a first micro-batch where anything lies in its log of offsets."""
    df, sink = feed([pa.table({"n": [1]})]), ps.sinks.memory()
    with pytest.raises(ps.PenstockError, match="broken off"):
        finish(ps.Stream.read(df).to(sink), on_step=fail_at("load", 0))
    log = tmp_path / "checkpoint" / "spark" / "offsets"
    for path in log.iterdir():
        path.unlink()
    (log / ".0.5f1c.tmp").touch()
    finish(ps.Stream.read(df).to(sink))
    assert [row["n"] for row in sink.rows()] == [1]
