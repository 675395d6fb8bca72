"""Fused operators on a cluster whose plan changes while it runs; a worker dies. Not a test."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import penstock as ps
from penstock.engine.steps import Step
from penstock.topology.adaptation import Operation

MOVED = ("second", "sums_partials", "sums")
CHANGES: dict[int, tuple[Operation, ...]] = {
    2: tuple(ps.Migrate(name, "first", "second") for name in MOVED),
    3: (ps.RePartition("first", 1),),
    4: tuple(ps.Migrate(name, "second", "first") for name in MOVED),
    6: (ps.Split("sums"),),
}


def run(spark: SparkSession, where: str) -> dict[str, Any]:
    def count(
        key: dict[str, Any], rows: list[dict[str, Any]], state: ps.KeyState
    ) -> list[dict[str, Any]]:
        died = Path(where) / "died"
        if key["key"] == 3 and state.value is not None and not died.exists():
            died.touch()
            os._exit(1)  # as when the machine runs out of memory
        n = (state.value or {"n": 0})["n"]
        state.update(n=n + len(rows))
        return [{**row, "value": row["value"] + 1.0} for row in rows]

    df = ps.sources.generate(
        ps.sources.Steady(100),
        keys=ps.sources.UniformKeys(10),
        duration_seconds=10,
        max_rows_per_batch=100,
        origin="2026-01-01T00:00:00Z",
        spark=spark,
    ).selectExpr("key", "CAST(1 AS DOUBLE) AS value", "ts")
    s = ps.Stream.read(df, time="ts", watermark="0 seconds")
    for name in ("first", "second"):
        s = s.group_by("key").process(
            count,
            state="n long",
            schema="key long, value double, ts timestamp",
            keeps="key",
            name=name,
            groups=16,
        )
    sums = s.group_by("key").window(ps.tumbling("2 seconds"))
    sums = sums.aggregate(total=ps.sum("value"), n=ps.count(), name="sums")
    known, queries = threading.Event(), []

    def change(step: Step, batch_id: int) -> None:
        if step is Step.LOAD and batch_id in CHANGES:
            known.wait()
            queries[0].adapt(*CHANGES[batch_id])

    query = ps.run(
        sums.to(ps.sinks.parquet(f"{where}/sums")),
        s.to(ps.sinks.parquet(f"{where}/rows")),
        checkpoint=f"{where}/checkpoint",
        available_now=True,
        on_step=change,
        optimiser=ps.Optimiser(period=0),
    )
    queries.append(query)
    known.set()
    query.await_termination(240)
    rows = spark.read.parquet(f"{where}/rows")
    native = rows.groupBy(F.window("ts", "2 seconds"), "key").agg(
        F.sum("value").alias("total"), F.count("*").alias("n")
    )
    made = spark.read.parquet(f"{where}/sums").drop("batch_id")
    wanted = native.select(*made.columns).filter("window.end < timestamp '2026-01-01 00:00:10'")
    closed = made.filter("window.end < timestamp '2026-01-01 00:00:10'")
    return {
        "rows": rows.count(),
        "values": [row[0] for row in rows.select("value").distinct().collect()],
        "missing": wanted.exceptAll(made).count(),
        "more": closed.exceptAll(wanted).count(),
        "windows": made.count(),
        "explained": query.explain(),
    }
