"""What grows in the load benchmark, one thing at a time, and the job that shows its cost."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from soak_topology import count_up

import penstock as ps
from penstock.demo.job import topology

# Workers have no benchmarks to import.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

FREE = ps.sources.KeyCost(low_ms=0.0, high_ms=0.0)
ROWS = 16_000
WAIT_SECONDS = 0.004
WAITING_ROWS = 1_000
EVENT_SECONDS_A_BATCH = 10
READING = "ts timestamp, key bigint, value double"


@dataclass(frozen=True, slots=True)
class Dimension:
    """One thing that grows: its sizes, and the job at a size.

    ``promise`` is what the design leads one to expect of the slope of wall time at most.
    """

    name: str
    sizes: tuple[int, ...]
    promise: float
    rows: Callable[[int], int]
    outlets: Callable[[DataFrame, int, Path], list[ps.Outlet]]
    keys: Callable[[int], int] = lambda size: 1_000
    slots: Callable[[int], int] = lambda size: 2


def source(spark: SparkSession, rows: int, keys: int, batches: int) -> DataFrame:
    """Give micro-batches of so many rows, each of ten seconds of event time, at no cost of rows."""
    return ps.sources.replay(
        [rows / EVENT_SECONDS_A_BATCH] * (EVENT_SECONDS_A_BATCH * batches),
        keys=ps.sources.UniformKeys(keys),
        cost=FREE,
        max_rows_per_batch=rows,
        origin="2026-01-01T00:00:00Z",
        spark=spark,
    )


def _stream(df: DataFrame) -> ps.Stream:
    return ps.Stream.read(df, time="ts", watermark="2 seconds", name="rows")


def demo_job(df: DataFrame, size: int, out: Path) -> list[ps.Outlet]:
    """Give all of the demo's topology, with look-ups that answer at once."""
    return topology(_stream(df), str(out))


def keyed_job(df: DataFrame, size: int, out: Path) -> list[ps.Outlet]:
    """Sum up windows by key, and count with a state for every key."""
    stream = _stream(df)
    windows = stream.group_by("key").window(ps.sliding("30 seconds", "10 seconds"))
    summed = windows.aggregate(n=ps.count(), mean=ps.avg("value"), name="by_key")
    counted = stream.select("id", "key").group_by("key")
    schema = "key bigint, rows bigint, n bigint, total bigint"
    totals = counted.process(
        count_up, state="n bigint, total bigint", schema=schema, groups=16, name="count_up"
    )
    return [
        summed.to(ps.sinks.parquet(out / "windows"), name="windows"),
        totals.to(ps.sinks.parquet(out / "totals"), name="totals"),
    ]


def windows_job(df: DataFrame, size: int, out: Path) -> list[ps.Outlet]:
    """Sum up so many windows at once: of ten seconds, of twenty, and so on, every ten seconds."""
    specs = [ps.sliding(f"{10 * (n + 1)} seconds", "10 seconds") for n in range(size)]
    windows = _stream(df).group_by("key").window(*specs)
    summed = windows.aggregate(n=ps.count(), mean=ps.avg("value"), name="by_key")
    return [summed.to(ps.sinks.parquet(out / "windows"), name="windows")]


def warmer(row: dict[str, Any]) -> dict[str, Any]:
    return {"ts": row["ts"], "key": row["key"], "value": row["value"] + 1}


def operators_job(df: DataFrame, size: int, out: Path) -> list[ps.Outlet]:
    """Send rows through so many Python operators, one after another."""
    stream = _stream(df)
    for n in range(size):
        stream = stream.map(warmer, READING, name=f"warmer_{n}")
    return [stream.to(ps.sinks.parquet(out / "rows"), name="rows_out")]


def wait(row: dict[str, Any]) -> dict[str, Any]:
    time.sleep(WAIT_SECONDS)
    return {"ts": row["ts"], "key": row["key"], "value": row["value"]}


def waiting_job(df: DataFrame, size: int, out: Path) -> list[ps.Outlet]:
    """Wait for a service at every row; slots help though there are no more cores."""
    waited = _stream(df).map(wait, READING, name="wait")
    return [waited.to(ps.sinks.parquet(out / "rows"), name="rows_out")]


DIMENSIONS = {
    each.name: each
    for each in (
        Dimension("rows", (500, 2_000, 8_000, 32_000, 128_000), 1.0, lambda n: n, demo_job),
        Dimension(
            "keys",
            (100, 400, 1_600, 6_400, 25_600),
            1.0,
            lambda n: 4 * ROWS,
            keyed_job,
            keys=lambda n: n,
        ),
        Dimension("windows", (1, 2, 4, 8, 16), 1.0, lambda n: ROWS, windows_job),
        Dimension("operators", (1, 2, 4, 8, 16), 1.0, lambda n: ROWS, operators_job),
        Dimension(
            "slots", (1, 2, 4, 8, 16), 0.0, lambda n: WAITING_ROWS, waiting_job, slots=lambda n: n
        ),
    )
}
