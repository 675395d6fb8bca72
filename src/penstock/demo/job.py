"""The demo's job: sensor readings are looked up, checked, split, summed up and chosen in windows.

``topology`` and ``look_up`` are all that a job of one's own would need; the rest makes the load and
starts it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

import penstock as ps
from penstock.sources.cost import KeyCost
from penstock.sources.keys import ZipfKeys
from penstock.sources.patterns import trace_of_pattern
from penstock.sources.trace import Trace

READING = "ts timestamp, sensor bigint, site string, celsius double"
FULL_SCALE = 0.995
SITES = 12
TRIGGER_SECONDS = 4
UNEVEN = KeyCost(low_ms=1.0, high_ms=15.0)
SENSORS = ZipfKeys(1_000)
SEED = 7


def look_up(reading: dict[str, Any]) -> dict[str, Any]:
    """Ask where a sensor stands. A real service, too, answers sooner for some than for others."""
    time.sleep(reading["cost_ms"] / 1_000)
    if reading["value"] > FULL_SCALE:
        raise ValueError(f"sensor {reading['key']} reads {reading['value']:.4f}, above full scale")
    return {
        "ts": reading["ts"],
        "sensor": reading["key"],
        "site": f"site {reading['key'] % SITES}",
        "celsius": 120 * reading["value"] - 20,
    }


def topology(stream: ps.Stream, out: str) -> list[ps.Outlet]:
    """Keep readings above zero, raise an alarm for hot ones, and sum up each site in windows.

    Of each window, those readings are kept than which none of any site is both newer and hotter.
    What can't be read is set aside, and so is what comes too late for a window.
    """
    located = stream.map(look_up, READING, cost_key="key", on_error="dead_letter")
    above_zero = located.filter("celsius >= 0", name="above_zero")
    hot = above_zero.filter("celsius >= 90", name="hot").select("ts", "site", "sensor", "celsius")
    sites = above_zero.group_by("site").window(
        ps.tumbling("10 seconds"), ps.sliding("30 seconds", "5 seconds")
    )
    summed = sites.aggregate(
        readings=ps.count(),
        hot=ps.count(where="celsius >= 90"),
        mean=ps.avg("celsius"),
        p99=ps.quantile("celsius", 0.99),
        name="by_site",
    )
    newest_hot = above_zero.window(ps.sliding("10 seconds", "2 seconds"))
    peaks = newest_hot.skyline(maximize=["ts", "celsius"], name="by_heat")
    return [
        summed.to(ps.sinks.parquet(f"{out}/windows"), name="windows"),
        peaks.to(ps.sinks.parquet(f"{out}/peaks"), name="peaks"),
        above_zero.late_rows().to(ps.sinks.parquet(f"{out}/late"), name="late"),
        above_zero.to(ps.sinks.parquet(f"{out}/readings"), name="readings"),
        hot.to(ps.sinks.json(f"{out}/alarms"), name="alarms"),
        located.dead_letters().to(ps.sinks.parquet(f"{out}/unread"), name="unread"),
    ]


@dataclass(frozen=True, slots=True)
class Together:
    """Several loads at once."""

    patterns: tuple[ps.sources.Pattern, ...]

    def rows_until(
        self, seconds: NDArray[np.float64], duration_seconds: int
    ) -> NDArray[np.float64]:
        """Integrate the rate: that of all loads, added up."""
        rows = [each.rows_until(seconds, duration_seconds) for each in self.patterns]
        return np.asarray(np.sum(rows, axis=0))


@dataclass(frozen=True, slots=True)
class Load:
    """``rate`` rows a second on average: a slow rise, and three bursts at four times the rate.

    The last burst is over well before the end, so that what waits can be worked off. Event times
    begin now, or at ``origin``.
    """

    seconds: int = 60
    rate: float = 250.0
    cost: KeyCost = UNEVEN
    origin: str | None = None

    @property
    def trace(self) -> Trace:
        """The rows of each second."""
        rise = ps.sources.Ramp(0.3 * self.rate, 0.9 * self.rate)
        bursts = ps.sources.Spikes(
            base=0.0,
            peak=8 / 3 * self.rate,
            every_seconds=self.seconds / 3.5,
            width_seconds=self.seconds / 20,
        )
        return trace_of_pattern(Together((rise, bursts)), self.seconds)

    def read(self, spark: SparkSession) -> DataFrame:
        """Play the load as a stream."""
        return ps.sources.replay(
            self.trace,
            keys=SENSORS,
            cost=self.cost,
            delays=ps.sources.ExponentialDelay(mean_seconds=1.5, fraction=0.1),
            max_rows_per_batch=max(1, round(2 * TRIGGER_SECONDS * self.rate)),
            seed=SEED,
            origin=self.origin,
            spark=spark,
        )


def policy() -> ps.AutoScalePlus:
    """Decide at every micro-batch, and give slots back sooner than in a long run.

    A minute is short, and in its first one Spark takes longer over a batch than over the rows in
    it. Not made where this module is loaded: executors load it, too, and do not have all that
    policies need.
    """
    return ps.AutoScalePlus(
        interval=1,
        batch_within="6 seconds",
        horizon=f"{TRIGGER_SECONDS} seconds",
        window="20 seconds",
        rails=ps.GuardRails(
            scale_out_cool_down="1 second", scale_in_cool_down="6 seconds", scale_in_after=2
        ),
    )


def start(
    spark: SparkSession,
    load: Load,
    out: Path,
    *,
    available_now: bool = False,
    dashboard: bool = False,
) -> ps.Query:
    """Start the job; with ``available_now`` all of the load comes at once."""
    stream = ps.Stream.read(load.read(spark), time="ts", watermark="2 seconds", name="sensors")
    return ps.run(
        *topology(stream, str(out)),
        checkpoint=str(out / "checkpoint"),
        placement=ps.CostAware(),
        policy=policy(),
        trigger=None if available_now else TRIGGER_SECONDS,
        available_now=available_now,
        name="penstock-demo",
        dashboard=dashboard,
    )


def read_back(query: ps.Query, spark: SparkSession) -> dict[str, int]:
    """Count the rows in each sink's files, as any Spark job would find them."""
    counts = {}
    for output in query.topology.outputs:
        kind = output.describe().partition("(")[0]
        # The columns are told: a directory of no rows has no file to learn them from.
        columns = ", ".join(f"`{column.name}` {column.type}" for column in output.schema)
        files = spark.read.schema(columns).format(kind).load(output.sink.path)
        counts[output.name] = files.count()
    return counts
