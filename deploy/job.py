"""A job to try a cluster with: rows that it makes itself, counted in windows of ten seconds.

``spark-submit job.py /data`` keeps its checkpoint and its results under /data, which the driver and
all executors must see. Put a job of your own in its place.
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

import penstock as ps


def build(spark: SparkSession, where: str, seconds: int = 3_600) -> ps.Outlet:
    """Count the readings of every sensor."""
    rows = ps.sources.generate(ps.sources.Steady(200), duration_seconds=seconds, spark=spark)
    readings = ps.Stream.read(rows, time="ts", watermark="2 seconds", name="readings")
    counts = readings.group_by("key").window(ps.tumbling("10 seconds")).aggregate(n=ps.count())
    return counts.to(ps.sinks.parquet(f"{where}/counts"), name="counts")


def main(where: str) -> None:
    """Run until it is stopped, or until the hour of rows is over."""
    spark = SparkSession.builder.getOrCreate()
    query = ps.run(
        build(spark, where),
        checkpoint=f"{where}/checkpoint",
        trigger="10 seconds",
        policy=ps.AutoScalePlus(horizon="2 minutes"),
        slots=ps.ExecutorSlots(min=2, max=8, patience_seconds=300),
    )
    query.await_termination()


if __name__ == "__main__":
    main(sys.argv[1])
