"""One real job for the browser to look at: every page has something to show of it."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import penstock as ps

EVIL = "<img src=x onerror=alert(1)>"
BATCHES = 6
ROWS = 80
LATE = 5
FAILING_EVERY = 20
EVENTS = "id bigint, user string, price double, rating double, ts timestamp"
FIRST = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Made:
    """A run's checkpoint, and what Spark itself counted in it."""

    checkpoint: Path
    rows: int
    batches: int

    @property
    def journal(self) -> Path:
        return self.checkpoint / "journal"


def look_up(row: dict[str, Any]) -> dict[str, Any]:
    """Take longer for some keys, and fail on some rows, with an error of any text."""
    if row["user"] == EVIL:
        time.sleep(0.02)
    if row["id"] % FAILING_EVERY == 0:
        raise ValueError(EVIL)
    return row


def visits(key: dict[str, Any], rows: list[dict[str, Any]], state: ps.KeyState) -> dict[str, Any]:
    """Count the rows of each key over all batches."""
    seen = (state.value or {"n": 0})["n"] + len(rows)
    state.update(n=seen)
    return {**key, "n": seen}


class Restless:
    """Two slots, then three, and so on, with a forecast, so that there is a decision to show."""

    def decide(self, observation: ps.Observation) -> ps.Decision:
        slots = 2 + observation.batch_id % 2
        return ps.Decision(
            slots, f"a turn for {slots}", demand_slots=1.5, horizon_seconds=5.0,
            expected_rows={"events": 2.0 * ROWS}, held_by=(EVIL,),
        )  # fmt: skip


def write_batch(directory: Path, number: int) -> None:
    """Write a file that is one micro-batch: ten seconds of events, some of them far too late."""
    ids = range(number * ROWS, (number + 1) * ROWS)
    late = LATE if number == BATCHES - 2 else 0
    times = [FIRST + timedelta(seconds=(0 if n - ids[0] < late else n * 10 / ROWS)) for n in ids]
    table = pa.table(
        {
            "id": list(ids),
            "user": [EVIL if n % 4 == 0 else f"user {n % 4}" for n in ids],
            "price": [float((n * 37) % 101) for n in ids],
            "rating": [float((n * 53) % 97) for n in ids],
            "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
        }
    )
    path = directory / f"{number:04}.parquet"
    pq.write_table(table, path)
    os.utime(path, (1_700_000_000 + number,) * 2)


def outlets(spark: SparkSession, events: Path, out: Path) -> list[ps.Outlet]:
    """A map by cost, keyed state, windows, a skyline, late rows and dead letters."""
    df = spark.readStream.schema(EVENTS).option("maxFilesPerTrigger", 1).parquet(str(events))
    stream = ps.Stream.read(df, time="ts", watermark="2 seconds", name="events")
    looked_up = stream.map(look_up, EVENTS, cost_key="user", on_error="dead_letter")
    seen = looked_up.group_by("user").process(
        visits, state="n long", schema="user string, n long", groups=8, name="visits"
    )
    sums = looked_up.group_by("user").window(ps.tumbling("10 seconds"))
    best = looked_up.window(ps.tumbling("10 seconds"))
    skyline = best.skyline(minimize=["price"], maximize=["rating"], name="best")
    sink = ps.sinks.parquet
    return [
        sums.aggregate(rows=ps.count(), mean=ps.avg("price"), name="sums").to(
            sink(f"{out}/sums"), name="sums_out"
        ),
        skyline.to(sink(f"{out}/best"), name="best_out"),
        seen.to(sink(f"{out}/visits"), name="visits_out"),
        looked_up.late_rows().to(sink(f"{out}/late"), name="late_out"),
        looked_up.dead_letters().to(sink(f"{out}/unread"), name="unread_out"),
    ]


def run_job(spark: SparkSession, directory: Path) -> Made:
    """Run the job to its end over six micro-batches."""
    events = directory / "events"
    events.mkdir(parents=True)
    for number in range(BATCHES):
        write_batch(events, number)
    query = ps.run(
        *outlets(spark, events, directory / "out"),
        checkpoint=directory / "job" / "checkpoint",
        placement=ps.CostAware(),
        policy=Restless(),
        available_now=True,
        name="browsed",
    )
    assert query.await_termination(300)
    told = query._spark_query.recentProgress
    return Made(
        directory / "job" / "checkpoint",
        sum(each.numInputRows for each in told),
        len([each for each in told if each.numInputRows]),
    )
