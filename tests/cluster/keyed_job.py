"""Keyed state on a cluster whose executors do not have Penstock; one of them dies. Not a test."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import penstock as ps


class Moving:
    """Another number of tasks after every batch."""

    def decide(self, observation: ps.Observation) -> ps.Decision:
        return ps.Decision(1 + (observation.batch_id + 1) % 4, "to and fro")


def run(spark: SparkSession, where: str) -> dict[str, Any]:
    def count(
        key: dict[str, Any], rows: list[dict[str, Any]], state: ps.KeyState
    ) -> dict[str, Any]:
        died = Path(where) / "died"
        if key["key"] == 3 and state.value is not None and not died.exists():
            died.touch()
            os._exit(1)  # as when the machine runs out of memory
        state.update(n=(state.value or {"n": 0})["n"] + len(rows))
        return {"key": key["key"], "n": state.value["n"]}

    df = ps.sources.generate(
        ps.sources.Steady(100),
        keys=ps.sources.UniformKeys(10),
        duration_seconds=8,
        max_rows_per_batch=100,
        origin="2026-01-01T00:00:00Z",
        spark=spark,
    )
    counted = ps.Stream.read(df).group_by("key")
    counted = counted.process(count, state="n long", schema="key long, n long", groups=16)
    query = ps.run(
        counted.to(ps.sinks.parquet(f"{where}/out")),
        checkpoint=f"{where}/checkpoint",
        available_now=True,
        policy=Moving(),
    )
    query.await_termination(240)
    rows = spark.read.parquet(f"{where}/out").groupBy("key").max("n").collect()
    raw = spark.read.parquet(f"{where}/out").count()
    return {"counts": {row[0]: row[1] for row in rows}, "rows": raw}
