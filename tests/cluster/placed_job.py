"""Placement by cost on a cluster whose executors do not have Penstock. Not a test."""

from __future__ import annotations

import time
from typing import Any

from pyspark import TaskContext
from pyspark.sql import SparkSession

import penstock as ps
from penstock import journal


def run(spark: SparkSession, where: str) -> dict[str, Any]:
    def wait(row: dict[str, Any]) -> dict[str, Any]:
        if row["part"] == 0:
            time.sleep(0.005)  # what makes its rows dear
        context = TaskContext.get()
        assert context is not None
        return {**row, "task": context.partitionId()}

    df = ps.sources.generate(
        ps.sources.Steady(240),
        duration_seconds=4,
        max_rows_per_batch=240,
        origin="2026-01-01T00:00:00Z",
        spark=spark,
    )
    parts = ps.Stream.read(df).select("id", "id % 20 AS part")
    placed = parts.map(wait, "id bigint, part bigint, task int", cost_key="part")
    query = ps.run(
        placed.to(ps.sinks.parquet(f"{where}/out")),
        checkpoint=f"{where}/checkpoint",
        available_now=True,
        placement=ps.CostAware(least_gain_seconds=0.0),
    )
    query.await_termination(240)
    bodies = [event.body for event in journal.read(query.journal_dir)]
    said = [body.placement for body in bodies if isinstance(body, journal.PlacementChanged)]
    rows = spark.read.parquet(f"{where}/out")
    dear = rows.filter("part = 0 AND batch_id = 3").groupBy("task").count().collect()
    ids = sorted(row.id for row in rows.collect())
    return {"said": said, "ids": ids, "dear": sorted(row["count"] for row in dear)}
