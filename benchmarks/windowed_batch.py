"""``ps.windowed`` beside Spark's own ``groupBy(window(...))`` on a batch DataFrame.

Both read the same Parquet files and hand every result column to a sink that throws it away. They
take turns; times are medians, after one turn each to warm up. The same rows are spread over a short
and over a long stretch of event time, because what is left to do after the panes depends on how
many there are.

    python benchmarks/windowed_batch.py
    python benchmarks/windowed_batch.py --json --rows 1000000 --hours 2
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measuring import peak_memory_mb, session, show
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.batch_windows import windowed
from penstock.windows.aggregates import count, max, sum
from penstock.windows.specs import sliding

LENGTH, EVERY = "60 minutes", "1 minute"


def ours(df: DataFrame) -> DataFrame:
    return windowed(
        df,
        by="k",
        time="ts",
        windows=sliding(LENGTH, EVERY),
        aggs={"s": sum("v"), "n": count(), "m": max("v")},
    )


def native(df: DataFrame) -> DataFrame:
    window = F.window("ts", LENGTH, EVERY)
    aggregates = F.sum("v").alias("s"), F.count("*").alias("n"), F.max("v").alias("m")
    return df.groupBy(window, "k").agg(*aggregates)


WAYS: dict[str, Callable[[DataFrame], DataFrame]] = {"native": native, "penstock": ours}


def batch_session(master: str) -> SparkSession:
    """Start Spark with adaptive execution, as it is in batch unless somebody turned it off."""
    spark = session(master)
    spark.conf.set("spark.sql.adaptive.enabled", "true")
    return spark


def write_rows(spark: SparkSession, where: Path, rows: int, keys: int, hours: float) -> None:
    """Write rows in no order of key, spread evenly over the time, in the order of time."""
    step = hours * 3_600_000_000 / rows
    spark.range(rows, numPartitions=4).select(
        F.expr(f"pmod(xxhash64(id), {keys}L) AS k"),
        F.expr("pmod(xxhash64(id, 1), 1000000L) AS v"),
        F.expr(f"timestamp_micros(1700000000000000L + cast(id * {step!r} AS bigint)) AS ts"),
    ).write.parquet(str(where))


def seconds_of(df: DataFrame) -> float:
    start = time.perf_counter()
    df.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - start


def checksum(df: DataFrame) -> tuple[Any, ...]:
    """Add up every column of a result, in whole numbers."""
    times = F.expr(
        "sum(cast(unix_seconds(window.start) + unix_seconds(window.end) AS decimal(38)))"
    )
    return tuple(df.agg(F.count("*"), F.sum("s"), F.sum("n"), F.sum("m"), times).first() or ())


def measured(spark: SparkSession, where: Path, hours: float, rounds: int) -> list[dict[str, Any]]:
    df = spark.read.parquet(str(where))
    sums = {way: checksum(make(df)) for way, make in WAYS.items()}  # warms up too
    if sums["native"] != sums["penstock"]:
        raise AssertionError(f"the results differ: {sums}")
    took: dict[str, list[float]] = {way: [] for way in WAYS}
    for _ in range(rounds):
        for way, make in WAYS.items():
            took[way].append(seconds_of(make(df)))
    medians = {way: statistics.median(times) for way, times in took.items()}
    return [
        {
            "hours_of_event_time": hours,
            "way": way,
            "result_rows": sums[way][0],
            "seconds": medians[way],
            "times_faster": medians["native"] / medians[way],
        }
        for way in WAYS
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--keys", type=int, default=1_000)
    parser.add_argument("--hours", type=float, nargs="+", default=[2.0, 24.0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--no-memory", action="store_true", help="leave the peak memory out")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        way, where = options.one
        seconds_of(WAYS[way](batch_session(options.master).read.parquet(where)))
        return
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as scratch:
        spark = batch_session(options.master)
        places = {hours: Path(scratch) / f"{hours}" for hours in options.hours}
        for hours, where in places.items():
            write_rows(spark, where, options.rows, options.keys, hours)
            results += measured(spark, where, hours, options.rounds)
        spark.stop()
        for row in [] if options.no_memory else results:
            where = places[row["hours_of_event_time"]]
            command = [sys.executable, __file__, "--master", options.master, "--one"]
            row["peak_memory_mb"] = peak_memory_mb([*command, row["way"], str(where)])
    title = f"windowed: {options.rows:,} rows, {options.keys:,} keys, {LENGTH} every {EVERY}"
    show(results, title, options.json)


if __name__ == "__main__":
    main()
