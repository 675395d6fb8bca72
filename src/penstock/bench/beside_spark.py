"""Windows by Penstock and by Spark's own ``window()``, on the same rows, one after the other.

Both read the same generated stream and write Parquet, in one session. The time is Spark's own, for
whole micro-batches; the first half of them, in which code is compiled, does not count. Afterwards
the results are compared, row by row.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

import penstock as ps
from penstock.errors import QueryError, first_line

LEAST_BATCHES = 4
LOOK_EVERY_SECONDS = 0.1
_FIRST_MICROS = 1_767_225_600_000_000
_BATCH_MICROS = 60_000_000
_WATERMARK = "1 second"
_PENSTOCK, _SPARK = "Penstock", "Spark"


@dataclass(frozen=True, slots=True)
class Case:
    """Windows to try; ``every`` is how far one starts after the other."""

    name: str
    length: str
    every: str


CASES = (
    Case("side by side", "1 minute", "1 minute"),
    Case("overlapping 30 times", "30 minutes", "1 minute"),
)


@dataclass(frozen=True, slots=True)
class Load:
    """The generated stream: rows of every micro-batch, which span a minute, and their keys."""

    rows: int = 100_000
    keys: int = 1_000

    def read(self, spark: SparkSession) -> DataFrame:
        """Return the stream: ``ts``, ``k`` and ``v``, made in the JVM from a running number."""
        numbers = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", self.rows)
        micros = f"{_FIRST_MICROS} + CAST(value * {_BATCH_MICROS} / {self.rows} AS BIGINT)"
        return numbers.load().selectExpr(
            f"timestamp_micros({micros}) AS ts",
            f"MOD(value * 7919, {self.keys}) AS k",
            # Quarters add up exactly in any order, so that sums can be compared.
            "MOD(value * 31, 10007) * 0.25D AS v",
        )


@dataclass(frozen=True, slots=True)
class Taken:
    """What one of the two took: the median of its measured micro-batches."""

    batches: int
    batch_seconds: float
    rows_per_second: float


@dataclass(frozen=True, slots=True)
class Beside:
    """Both beside each other; ``different_rows`` of ``compared_rows`` results are not the same.

    ``speedup`` is how many times as many rows a second Penstock takes; below 1 it is slower.
    """

    case: Case
    penstock: Taken
    spark: Taken
    compared_rows: int
    different_rows: int

    @property
    def speedup(self) -> float:
        """Return Penstock's rows a second by Spark's."""
        return self.penstock.rows_per_second / self.spark.rows_per_second


@dataclass(frozen=True, slots=True)
class Watch:
    """How long a query is let run; ``on_progress`` is told what runs, and its share of the time."""

    seconds: float
    on_progress: Callable[[str, float], object] = lambda what, share: None
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], object] = time.sleep


def run_case(spark: SparkSession, case: Case, load: Load, where: Path, watch: Watch) -> Beside:
    """Run a case both ways, each for as long as ``watch`` says, and compare what came out."""
    penstock = _by_penstock(spark, case, load, where / "penstock", watch)
    native = _by_spark(spark, case, load, where / "spark", watch)
    compared, different = _compare(spark, where / "penstock" / "out", where / "spark" / "out")
    return Beside(case, penstock, native, compared, different)


def _by_penstock(spark: SparkSession, case: Case, load: Load, where: Path, watch: Watch) -> Taken:
    rows = ps.Stream.read(load.read(spark), time="ts", watermark=_WATERMARK)
    windows = rows.group_by("k").window(ps.sliding(case.length, case.every))
    result = windows.aggregate(n=ps.count(), total=ps.sum("v"), most=ps.max("v"))
    name = f"bench-{where.parent.name}"
    out, checkpoint = str(where / "out"), str(where / "checkpoint")
    query = ps.run(result.to(ps.sinks.parquet(out)), checkpoint=checkpoint, name=name)
    try:
        [running] = [each for each in spark.streams.active if each.name == name]
        return _watched(running, f"{case.name}, {_PENSTOCK}", load, watch)
    finally:
        query.stop()


def _by_spark(spark: SparkSession, case: Case, load: Load, where: Path, watch: Watch) -> Taken:
    rows = load.read(spark).withWatermark("ts", _WATERMARK)
    windows = rows.groupBy(F.window("ts", case.length, case.every), "k")
    result = windows.agg(
        F.count("*").alias("n"), F.sum("v").alias("total"), F.max("v").alias("most")
    )
    writer = result.writeStream.outputMode("append").format("parquet")
    writer = writer.option("checkpointLocation", str(where / "checkpoint"))
    query = writer.start(str(where / "out"))
    try:
        return _watched(query, f"{case.name}, {_SPARK}", load, watch)
    finally:
        query.stop()


def _watched(query: StreamingQuery, what: str, load: Load, watch: Watch) -> Taken:
    started = watch.clock()
    times: dict[int, float] = {}
    while query.isActive:
        elapsed = watch.clock() - started
        for progress in query.recentProgress:
            taken: Any = progress["durationMs"].get("triggerExecution")
            if progress["numInputRows"] == load.rows and taken is not None:
                times[progress["batchId"]] = taken / 1_000
        if len(times) >= LEAST_BATCHES and elapsed >= watch.seconds:
            return _taken([times[number] for number in sorted(times)], load)
        watch.on_progress(what, min(1.0, elapsed / watch.seconds))
        watch.sleep(LOOK_EVERY_SECONDS)
    raise QueryError(
        f"{what} ended by itself: {first_line(query.exception() or 'nobody says why')}"
    )


def _taken(seconds: list[float], load: Load) -> Taken:
    """Measure the second half: in the first one, code is still being compiled."""
    measured = seconds[len(seconds) // 2 :]
    batch_seconds = statistics.median(measured)
    return Taken(len(measured), batch_seconds, load.rows / batch_seconds)


def _compare(spark: SparkSession, one: Path, other: Path) -> tuple[int, int]:
    """Count the results up to the time that both have reached, and those of only one of them."""
    columns = ("window.start", "window.end", "k", "n", "total", "most")
    both = [spark.read.parquet(str(path)).select(*columns) for path in (one, other)]
    ends = [df.agg(F.max("end")).collect()[0][0] for df in both]
    if None in ends:
        return 0, 0
    left, right = (df.where(F.col("end") <= F.lit(min(ends))).cache() for df in both)
    try:
        different = left.exceptAll(right).count() + right.exceptAll(left).count()
        return left.count(), different
    finally:
        left.unpersist()
        right.unpersist()
