"""The demonstration's job on the tests' cluster. Not a test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from penstock import demo, journal


def run(spark: SparkSession, where: str, seconds: str, rate: str, origin: str) -> dict[str, Any]:
    load = demo.Load(seconds=int(seconds), rate=float(rate), origin=origin)
    query = demo.start(spark, load, Path(where) / "out", available_now=True)
    query.await_termination(240)
    last = query.status().last
    assert last is not None
    bodies = [event.body for event in journal.read(query.journal_dir)]
    return {
        "counts": demo.read_back(query, spark),
        "tasks": {operator.name: operator.tasks for operator in last.operators},
        "slots": last.slots,
        "placements": [b.placement for b in bodies if isinstance(b, journal.PlacementChanged)],
        "faults": [body.detail for body in bodies if isinstance(body, journal.FaultSeen)],
    }
