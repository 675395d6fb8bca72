"""What the parts of the fusion benchmark share: rows in files, a sink that reads them, times."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import penstock as ps

# Enorm, section 4.1: a key, a value, and the two times between which a row holds.
SCHEMA = "key bigint, value double, ts timestamp, until timestamp"
START_SECONDS = 1_700_006_400


class Nowhere:
    """Reads every row once, and keeps none."""

    reads_all = True

    def open(self, query_id: str) -> None:
        """Nothing is kept, so there is nothing to clear."""

    def describe(self) -> str:
        """Say what it is."""
        return "nowhere()"

    def write(self, df: DataFrame, batch_id: int) -> None:
        """Read the rows."""
        df.write.format("noop").mode("overwrite").save()


def write_batches(
    where: Path, sizes: list[int], keys: int, *, files: int, event_seconds: float, seed: int = 7
) -> None:
    """Write the files of a stream: batch after batch, each so many seconds of event time.

    A batch with as many rows as there are keys has every key once.
    """
    where.mkdir(parents=True)
    draw = np.random.default_rng(seed)
    number = 0
    for batch, rows in enumerate(sizes):
        own = draw.permutation(keys) if rows == keys else draw.integers(0, keys, rows)
        begin = START_SECONDS + batch * event_seconds
        times = ((begin + np.sort(draw.random(rows)) * event_seconds) * 1e6).astype(np.int64)
        whole = pa.table(
            {
                "key": pa.array(own, pa.int64()),
                "value": draw.random(rows),
                "ts": pa.array(times).cast(pa.timestamp("us", "UTC")),
                "until": pa.array(times + 1_000_000).cast(pa.timestamp("us", "UTC")),
            }
        )
        size = -(-rows // files)
        for part in range(files):
            path = where / f"{number:06}.parquet"
            pq.write_table(whole.slice(part * size, size), path)
            os.utime(path, (1_700_000_000 + number,) * 2)  # Spark reads files by age
            number += 1


def read(spark: SparkSession, where: Path, files: int) -> DataFrame:
    """Read the stream, a batch of so many files at a time."""
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", files)
    return reader.parquet(str(where))


def batch_seconds(query: ps.Query) -> list[float]:
    """Return what Spark says every micro-batch took."""
    told: list[Any] = list(query._spark_query.recentProgress)
    return [p["durationMs"]["triggerExecution"] / 1_000 for p in told if p["numInputRows"]]
