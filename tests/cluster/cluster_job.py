"""A job for a cluster whose executors do not have Penstock. Not a test."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

import penstock as ps


def run(spark: SparkSession, where: str) -> dict[str, Any]:
    def look(row: dict[str, Any]) -> dict[str, Any]:
        import penstock

        if row["id"] % 50 == 7:
            raise ValueError("seven")
        return {"id": row["id"], "penstock": penstock.__file__}

    df = ps.sources.generate(
        ps.sources.Steady(100),
        duration_seconds=6,
        max_rows_per_batch=100,
        origin="2026-01-01T00:00:00Z",
        spark=spark,
    )
    s = ps.Stream.read(df, time="ts", watermark="1 second")
    m = s.map(look, "id bigint, penstock string", on_error="dead_letter")
    spans = s.group_by("key").window(ps.tumbling("2 seconds"), ps.sliding("3 seconds", "1 second"))
    w = spans.aggregate(n=ps.count(), most=ps.max("value"))
    query = ps.run(
        w.to(ps.sinks.parquet(f"{where}/windows")),
        m.to(ps.sinks.parquet(f"{where}/out")),
        m.dead_letters().to(ps.sinks.parquet(f"{where}/dead")),
        checkpoint=f"{where}/checkpoint",
        available_now=True,
    )
    query.await_termination(240)
    last = query.status().last
    assert last is not None
    files = {row.penstock for row in spark.read.parquet(f"{where}/out").distinct().collect()}
    windows = spark.read.parquet(f"{where}/windows").groupBy("window_name").sum("n").collect()
    tasks = {operator.name: operator.tasks for operator in last.operators}
    seen = {"penstock": sorted(files), "tasks": tasks, "slots": last.slots}
    return {**seen, "windows": {row[0]: row[1] for row in windows}}
