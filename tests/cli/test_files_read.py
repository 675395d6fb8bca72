"""What is left of files, as Spark's own checkpoint tells it."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.cli.files_read import FilesRead, files_there
from penstock.cli.remaining import DoneSoFar, OfAvailable
from penstock.cli.run_record import BatchRecord, RunRecord

FILES = 12
JOB = """
import penstock as ps

def build(spark):
    rows = spark.readStream.schema("n long").option("maxFilesPerTrigger", 1).json("in")
    return ps.Stream.read(rows).filter("n > 1").to(ps.sinks.parquet("out"), name="kept")
"""


def put(directory: Path, first: int, end: int) -> None:
    directory.mkdir(exist_ok=True)
    for number in range(first, end):
        file = directory / f"rows of {number}.json"
        file.write_text('{"n": 1}\n{"n": 2}\n')
        # Spark takes files in the order of their times.
        os.utime(file, (1_000 + number, 1_000 + number))


def stream(spark: SparkSession, rows: Path) -> DataFrame:
    return spark.readStream.schema("n long").option("maxFilesPerTrigger", 1).json(str(rows))


def read_all(frame: DataFrame, checkpoint: Path) -> None:
    writing = frame.writeStream.format("noop").option("checkpointLocation", f"{checkpoint}/spark")
    writing.trigger(availableNow=True).start().awaitTermination()


@pytest.fixture(scope="module")
def place(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve files, each read in a batch of its own: the tenth entry holds those before it."""
    place = tmp_path_factory.mktemp("files")
    put(place / "in", 0, FILES)
    (place / "in" / "_hidden.json").write_text("not for Spark")
    read_all(stream(spark, place / "in"), place / "ck")
    return place


def after(batch_id: int | None) -> RunRecord:
    if batch_id is None:
        return RunRecord()
    batch = BatchRecord(batch_id, 2, 1.0, 2.0, None, None, 4, 0, {})
    return RunRecord(batches=batch_id + 1, rows_in=2 * (batch_id + 1), recent=(batch,))


def test_every_batch_has_read_one_file_more(place: Path) -> None:
    read = FilesRead(place / "ck")
    assert read.last_batch() == FILES - 1
    assert [len(read.after(batch)) for batch in range(FILES)] == list(range(1, FILES + 1))
    assert len(FilesRead(place / "ck").after(FILES - 1)) == FILES


def test_files_there_are_those_that_spark_reads(spark: SparkSession, place: Path) -> None:
    frame = stream(spark, place / "in")
    assert files_there([frame]) == FilesRead(place / "ck").after(FILES - 1)
    joined = frame.select("n").join(spark.createDataFrame([(1,)], "n long"), "n")
    assert files_there([joined]) == files_there([frame])


def test_sources_that_are_not_of_files_do_not_tell(spark: SparkSession, place: Path) -> None:
    rate = spark.readStream.format("rate").load()
    assert files_there([rate]) is None
    assert files_there([stream(spark, place / "in"), rate]) is None


def test_the_time_left_is_at_the_pace_so_far(spark: SparkSession, place: Path) -> None:
    now = [100.0]
    left = OfAvailable(clock=lambda: now[0])
    left.before_start(place / "elsewhere")
    left._read = FilesRead(place / "ck")
    left.started(lambda: files_there([stream(spark, place / "in")]))
    told = []
    for batch, at in ((None, 103.0), (0, 105.0), (0, 108.0), (3, 120.0), (11, 150.0)):
        now[0] = at
        line = left(after(batch))
        assert line is not None
        told.append(line.line().plain.strip("━ "))
    assert told == [
        "0 %, 0 of 12 files",
        "8 %, 0:55 left, 1 of 12 files",
        "8 %, 0:52 left, 1 of 12 files",
        "33 %, 0:40 left, 4 of 12 files",
        "100 %, 0:00 left, 12 of 12 files",
    ]


def test_files_of_runs_before_are_not_counted(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path / "in", 0, 2)
    read_all(stream(spark, tmp_path / "in"), tmp_path / "ck")
    put(tmp_path / "in", 2, 5)
    left = OfAvailable()
    left.before_start(tmp_path / "ck")
    left.started(lambda: files_there([stream(spark, tmp_path / "in")]))
    read_all(stream(spark, tmp_path / "in"), tmp_path / "ck")
    line = left(after(2))
    assert line is not None
    assert line.line().plain.endswith("1 of 3 files")


@pytest.mark.parametrize("checkpoint", [None, Path("/no/such/place")])
def test_without_a_number_none_is_invented(checkpoint: Path | None) -> None:
    now = [0.0]
    left = OfAvailable(clock=lambda: now[0])
    left.before_start(checkpoint)
    left.started(lambda: None)
    assert left(after(None)) is None
    now[0] = 4.0
    assert left(after(9)) == DoneSoFar(20, 4.0)
    assert "%" not in DoneSoFar(20, 4.0).line().plain


def test_a_run_in_a_terminal_shows_files_and_the_time_left(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(JOB)
    put(tmp_path / "in", 0, 6)
    ours, terminal = pty.openpty()
    ran = subprocess.Popen(
        [sys.executable, "-m", "penstock", "run", "app.py", "--available-now", "--json"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=terminal,
        env={**os.environ, "COLUMNS": "100", "TERM": "xterm"},
    )
    os.close(terminal)
    shown = b""
    try:
        while some := os.read(ours, 65_536):
            shown += some
    except OSError:  # Linux says so when the other end has closed
        pass
    os.close(ours)
    assert ran.wait() == 0, shown.decode()
    assert re.search(r"%, \d+:\d\d left, [1-6] of 6 files", shown.decode()), shown.decode()
