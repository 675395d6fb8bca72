"""Split beside combined windows over a grid, and what the cost model would have chosen."""

from __future__ import annotations

import itertools
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from fusion_rows import Nowhere, batch_seconds, read, write_batches
from pyspark.sql import SparkSession

import penstock as ps
from penstock import journal
from penstock.journal.events import PlanWeighed

# The prices were fitted to other jobs than these.
KEYS = (500, 20_000, 150_000)
ROWS = (80_000, 300_000)
OVERLAPS = (1, 6)
PANES = (1, 4)
FILES, BATCHES, WARM_UP_BATCHES = 8, 18, 6
TOLERANCE = 1.05


def one(
    spark: SparkSession, where: Path, name: str, overlap: int, *, is_split: bool
) -> tuple[list[float], list[PlanWeighed]]:
    """Run one way; return its batches but the first ones, and what the cost model said."""
    s = ps.Stream.read(read(spark, where / "in", FILES), time="ts", watermark="1 second")
    spec = ps.tumbling("1 minute") if overlap == 1 else ps.sliding(f"{overlap} minutes", "1 minute")
    windows = s.group_by("key").window(spec)
    made = windows.aggregate(n=ps.count(), total=ps.sum("value"), name="windows", fuse=is_split)
    query = ps.run(
        made.to(Nowhere()),
        checkpoint=where / name,
        available_now=True,
        slots=ps.LocalSlots(max=4),
        # Weighed twice; a change that is adopted then would come after the last batch.
        optimiser=ps.Optimiser(period=BATCHES // 2),
    )
    query.await_termination()
    bodies = [event.body for event in journal.read(query.journal_dir)]
    weighed = [body for body in bodies if isinstance(body, PlanWeighed) and "windows" in str(body)]
    return batch_seconds(query)[WARM_UP_BATCHES:], weighed


def cell(
    spark: SparkSession, keys: int, rows: int, overlap: int, panes: int, turns: int
) -> dict[str, Any]:
    """Measure both ways by turns, now the one first and now the other."""
    where = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    found: dict[str, list[float]] = {"split": [], "combined": []}
    weighed: list[PlanWeighed] = []
    try:
        sizes = [rows] * BATCHES
        write_batches(where / "in", sizes, keys, files=FILES, event_seconds=60.0 * panes)
        for turn in range(turns):
            for way in sorted(found, reverse=bool(turn % 2)):
                name = f"{way}-{turn}"
                times, told = one(spark, where, name, overlap, is_split=way == "split")
                weighed += told
                found[way] += times
    finally:
        shutil.rmtree(where, ignore_errors=True)
    told_last = weighed[-1]
    is_split = told_last.cost_seconds <= told_last.other_cost_seconds
    times_of = {way: statistics.median(times) for way, times in found.items()}
    best = min(times_of.values())
    chosen = "split" if is_split else "combined"
    adopted = "combined" if told_last.is_adopted else "split"
    return {
        "keys": keys,
        "rows": rows,
        "overlap": overlap,
        "panes": panes,
        "split_seconds": times_of["split"],
        "combined_seconds": times_of["combined"],
        "split_cost": told_last.cost_seconds,
        "combined_cost": told_last.other_cost_seconds,
        "chosen": chosen,
        "is_right": times_of[chosen] <= TOLERANCE * best,
        "is_faster": times_of[chosen] <= best,
        "adopted": adopted,
        "is_adopted_right": times_of[adopted] <= TOLERANCE * best,
    }


def measure(spark: SparkSession, *, quick: bool) -> list[dict[str, Any]]:
    """Go through the grid."""
    grid = list(itertools.product(KEYS, ROWS, OVERLAPS, PANES))
    if quick:
        grid = [(100, 20_000, 1, 1), (20_000, 20_000, 10, 1)]
    found = []
    for number, each in enumerate(grid, start=1):
        found.append(cell(spark, *each, turns=1 if quick else 2))
        print(f"{number} of {len(grid)}: {found[-1]}", file=sys.stderr, flush=True)
    return found
