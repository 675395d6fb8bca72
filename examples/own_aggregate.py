"""An aggregate of your own: how the values of each sensor are spread, over sliding windows.

penstock run examples/own_aggregate.py --checkpoint own-ck --trigger "2 seconds"
"""

from __future__ import annotations

import os
import sys
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

import penstock as ps

OUT = os.environ.get("OWN_AGGREGATE_OUT", "own-aggregate-out")


class Histogram(ps.Aggregate):
    """Counts values in steps of a tenth; every bucket that has any becomes a row."""

    state = pa.schema([("bucket", pa.int32()), ("n", pa.int64())])
    result = "bucket int, n bigint, share double"
    columns = ("value",)

    def compute(self, state: pa.RecordBatch | None, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Count the rows of one key in one pane. They come as Arrow columns: no loop is needed."""
        buckets = pc.floor(pc.multiply(batch["value"], 10)).cast(pa.int32())
        counts = pc.value_counts(buckets)
        own = pa.RecordBatch.from_arrays(counts.flatten(), schema=self.state)
        return own if state is None else self.consolidate([state, own])

    def consolidate(self, states: list[pa.RecordBatch]) -> pa.RecordBatch:
        """Add counts up: those of several tasks, micro-batches or panes."""
        table = pa.Table.from_batches(states).group_by("bucket").aggregate([("n", "sum")])
        return table.rename_columns(["bucket", "n"]).combine_chunks().to_batches()[0]

    def finish(self, state: pa.RecordBatch) -> list[dict[str, Any]]:
        """Return the rows of one key in one window."""
        rows = state.sort_by("bucket").to_pylist()
        total = sum(row["n"] for row in rows)
        return [{**row, "share": row["n"] / total} for row in rows]


def readings(spark: SparkSession) -> DataFrame:
    """Stand in for a real source, such as spark.readStream.format("kafka")."""
    return ps.sources.generate(
        ps.sources.Steady(200), duration_seconds=60, max_rows_per_batch=4_000, spark=spark
    )


def build(spark: SparkSession) -> list[ps.Outlet]:
    stream = ps.Stream.read(readings(spark), time="ts", watermark="5 seconds")
    sensors = stream.select("ts", "key % 4 AS sensor", "value")
    spread = (
        sensors.group_by("sensor")
        .window(ps.sliding("20 seconds", "5 seconds"))
        .reduce(Histogram(), name="spread")
    )
    return [spread.to(ps.sinks.parquet(f"{OUT}/spread"))]


if __name__ == "__main__":
    # Spark would start its workers with the first python3 on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = SparkSession.builder.master("local[2]").appName("own_aggregate").getOrCreate()
    query = ps.run(*build(session), checkpoint=f"{OUT}/checkpoint", available_now=True)
    query.await_termination()
    print(session.read.parquet(f"{OUT}/spread").groupBy("sensor", "bucket").sum("n").toPandas())
