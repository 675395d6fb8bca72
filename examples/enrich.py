"""The smallest useful job: every row is looked up, bad ones are set aside.

penstock run examples/enrich.py --checkpoint enrich-ck --trigger "2 seconds"
"""

from __future__ import annotations

import os
import sys
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import penstock as ps

OUT = os.environ.get("ENRICH_OUT", "enrich-out")
AREAS = ["harbour", "old town", "hill", "station"]


def readings(spark: SparkSession) -> DataFrame:
    """Stand in for a real source, such as spark.readStream.format("kafka")."""
    return ps.sources.generate(ps.sources.Steady(100), duration_seconds=30, spark=spark)


def enrich(row: dict[str, Any]) -> dict[str, Any]:
    """Add what is known of the row's key. An exception here costs one row, not the query."""
    if row["value"] < 0.01:
        raise ValueError("the sensor was off")
    return {**row, "area": AREAS[row["key"] % len(AREAS)]}


def build(spark: SparkSession) -> list[ps.Outlet]:
    stream = ps.Stream.read(readings(spark), time="ts", watermark="10 seconds")
    enriched = stream.map(
        enrich, "ts timestamp, key bigint, value double, area string", on_error="dead_letter"
    )
    return [
        enriched.filter("value > 0.5").to(ps.sinks.parquet(f"{OUT}/rows")),
        enriched.dead_letters().to(ps.sinks.json(f"{OUT}/failed")),
    ]


if __name__ == "__main__":
    # Spark would start its workers with the first python3 on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = SparkSession.builder.master("local[2]").appName("enrich").getOrCreate()
    query = ps.run(*build(session), checkpoint=f"{OUT}/checkpoint", available_now=True)
    query.await_termination()
    print(session.read.parquet(f"{OUT}/rows").groupBy("area").count().toPandas())
