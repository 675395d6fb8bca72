"""What the soak runs: the demo's topology and keyed state, under bursts that go on for hours."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession

import penstock as ps
from penstock.demo.job import SENSORS, UNEVEN, Load, topology
from penstock.sources.rows import RowMaker
from penstock.sources.schedule import Schedule
from penstock.sources.trace import Trace

# Executors have no benchmarks to import.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

ORIGIN = "2026-01-01T00:00:00Z"
ORIGIN_MICROS = 1_767_225_600_000_000
DELAYS = ps.sources.ExponentialDelay(mean_seconds=1.5, fraction=0.1)
WATERMARK_SECONDS = 2
BURSTS_EVERY_SECONDS = 60
TOTALS = "key bigint, rows bigint, n bigint, total bigint"
BREAK_SINK = "break-the-sink"


@dataclass(frozen=True, slots=True)
class SoakLoad:
    """The demo's bursts again and again; every row is a function of its number and the seed."""

    seconds: int
    rate: float
    trigger_seconds: float
    seed: int = 7

    @property
    def trace(self) -> Trace:
        """The rows of each second: a slow rise with three bursts, over and over."""
        pass_seconds = min(self.seconds, 3 * BURSTS_EVERY_SECONDS)
        once = Load(pass_seconds, self.rate).trace.counts
        counts = (once * -(-self.seconds // pass_seconds))[: self.seconds]
        return Trace((1_000_000,) * self.seconds, counts)

    @property
    def most_rows_a_batch(self) -> int:
        """What a micro-batch takes at most, so that what waited for a restart comes in pieces."""
        return max(1, round(4 * self.trigger_seconds * self.rate))

    def read(self, spark: SparkSession) -> DataFrame:
        """Play it as a stream."""
        return ps.sources.replay(
            self.trace,
            keys=SENSORS,
            cost=UNEVEN,
            delays=DELAYS,
            max_rows_per_batch=self.most_rows_a_batch,
            seed=self.seed,
            origin=ORIGIN,
            spark=spark,
        )

    def rows(self) -> pa.Table:
        """Make the same rows without a stream."""
        schedule = Schedule(self.trace)
        maker = RowMaker(schedule, SENSORS, DELAYS, UNEVEN, self.seed, ORIGIN_MICROS)
        return pa.Table.from_batches(maker.batches(0, self.trace.rows))


def count_up(key: dict[str, Any], rows: list[dict[str, Any]], state: ps.KeyState) -> dict[str, Any]:
    """Count a sensor's rows since the beginning: one that is lost or doubled shows for ever."""
    before = state.value or {"n": 0, "total": 0}
    state.update(n=before["n"] + len(rows), total=before["total"] + sum(row["id"] for row in rows))
    return {**key, "rows": len(rows), **(state.value or {})}


class BreakableSink:
    """A sink that fails once, after it has written, when somebody leaves it a mark."""

    reads_all = True

    def __init__(self, sink: ps.sinks.Sink, mark: Path) -> None:
        self._sink, self._mark = sink, mark

    def open(self, query_id: str) -> None:
        """Open the sink behind it."""
        self._sink.open(query_id)

    def write(self, df: DataFrame, batch_id: int) -> None:
        """Write; then fail if the mark is there, so that the batch comes again."""
        self._sink.write(df, batch_id)
        if self._mark.exists():
            self._mark.unlink()
            raise OSError(f"the disk of batch {batch_id} is full, as the soak asked for")

    def describe(self) -> str:
        """Describe the sink behind it."""
        return self._sink.describe()


def outlets(rows: DataFrame, out: Path) -> list[ps.Outlet]:
    """Give the demo's branches, and one more with a state for every sensor."""
    watermark = f"{WATERMARK_SECONDS} seconds"
    stream = ps.Stream.read(rows, time="ts", watermark=watermark, name="sensors")
    counted = stream.select("id", "key").group_by("key")
    totals = counted.process(
        count_up, state="n bigint, total bigint", schema=TOTALS, groups=16, name="count_up"
    )
    breakable = BreakableSink(ps.sinks.parquet(f"{out}/totals"), out / BREAK_SINK)
    return [*topology(stream, str(out)), totals.to(breakable, name="totals")]
