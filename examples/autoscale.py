"""A plain Structured Streaming job, and the two lines that look after its executors.

On this machine they only say what they would do, and why:

    python examples/autoscale.py

On a cluster they ask for executors before the load is there:

    spark-submit --master spark://host:7077 --conf spark.executor.cores=1 examples/autoscale.py
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator

import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

import penstock as ps

SECONDS = float(os.environ.get("AUTOSCALE_SECONDS", "60"))
JOURNAL = os.environ.get("AUTOSCALE_JOURNAL", "autoscale-journal")


def readings(spark: SparkSession) -> DataFrame:
    """Stand in for a real source: a rate that rises to 300 rows a second within half a minute."""
    rate = spark.readStream.format("rate").option("rowsPerSecond", 300)
    return rate.option("rampUpTime", "30s").option("numPartitions", 8).load()


def look_up(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Wait for a service, 5 ms for every row."""
    for frame in frames:
        time.sleep(0.005 * len(frame))
        yield frame.assign(area=frame["value"] % 20)


def job(spark: SparkSession) -> StreamingQuery:
    """Count readings by area and second: nothing here knows of Penstock."""
    found = readings(spark).mapInPandas(look_up, "timestamp timestamp, value long, area long")
    counts = (
        found.withWatermark("timestamp", "10 seconds")
        .groupBy(F.window("timestamp", "1 second"), "area")
        .count()
    )
    out = counts.writeStream.format("memory").queryName("areas").outputMode("append")
    return out.trigger(processingTime="2 seconds").start()


if __name__ == "__main__":
    # Spark would start its workers with the first python3 on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # With as many partitions of state as there may be slots, all of them can be used.
    builder = SparkSession.builder.appName("areas").config("spark.sql.shuffle.partitions", 8)
    spark = builder.getOrCreate()
    is_local = spark.sparkContext.master.startswith("local")

    slots = ps.ExecutorSlots(min=1, max=8)
    scaler = ps.autoscale(spark, slots=slots, dry_run=is_local, journal=JOURNAL)

    query = job(spark)
    query.awaitTermination(int(SECONDS))
    query.stop()

    scaler.stop()
    for made in scaler.decisions():
        print(f"after batch {made.batch_id}: {made.decision.slots} slots. {made.decision.reason}")
