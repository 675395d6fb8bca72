"""A checkpoint with everything in it that a checkpoint can hold, made by Spark."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import penstock as ps

BATCHES = (
    [("a", "10:00:01", 1), ("b", "10:00:02", 2), ("c", "10:00:03", 3)],
    [("a", "10:00:14", 4), ("b", "10:00:15", -1), ("c", "10:00:25", 0)],
)


def checked(row: dict[str, Any]) -> dict[str, Any]:
    """Refuse negative numbers; they become dead letters that nobody takes."""
    if row["n"] < 0:
        raise ValueError("negative")
    return row


def total(key: tuple[Any, ...], rows: list[dict[str, Any]], state: Any) -> dict[str, Any] | None:
    """Sum up the numbers of a key; a zero forgets it."""
    if any(row["n"] == 0 for row in rows):
        state.clear()
        return None
    before = state.value or {"total": 0}
    state.update(total=before["total"] + sum(row["n"] for row in rows))
    return {"user": rows[0]["user"]}


def make_compacted(spark: SparkSession, directory: Path) -> Path:
    """Run a job until its pane store has segments that were compacted; return its checkpoint."""
    rows = directory / "in"
    rows.mkdir(parents=True)
    for batch in range(24):
        lines = [{"n": n, "ts": 10 * batch + n} for n in range(10)]
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        (rows / f"{batch}.json").write_text(text)
        os.utime(rows / f"{batch}.json", (1_000 + batch, 1_000 + batch))
    df = spark.readStream.schema("n bigint, ts bigint").option("maxFilesPerTrigger", 1)
    read = df.json(str(rows)).selectExpr("n", "timestamp_seconds(ts) AS ts")
    stream = ps.Stream.read(read, time="ts", watermark="0 seconds")
    windows = stream.window(ps.sliding("100 seconds", "10 seconds"))
    counts = windows.aggregate(n=ps.count(), most=ps.max("n"), name="counts")
    query = ps.run(counts.to(ps.sinks.memory()), checkpoint=directory / "ck", available_now=True)
    query.await_termination()
    return directory / "ck"


def make_checkpoint(spark: SparkSession, directory: Path) -> Path:
    """Run a job with windows, keyed state and key groups; return its checkpoint."""
    rows = directory / "in"
    rows.mkdir(parents=True)
    for number, batch in enumerate(BATCHES):
        lines = [{"user": user, "ts": f"2026-01-01T{at}Z", "n": n} for user, at, n in batch]
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        (rows / f"{number}.json").write_text(text)
        # Spark takes files in the order of their times.
        os.utime(rows / f"{number}.json", (1_000 + number, 1_000 + number))
    schema = "user string, ts timestamp, n bigint"
    df = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(rows))
    stream = ps.Stream.read(df, time="ts", watermark="5 seconds", name="clicks")
    good = stream.map(checked, schema, on_error="dead_letter", name="checked")
    grouped = good.group_by("user")
    sums = grouped.window(ps.tumbling("10 seconds")).aggregate(n=ps.sum("n"), name="sums")
    seen = grouped.process(total, state="total bigint", schema="user string", name="totals")
    query = ps.run(
        sums.to(ps.sinks.parquet(str(directory / "sums"))),
        seen.to(ps.sinks.parquet(str(directory / "seen"))),
        checkpoint=directory / "ck",
        placement=ps.KeyGroups(),
        policy=ps.Incremental(interval=1),
        available_now=True,
        name="clicks-by-user",
    )
    query.await_termination()
    return directory / "ck"
