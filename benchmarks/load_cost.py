"""Measures what a micro-batch costs at each size of a dimension, sizes in turns."""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from load_dimensions import Dimension, source
from load_fit import power_law
from measuring import cpu_seconds
from pyspark.sql import SparkSession

import penstock as ps

WARM_UP_BATCHES = 2


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one query: the median of its micro-batches, and the processor's time for one of them."""

    batch_seconds: float
    cpu_seconds: float


def measure(
    spark: SparkSession, dimension: Dimension, batches: int, rounds: int
) -> list[dict[str, Any]]:
    """Measure every size ``rounds`` times; return a row for each size and one for the fit."""
    costs: dict[int, list[Cost]] = defaultdict(list)
    once(spark, dimension, dimension.sizes[0], batches)  # the JVM compiles what it runs often
    for turn in range(rounds):
        for size in dimension.sizes[:: 1 if turn % 2 == 0 else -1]:
            costs[size].append(once(spark, dimension, size, batches))
            print(f"{dimension.name} {size}: {costs[size][-1]}", file=sys.stderr, flush=True)
    return [*_points(dimension, costs), _fit(dimension, costs)]


def once(spark: SparkSession, dimension: Dimension, size: int, batches: int) -> Cost:
    """Run one query over all its rows, from an empty checkpoint."""
    where = Path(tempfile.mkdtemp(prefix="penstock-load-"))
    try:
        df = source(spark, dimension.rows(size), dimension.keys(size), batches)
        before = cpu_seconds(os.getpid())
        query = ps.run(
            *dimension.outlets(df, size, where),
            checkpoint=str(where / "checkpoint"),
            available_now=True,
            policy=ps.Static(dimension.slots(size)),
            placement=ps.RoundRobin(),
            slots=ps.LocalSlots(max=dimension.slots(size)),
        )
        query.await_termination()
        used = (cpu_seconds(os.getpid()) - before) / batches
        told = [p for p in query._spark_query.recentProgress if p.numInputRows > 0]
        if len(told) != batches:
            raise RuntimeError(f"{dimension.name} {size} ran {len(told)} batches, not {batches}")
        times = [p.durationMs["triggerExecution"] / 1e3 for p in told[WARM_UP_BATCHES:]]
        return Cost(round(statistics.median(times), 4), round(used, 4))
    finally:
        shutil.rmtree(where, ignore_errors=True)


def _points(dimension: Dimension, costs: dict[int, list[Cost]]) -> list[dict[str, Any]]:
    return [
        {"dimension": dimension.name, "size": str(size), **_medians(costs[size])}
        for size in dimension.sizes
    ]


def _medians(costs: list[Cost]) -> dict[str, float]:
    return {
        "batch_seconds": statistics.median(each.batch_seconds for each in costs),
        "cpu_seconds": statistics.median(each.cpu_seconds for each in costs),
    }


def _fit(dimension: Dimension, costs: dict[int, list[Cost]]) -> dict[str, Any]:
    """Tell the slopes as one row, each with its error and the slope at the end."""
    medians = [_medians(costs[size]) for size in dimension.sizes]
    told: dict[str, Any] = {"dimension": dimension.name, "size": "log-log slope"}
    for name in ("batch_seconds", "cpu_seconds"):
        law = power_law(dimension.sizes, [each[name] for each in medians])
        told[name] = f"{law.slope:.2f} +- {law.error:.2f}, at the end {law.last_slope:.2f}"
    return told
