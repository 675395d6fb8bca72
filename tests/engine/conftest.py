from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import penstock as ps

EVENTS = "id bigint, user string, rate double, ts timestamp"


@pytest.fixture
def events(spark: SparkSession, tmp_path: Path) -> Callable[..., DataFrame]:
    """Return a maker of streams over files: one file is one micro-batch, and Spark can read it too.

    ``events(4, 100)`` is 4 batches of 100 rows; the batch DataFrame over the same files is the
    ``table`` attribute that the maker sets.
    """

    def make(batches: int, rows: int, name: str = "events") -> DataFrame:
        where = tmp_path / name
        for batch in range(batches):
            start = batch * rows
            (
                spark.range(start, start + rows, numPartitions=2)
                .selectExpr(
                    "id",
                    "concat('u', id % 7) AS user",
                    "id / 4 AS rate",
                    "timestamp_seconds(1700000000 + id) AS ts",
                )
                .coalesce(1)
                .write.mode("append")
                .parquet(str(where))
            )
        make.table = spark.read.schema(EVENTS).parquet(str(where))  # type: ignore[attr-defined]
        return spark.readStream.schema(EVENTS).option("maxFilesPerTrigger", 1).parquet(str(where))

    return make


@pytest.fixture
def finish(tmp_path: Path) -> Callable[..., ps.Query]:
    """Run branches over all there is, to the end."""

    def run(*outlets: ps.Outlet, checkpoint: str = "checkpoint", **options: Any) -> ps.Query:
        query = ps.run(
            *outlets, checkpoint=str(tmp_path / checkpoint), available_now=True, **options
        )
        assert query.await_termination(120)
        return query

    return run
