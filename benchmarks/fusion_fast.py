"""The fast job: four keyed operators in a row, of which none, two, three or four are fused."""

from __future__ import annotations

import shutil
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fusion_rows import SCHEMA, Nowhere, batch_seconds, read, write_batches
from pyspark.sql import DataFrame, SparkSession

import penstock as ps

MINUTES = (1, 5, 10, 20)
STATE = "window bigint, n bigint, total double"
KEYS, FILES = 1_000, 2
WARM_UP_BATCHES = 1

Rows = list[dict[str, Any]]


def aggregate(minutes: int) -> Callable[[dict[str, Any], Rows, ps.KeyState], Rows]:
    """Return a function that keeps count and sum of a key's window, and sends its rows on."""

    def one(key: dict[str, Any], rows: Rows, state: ps.KeyState) -> Rows:
        window = int(rows[-1]["ts"].timestamp()) // (60 * minutes)
        before = state.value
        is_same = before is not None and before["window"] == window
        n, total = (before["n"], before["total"]) if is_same else (0, 0.0)
        total += sum([row["value"] for row in rows])
        state.update(window=window, n=n + len(rows), total=total)
        return rows

    return one


def job(df: DataFrame, fused: int) -> ps.Stream:
    """Build it with the first so many operators in one component."""
    s = ps.Stream.read(df, time="ts", watermark="1 minute")
    for number, minutes in enumerate(MINUTES):
        s = s.group_by("key").process(
            aggregate(minutes), state=STATE, schema=SCHEMA, keeps="key", name=f"every_{minutes}"
        )
        s = s.component("fused" if number < fused else f"apart_{number}")
    return s


def measure(spark: SparkSession, *, quick: bool) -> list[dict[str, Any]]:
    """Run the ways by turns, several times each."""
    rows, batches, turns = (50_000, 3, 1) if quick else (1_000_000, 4, 3)
    found: dict[int, list[float]] = {0: [], 2: [], 3: [], 4: []}
    where = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    try:
        write_batches(where / "in", [rows] * batches, KEYS, files=FILES, event_seconds=60.0)
        for turn in range(turns):
            for fused in found:
                query = ps.run(
                    job(read(spark, where / "in", FILES), fused).to(Nowhere()),
                    checkpoint=where / f"{turn}-{fused}",
                    available_now=True,
                    optimiser=ps.Optimiser(period=0),
                    slots=ps.LocalSlots(max=2),
                )
                query.await_termination()
                found[fused] += batch_seconds(query)[WARM_UP_BATCHES:]
    finally:
        shutil.rmtree(where, ignore_errors=True)
    medians = {fused: statistics.median(times) for fused, times in found.items()}
    return [
        {
            "fused": fused,
            "rows_a_batch": rows,
            "batch_seconds": median,
            "rows_a_second": rows / median,
            "times_faster": medians[0] / median,
        }
        for fused, median in medians.items()
    ]
