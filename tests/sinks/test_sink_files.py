from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock import sinks
from penstock.errors import ConfigurationError, SinkError
from penstock.sinks.files import FileSink
from penstock.sinks.filesystem import HadoopFiles

COUNTED = ("write_atomic", "read", "list", "delete", "rename", "exists")


class Killed(BaseException):
    """Stands for the end of the process: nothing in the code under test catches it."""


def _opened(path: Path, query_id: str = "q", **settings: object) -> FileSink:
    sink = sinks.parquet(str(path), **settings)  # type: ignore[arg-type]
    sink.open(query_id)
    return sink


def _values(spark: SparkSession, path: Path) -> list[tuple[int, int]]:
    rows = spark.read.parquet(str(path)).select("batch_id", "x").collect()
    return sorted((row.batch_id, row.x) for row in rows)


def test_layout(spark: SparkSession, tmp_path: Path) -> None:
    sink = _opened(tmp_path / "out", partition_by=["area"])
    sink.write(spark.createDataFrame([(1, "n"), (2, "s")], "x INT, area STRING"), 12)
    visible = [p.name for p in (tmp_path / "out").iterdir() if p.name[0] not in "_."]
    assert visible == ["batch_id=12"]
    assert {p.name for p in (tmp_path / "out" / "batch_id=12").iterdir()} == {"area=n", "area=s"}
    assert list((tmp_path / "out" / "_staging").iterdir()) == []
    read = spark.read.parquet(str(tmp_path / "out"))
    assert sorted(read.collect()) == [(1, 12, "n"), (2, 12, "s")]


def test_json_lines_with_options(spark: SparkSession, tmp_path: Path) -> None:
    sink = sinks.json(str(tmp_path / "out"), options={"ignoreNullFields": "false"})
    sink.open("q")
    sink.write(spark.createDataFrame([(1, None)], "x INT, y STRING"), 0)
    lines = [line for p in tmp_path.rglob("part-*.json") for line in p.read_text().splitlines()]
    assert [json.loads(line) for line in lines] == [{"x": 1, "y": None}]


def test_only_empty_batches_can_be_read(spark: SparkSession, tmp_path: Path) -> None:
    sink = _opened(tmp_path / "out")
    sink.write(spark.createDataFrame([], "x INT"), 0)
    assert _values(spark, tmp_path / "out") == []


def _rows_only(path: Path) -> FileSink:
    sink = FileSink(path, "parquet", publishes_empty=False)
    sink.open("q")
    return sink


@pytest.mark.parametrize("tasks", [1, 4])
def test_batches_without_rows_may_leave_nothing(
    spark: SparkSession, tmp_path: Path, tasks: int
) -> None:
    """Of four tasks the first always makes a file; here a later one has the row."""
    sink, rows = _rows_only(tmp_path / "out"), spark.range(0, 4, 1, tasks).selectExpr("id AS x")
    for batch, wanted in enumerate(["x < 0", "x = 0", "x < 0", "x = 3", "x >= 0"]):
        sink.write(rows.filter(wanted), batch)
    there = sorted(p.name for p in (tmp_path / "out").iterdir())
    assert there == ["_penstock", "_staging", "batch_id=1", "batch_id=3", "batch_id=4"]
    assert _values(spark, tmp_path / "out") == [(1, 0), (3, 3), *((4, x) for x in range(4))]
    assert list((tmp_path / "out" / "_staging").iterdir()) == []


def test_directory_of_another_query_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    _opened(tmp_path / "out", "mine").write(spark.range(1).toDF("x"), 0)
    with pytest.raises(SinkError, match=r"belongs to query 'mine'.*'yours'.*another directory"):
        _opened(tmp_path / "out", "yours")
    assert _values(spark, tmp_path / "out") == [(0, 0)]
    _opened(tmp_path / "out", "mine")


def test_other_settings_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    _opened(tmp_path / "out", partition_by=["a"])
    with pytest.raises(SinkError, match=r"partition_by=\['a'\]"):
        _opened(tmp_path / "out")
    with pytest.raises(SinkError, match="holds parquet files"):
        sinks.json(str(tmp_path / "out"), partition_by=["a"]).open("q")


@pytest.mark.parametrize("text", ["{not json", "[1]"])
def test_damaged_owner_record_is_explained(spark: SparkSession, tmp_path: Path, text: str) -> None:
    _opened(tmp_path / "out")
    (tmp_path / "out" / "_penstock" / "owner.json").write_text(text)
    with pytest.raises(SinkError, match=r"owner\.json'.* is damaged .*write this to the file"):
        _opened(tmp_path / "out")


def test_files_of_others_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(1).write.parquet(str(tmp_path / "out"))
    with pytest.raises(SinkError, match="did not write, such as 'part-"):
        _opened(tmp_path / "out")


@pytest.mark.parametrize(
    ("columns", "partition_by", "message"),
    [
        (["a", "A"], [], "the column 'a' more than once"),
        (["a", "a"], [], "the column 'a' more than once"),
        (["a", "Batch_ID"], [], "named 'batch_id'"),
        (["a", "b"], ["c"], "partition_by column 'c'"),
        (["a"], ["a"], "every column in partition_by"),
    ],
)
def test_columns_that_cannot_be_written(
    spark: SparkSession, tmp_path: Path, columns: list[str], partition_by: list[str], message: str
) -> None:
    sink = _opened(tmp_path / "out", partition_by=partition_by)
    df = spark.createDataFrame([tuple(range(len(columns)))], columns)
    with pytest.raises(SinkError, match=message):
        sink.check(columns)
    with pytest.raises(SinkError, match=message):
        sink.write(df, 0)
    assert not (tmp_path / "out" / "batch_id=0").exists()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sinks.parquet(""), "Name a directory"),
        (lambda: sinks.parquet(7), "path=7.* Write a text or a PathLike"),  # type: ignore[arg-type]
        (lambda: sinks.json("o", "area"), r"partition_by=\['area'\]"),
        (lambda: sinks.json("o", ["area", "Area"]), "names a column twice"),
    ],
)
def test_settings_that_cannot_work(make: Callable[[], FileSink], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make()


def test_write_before_open_is_explained(spark: SparkSession) -> None:
    with pytest.raises(SinkError, match="before open"):
        sinks.parquet("out").write(spark.range(1), 0)


def test_leftovers_go_at_open_and_at_replay(spark: SparkSession, tmp_path: Path) -> None:
    staging = tmp_path / "out" / "_staging"
    sink = _opened(tmp_path / "out")
    (staging / "batch_id=1.dead.new").mkdir(parents=True)
    (staging / "batch_id=11.dead.new").mkdir()
    sink.write(spark.range(1).toDF("x"), 1)
    assert [p.name for p in staging.iterdir()] == ["batch_id=11.dead.new"]
    _opened(tmp_path / "out")
    assert list(staging.iterdir()) == []


@pytest.mark.parametrize("kill_at", range(7))
def test_killed_at_any_step_of_a_replay(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kill_at: int
) -> None:
    """Steps: list staging, job, exists, move old, publish, delete old; 6 is past the end."""
    sink = _opened(tmp_path / "out")
    sink.write(spark.createDataFrame([(1,), (2,)], "x INT"), 0)
    again = spark.createDataFrame([(7,)], "x INT")
    finished = False
    with monkeypatch.context() as patched:
        _kill_at(patched, kill_at)
        try:
            sink.write(again, 0)
            finished = True
        except Killed:
            pass
    assert finished is (kill_at >= 5)
    restarted = _opened(tmp_path / "out")
    assert _values(spark, tmp_path / "out") in ([(0, 1), (0, 2)], [(0, 7)])
    restarted.write(again, 0)
    assert _values(spark, tmp_path / "out") == [(0, 7)]
    assert list((tmp_path / "out" / "_staging").iterdir()) == []


@pytest.mark.parametrize("kill_at", range(9))
def test_killed_at_any_step_of_a_replay_without_rows(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kill_at: int
) -> None:
    """Steps: list staging, job, list files, exists, move away, delete twice; 7 is past the end."""
    sink = _rows_only(tmp_path / "out")
    sink.write(spark.createDataFrame([(1,)], "x INT"), 0)
    sink.write(spark.createDataFrame([(1,), (2,)], "x INT"), 1)
    none = spark.createDataFrame([], "x INT")
    finished = False
    with monkeypatch.context() as patched:
        _kill_at(patched, kill_at)
        try:
            sink.write(none, 1)
            finished = True
        except Killed:
            pass
    assert finished is (kill_at >= 6)
    restarted = _rows_only(tmp_path / "out")
    whole = [(0, 1), (1, 1), (1, 2)]
    assert _values(spark, tmp_path / "out") == (whole if kill_at < 4 else whole[:1])
    restarted.write(none, 1)
    assert _values(spark, tmp_path / "out") == [(0, 1)]
    assert not (tmp_path / "out" / "batch_id=1").exists()
    assert list((tmp_path / "out" / "_staging").iterdir()) == []


def test_a_batch_that_was_half_deleted_when_its_replay_was_killed_does_not_come_back(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = _rows_only(tmp_path / "out")
    sink.write(spark.range(0, 4, 1, 4).selectExpr("id AS x"), 0)

    def half(self: HadoopFiles, path: str, recursive: bool = False) -> bool:
        for file in list(Path(path).glob("part-*"))[:2]:
            file.unlink()
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(HadoopFiles, "delete", half)
        with pytest.raises(Killed):
            sink.write(spark.createDataFrame([], "x BIGINT"), 0)
    _rows_only(tmp_path / "out")
    assert [p.name for p in (tmp_path / "out").iterdir() if p.name[0] != "_"] == []


def _kill_at(patched: pytest.MonkeyPatch, step: int) -> None:
    """Raise instead of the file operation number ``step``."""
    steps = iter(range(100))
    for name in COUNTED:
        real = getattr(HadoopFiles, name)

        def counted(
            self: HadoopFiles, *given: object, real: Callable[..., object] = real, **named: object
        ) -> object:
            if next(steps) == step:
                raise Killed
            return real(self, *given, **named)

        patched.setattr(HadoopFiles, name, counted)


def test_writes_from_another_thread(spark: SparkSession, tmp_path: Path) -> None:
    sink = _opened(tmp_path / "out")
    df = spark.range(2).toDF("x")
    thread = threading.Thread(target=lambda: sink.write(df, 3))
    thread.start()
    thread.join()
    assert _values(spark, tmp_path / "out") == [(3, 0), (3, 1)]
