"""``PENSTOCK_KILLS=40`` kills that often, over a stream that is as many batches longer."""

from __future__ import annotations

import os
import signal
from collections import Counter
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from killing import kills, run_job
from pyarrow import dataset
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from oracle import bag

KILLS = int(os.environ.get("PENSTOCK_KILLS", "20"))
BATCHES, ROWS = KILLS, 30


@pytest.mark.slow
def test_kills_of_the_driver_leave_exactly_the_rows_of_a_plain_batch(
    spark: SparkSession, tmp_path: Path
) -> None:
    for batch in range(BATCHES):
        rows = spark.range(batch * ROWS, (batch + 1) * ROWS, numPartitions=1)
        rows.selectExpr("id", "id / 8 AS value").write.mode("append").parquet(str(tmp_path / "in"))
    codes = [run_job(tmp_path, **kill) for kill in kills(KILLS, seed=1)]  # type: ignore[arg-type]
    died = [code for code in codes if code == -signal.SIGKILL]
    assert len(died) == KILLS, f"exit codes {codes}"
    commits = list((tmp_path / "checkpoint" / "commits").glob("0*.json"))
    assert 1 < len(commits) < BATCHES, "the kills should spread over the stream, not end it"
    assert run_job(tmp_path) == 0

    table = spark.read.parquet(str(tmp_path / "in"))
    expected_a = table.selectExpr("id", "value * 3 / 2")
    expected_b = table.filter("id % 2 = 1").selectExpr("id", "concat('n', id)")
    assert bag(spark.read.parquet(str(tmp_path / "a")).select("id", "value")) == bag(expected_a)
    assert bag(spark.read.parquet(str(tmp_path / "b")).select("id", "name")) == bag(expected_b)
    assert bag(spark.read.parquet(str(tmp_path / "c")).drop("batch_id")) == closed_windows(table)
    ends = ends_of_batches(tmp_path / "a")
    found = spark.read.parquet(str(tmp_path / "d")).select("bucket", "n", "total")
    assert bag(found) == running_totals(ends)
    for name in ("a", "b"):
        assert_only_whole_batches(tmp_path / name, len(ends))


def ends_of_batches(out: Path) -> list[int]:
    """How many rows there were after each batch.

    A batch has one file, but two where Spark died between noting the first in its source's log and
    planning the batch: it then finds that file and the next.
    """
    table = dataset.dataset(out, format="parquet", partitioning="hive").to_table()
    rows = Counter(table["batch_id"].to_pylist())
    assert sorted(rows) == list(range(len(rows)))
    assert set(rows.values()) <= {ROWS, 2 * ROWS}
    assert len(rows) > BATCHES * 3 // 4
    return list(accumulate(rows[batch] for batch in range(len(rows))))


def running_totals(ends: list[int]) -> Counter[tuple[Any, ...]]:
    """The totals of every key after each batch that had rows of it: 30 rows, so of all eleven."""
    found: Counter[tuple[Any, ...]] = Counter()
    for end in ends:
        for bucket in range(11):
            ids = range(bucket, end, 11)
            found[(bucket, len(ids), sum(ids))] += 1
    return found


def closed_windows(table: DataFrame) -> Counter[tuple[Any, ...]]:
    """The windows of the job that the last watermark has passed, as Spark computes them."""
    timed = table.withColumn("ts", F.expr("timestamp_seconds(1700000000 + id)"))
    measures = [F.count("*").alias("n"), F.sum("value").alias("s"), F.max("id").alias("most")]
    found: Counter[tuple[Any, ...]] = Counter()
    for length, slide, name in (
        ("200 seconds", "20 seconds", "200 seconds every 20 seconds"),
        ("30 seconds", "30 seconds", "30 seconds"),
    ):
        rows = timed.groupBy(F.window("ts", length, slide)).agg(*measures)
        mark = F.timestamp_seconds(F.lit(1_700_000_000 + BATCHES * ROWS - 1 - 5))
        closed = rows.filter(F.col("window.end") <= mark)
        found += bag(closed.select("window", F.lit(name), "n", "s", "most"))
    return found


def assert_only_whole_batches(out: Path, batches: int) -> None:
    """No file is left over that a reader would see, whichever reader it is."""
    visible = [path for path in out.iterdir() if not path.name.startswith(("_", "."))]
    assert {path.name for path in visible} == {f"batch_id={n}" for n in range(batches)}
    files = sum(1 for path in visible for file in path.glob("*.parquet"))
    assert files >= batches
    assert dataset.dataset(out, format="parquet", partitioning="hive").count_rows() in (
        BATCHES * ROWS,
        BATCHES * ROWS // 2,
    )
    assert not [path for path in (out / "_staging").rglob("*") if path.is_file()]
