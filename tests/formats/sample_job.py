"""The job whose checkpoint is kept: windows, keyed state, a preference query, rows set aside.

Its source is one of Spark's own that makes so many rows for every micro-batch, each by its number:
so a checkpoint may be copied anywhere, as it holds no path. What the job computes must stay as it
is, since every kept checkpoint is carried on by it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import penstock as ps
from penstock.testing import fail_at

BREAKS_OFF_AT = 2
"""The micro-batch in whose middle the first run ends: those before it are committed."""
ENDS_BEFORE = 4
ROWS = 30
MOST_ROWS = 28

Results = dict[str, dict[str, list[list[str]]]]


class Kept:
    """What the sinks got, by name and micro-batch, as text that JSON can hold."""

    def __init__(self) -> None:
        self.results: Results = {}

    def sink(self, name: str) -> Any:
        """Return a sink: a function of the rows and the number of a micro-batch."""

        def take(df: DataFrame, batch_id: int) -> None:
            shown = df.selectExpr(*[f"string({column}) AS {column}" for column in df.columns])
            rows = sorted([str(value) for value in row] for row in shown.collect())
            if rows:
                self.results.setdefault(name, {})[str(batch_id)] = rows

        return take


def outlets(spark: SparkSession, kept: Kept) -> list[ps.Outlet]:
    """Build the topology."""

    # Within, so that they are sent to workers by value.
    def checked(row: dict[str, Any]) -> dict[str, Any]:
        if row["id"] % 17 == 3:
            raise ValueError(f"row {row['id']} is refused")
        return row

    def total(key: dict[str, Any], rows: list[dict[str, Any]], state: Any) -> dict[str, Any]:
        n = (state.value or {"n": 0})["n"] + len(rows)
        state.update(n=n)
        return {"key": key["key"], "n": n}

    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", ROWS)
    source = source.option("startTimestamp", 1_767_225_600_000).option("numPartitions", 1)
    rows = source.option("advanceMillisPerBatch", 2_000).load()
    rows = rows.selectExpr("value AS id", "timestamp AS ts", "value % 3 AS key", "value % 7 AS x")
    stream = ps.Stream.read(rows, time="ts", watermark="0 seconds", name="rows")
    schema = "id bigint, ts timestamp, key bigint, x bigint"
    good = stream.map(checked, schema, on_error="dead_letter", name="checked")
    keyed = good.group_by("key")
    sums = keyed.window(ps.sliding("4 seconds", "2 seconds")).aggregate(
        n=ps.count(), most=ps.max("id"), name="sums"
    )
    state = "n bigint"
    totals = keyed.process(total, state=state, schema=f"key bigint, {state}", name="totals")
    windows = good.window(ps.tumbling("4 seconds"))
    best = windows.skyline(minimize=["x"], maximize=["id"], name="best")
    return [
        sums.to(kept.sink("sums"), name="sums_sink"),
        totals.to(kept.sink("totals"), name="totals_sink"),
        best.select("id", "key").to(kept.sink("best"), name="best_sink"),
    ]


def run_until(
    spark: SparkSession, checkpoint: Path, step: str = "load", batch: int = ENDS_BEFORE
) -> Results:
    """Run the job until a step of a micro-batch, where it breaks off; return what came out."""
    kept = Kept()
    query = ps.run(
        *outlets(spark, kept),
        checkpoint=checkpoint,
        policy=ps.Incremental(interval=1),
        placement=ps.KeyGroups(),
        backlog=ps.Backlog(MOST_ROWS, shed="id"),
        slots=ps.LocalSlots(max=2),
        name="sample",
        on_step=fail_at(step, batch),
    )
    with pytest.raises(ps.PenstockError, match="broken off"):
        query.await_termination()
    return kept.results
