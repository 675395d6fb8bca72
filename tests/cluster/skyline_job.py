"""Preference queries on a cluster whose executors do not have Penstock. Not a test."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

import penstock as ps

BETTER: Any = {"minimize": ["price"], "maximize": ["rating"]}


def run(spark: SparkSession, where: str) -> dict[str, Any]:
    rows = "id, id * 7919 % 1009 AS price, id * 104729 % 997 AS rating"
    df = spark.readStream.schema("id bigint, ts timestamp").option("maxFilesPerTrigger", 1)
    df = df.parquet(f"{where}/in").selectExpr(*rows.split(", "), "ts")
    stream = ps.Stream.read(df, time="ts", watermark="0 seconds")
    window = stream.window(ps.tumbling("100 seconds"))
    query = ps.run(
        window.skyline(**BETTER, name="best").to(ps.sinks.parquet(f"{where}/best")),
        window.skyline(
            minimize=["price", "rating"],
            dominates=lambda one, other: one[0] + 100 < other[0],
            name="own",
        ).to(ps.sinks.parquet(f"{where}/own")),
        checkpoint=f"{where}/checkpoint",
        available_now=True,
    )
    query.await_termination(240)
    told = {}
    for name in ("best", "own"):
        out = spark.read.parquet(f"{where}/{name}").selectExpr(
            "unix_seconds(window.start) AS start", "id"
        )
        told[name] = sorted([row.start, row.id] for row in out.collect())
    return told
