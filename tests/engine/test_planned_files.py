"""Files that are gone between Spark's plan of a micro-batch and its reading of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import penstock as ps
from penstock.engine.planned_files import PlannedFiles
from penstock.engine.steps import Step
from penstock.regular_files import MOST_BYTES
from penstock.sinks.filesystem import HadoopFiles

Feed = Callable[..., DataFrame]
Finish = Callable[..., ps.Query]
BATCHES = [pa.table({"n": [number]}) for number in range(3)]


def away_at(batch: int, file: Path) -> Callable[[Step, int], None]:
    """Take a file away while another micro-batch than its own begins."""

    def take(step: Step, batch_id: int) -> None:
        if step is Step.LOAD and batch_id == batch and file.exists():
            file.rename(file.with_name(f"_{file.name}"))

    return take


@pytest.mark.parametrize("name", ["feed", "a b%25ü"])
def test_a_file_that_is_moved_for_a_moment_is_not_taken_for_read(
    spark: SparkSession, feed: Feed, finish: Finish, tmp_path: Path, name: str
) -> None:
    sink = ps.sinks.parquet(str(tmp_path / "out"))
    df, file = feed(BATCHES, name=name), tmp_path / name / "000001.parquet"
    with pytest.raises(ps.QueryError, match=r"000001\.parquet' of a source is gone.*Put the file"):
        finish(ps.Stream.read(df).to(sink), on_step=away_at(0, file))
    file.with_name(f"_{file.name}").rename(file)
    finish(ps.Stream.read(df).to(sink))
    rows = spark.read.parquet(str(tmp_path / "out")).select("n").collect()
    assert sorted(row.n for row in rows) == [0, 1, 2]


@pytest.mark.parametrize("by", ["source", "session"])
def test_whoever_says_that_files_may_go_loses_them(
    spark: SparkSession, feed: Feed, finish: Finish, tmp_path: Path, by: str
) -> None:
    feed(BATCHES)
    setting = "spark.sql.files.ignoreMissingFiles"
    reader = spark.readStream.schema("n bigint").option("maxFilesPerTrigger", 1)
    if by == "source":
        reader = reader.option("ignoreMissingFiles", "true")
    else:
        spark.conf.set(setting, "true")
    try:
        df, sink = reader.parquet(str(tmp_path / "feed")), ps.sinks.memory()
        away = away_at(0, tmp_path / "feed" / "000001.parquet")
        finish(ps.Stream.read(df).to(sink), on_step=away)
    finally:
        spark.conf.unset(setting)
    assert sorted(row["n"] for row in sink.rows()) == [0, 2]


def test_a_log_that_holds_all_before_is_looked_through_for_its_own(
    spark: SparkSession, feed: Feed, finish: Finish, tmp_path: Path
) -> None:
    """Spark makes one of every so many entries hold all before; those files may be gone."""
    setting = "spark.sql.streaming.fileSource.log.compactInterval"
    spark.conf.set(setting, "2")
    try:
        df, sink = feed(BATCHES[:2]), ps.sinks.memory()
        first, last = (tmp_path / "feed" / f"00000{n}.parquet" for n in (0, 1))
        away = away_at(1, first)  # read by then
        finish(ps.Stream.read(df).to(sink), on_step=away)
        assert (tmp_path / "checkpoint/spark/sources/0/1.compact").exists()
        df = feed([pa.table({"n": [2]}), pa.table({"n": [3]})])
        gone = sorted((tmp_path / "feed").glob("0*.parquet"))[-1]
        with pytest.raises(ps.QueryError, match=gone.name):
            finish(ps.Stream.read(df).to(sink), on_step=away_at(2, gone))
    finally:
        spark.conf.unset(setting)
    assert last.exists()


class Planned:
    """What Spark would have noted of a query over streams, written by hand."""

    def __init__(self, spark: SparkSession, log: Path, *frames: DataFrame) -> None:
        self._log = log
        self.files = PlannedFiles(HadoopFiles(spark), f"file:{log}", spark, frames)

    def batch(self, number: int, *offsets: str) -> None:
        path = self._log / "offsets" / str(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(["v1", '{"batchWatermarkMs":0}', *offsets]))

    def entry(self, source: int, number: int, file: Path) -> None:
        path = self._log / "sources" / str(source) / str(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"path": file.as_uri(), "timestamp": 1, "batchId": number})
        path.write_text(f"v1\n{line}")


@pytest.fixture
def counting(spark: SparkSession) -> DataFrame:
    return spark.readStream.format("rate").load()


def read_files(spark: SparkSession, where: Path, **options: str) -> DataFrame:
    where.mkdir()
    return spark.readStream.schema("n bigint").options(**options).parquet(str(where))


def test_a_source_whose_first_file_comes_late_is_looked_at(
    spark: SparkSession, counting: DataFrame, tmp_path: Path
) -> None:
    files = read_files(spark, tmp_path / "in")
    planned = Planned(spark, tmp_path / "log", counting, files)
    planned.batch(0, "7", "-")
    planned.files.check(0)
    planned.batch(1, "8", '{"logOffset":0}')
    planned.entry(1, 0, tmp_path / "in" / "first")
    with pytest.raises(ps.QueryError, match="first' of a source is gone"):
        planned.files.check(1)


def test_all_files_of_a_batch_are_looked_for_that_holds_what_came_while_a_crash_was_mended(
    spark: SparkSession, tmp_path: Path
) -> None:
    planned = Planned(spark, tmp_path / "log", read_files(spark, tmp_path / "in"))
    (tmp_path / "in" / "there").touch()
    names = ["read before and gone", "gone", "there"]
    for number, name in enumerate(names):
        planned.entry(0, number, tmp_path / "in" / name)
    planned.batch(0, '{"logOffset":0}')
    planned.batch(1, '{"logOffset":2}')
    with pytest.raises(ps.QueryError, match="/gone' of a source is gone"):
        planned.files.check(1)
    (tmp_path / "in" / "gone").touch()
    planned.files.check(1)


def test_one_source_that_may_lose_files_does_not_speak_for_the_others(
    spark: SparkSession, counting: DataFrame, tmp_path: Path
) -> None:
    spared = read_files(spark, tmp_path / "spared", IGNOREMISSINGFILES="true")
    needed = read_files(spark, tmp_path / "needed")
    # The first frame is read twice, and is one source all the same.
    planned = Planned(spark, tmp_path / "log", spared.union(spared), counting, needed)
    for source, where in ((0, "spared"), (2, "needed")):
        planned.entry(source, 0, tmp_path / where / "file")
    planned.batch(0, '{"logOffset":0}', "7", "-")
    planned.files.check(0)
    planned.batch(1, '{"logOffset":0}', "8", '{"logOffset":0}')
    with pytest.raises(ps.QueryError, match="needed/file' of a source is gone"):
        planned.files.check(1)


def test_a_log_that_grew_with_all_files_ever_read_is_still_read(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Spark keeps a line for each of them for good, which no bound on other files may end."""
    planned = Planned(spark, tmp_path / "log", read_files(spark, tmp_path / "in"))
    planned.batch(0, '{"logOffset":0}')
    planned.entry(0, 0, tmp_path / "in" / "gone")
    entry = tmp_path / "log" / "sources" / "0" / "0"
    with open(entry.rename(entry.with_name("0.compact")), "a") as log:
        log.write("\n" + " " * MOST_BYTES)
    with pytest.raises(ps.QueryError, match="/gone' of a source is gone"):
        planned.files.check(0)
