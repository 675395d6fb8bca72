from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
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

    def run(
        *outlets: ps.Outlet,
        checkpoint: str = "checkpoint",
        wait_seconds: float = 120,
        **options: Any,
    ) -> ps.Query:
        query = ps.run(
            *outlets, checkpoint=str(tmp_path / checkpoint), available_now=True, **options
        )
        assert query.await_termination(wait_seconds)
        return query

    return run


@pytest.fixture
def feed(spark: SparkSession, tmp_path: Path) -> Callable[..., DataFrame]:
    """Return a maker of streams over tables: each is one micro-batch of so many partitions."""

    def make(batches: Sequence[pa.Table], partitions: int = 1, name: str = "feed") -> DataFrame:
        where = tmp_path / name
        where.mkdir(exist_ok=True)
        number = len(list(where.iterdir()))
        for table in batches:
            size = -(-table.num_rows // partitions)
            for part in range(partitions):
                path = where / f"{number:06}.parquet"
                pq.write_table(table.slice(part * size, size), path)
                os.utime(path, (1_700_000_000 + number,) * 2)  # the order in which they are read
                number += 1
        schema = spark.read.parquet(str(where)).schema
        reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", partitions)
        return reader.parquet(str(where))

    return make
