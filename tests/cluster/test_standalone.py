from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from standalone import run_job

JOB = Path(__file__).with_name("cluster_job.py")


@pytest.mark.cluster
def test_a_topology_runs_on_executors_that_do_not_have_penstock(
    spark: SparkSession, tmp_path: Path
) -> None:
    told = run_job(JOB, tmp_path)
    # The package came to the executors as an archive; 2 workers of 2 cores are 4 slots.
    assert all(".zip" in file for file in told["penstock"])
    assert told["slots"] == 4
    assert told["tasks"]["look"] == 4
    # The watermark is then at 4.99 s: two tumbling windows, and the sliding ones up to [1, 4).
    assert told["windows"] == {"2 seconds": 400, "3 seconds every 1 second": 100 + 200 + 300 + 300}
    rows = spark.read.parquet(str(tmp_path / "out")).select("id")
    expected = spark.range(600).filter("id % 50 <> 7")
    assert rows.count() == 588
    assert rows.exceptAll(expected).isEmpty()
    dead = spark.read.parquet(str(tmp_path / "dead"))
    ids = sorted(json.loads(row.row)["id"] for row in dead.collect())
    assert ids == list(range(7, 600, 50))
