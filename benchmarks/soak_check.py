"""Compares what a soak left in its sinks with what Spark makes of the same rows in one batch.

Which rows were late depends on where micro-batches ended. The sink of totals tells how many rows
each had, and rows come in the order of their numbers; so the watermark that each row met is known,
and all else follows from the rows by Spark's own operators.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from measuring import session
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from soak_judging import Finding, count
from soak_topology import WATERMARK_SECONDS, SoakLoad

from penstock.demo.job import FULL_SCALE, SITES

# What the demo's windows are called, how long they are and how often they start.
SITE_WINDOWS = {
    "10 seconds": ("10 seconds", "10 seconds"),
    "30 seconds every 5 seconds": ("30 seconds", "5 seconds"),
}
PEAK_WINDOW = ("10 seconds", "2 seconds")
# The quantile is a sketch: it must lie near the exact one, by rank.
P99_RANKS = (0.97, 1.0)
NEVER = -1


def compare(load: SoakLoad, out: Path, master: str = "local[2]") -> list[Finding]:
    """Return a line for each sink: how many rows are missing or too many in it."""
    spark = session(master)
    try:
        return compare_with(spark, load, out)
    finally:
        spark.stop()


def compare_with(spark: SparkSession, load: SoakLoad, out: Path) -> list[Finding]:
    """Compare in a session that is there."""
    spark.conf.set("spark.sql.shuffle.partitions", "4")
    totals = spark.read.parquet(str(out / "totals"))
    ends = totals.groupBy("batch_id").agg(F.sum("rows").alias("rows")).orderBy("batch_id")
    batch_rows = [row.rows for row in ends.collect()]
    rows, last_mark = with_marks(load.rows(), batch_rows)
    pq.write_table(rows, out / "rows.parquet")
    offered = spark.read.parquet(str(out / "rows.parquet"))
    good = offered.filter(F.col("value") <= FULL_SCALE)
    kept = good.select(
        "ts",
        F.col("key").alias("sensor"),
        F.concat(F.lit("site "), (F.col("key") % SITES).cast("string")).alias("site"),
        (120 * F.col("value") - 20).alias("celsius"),
        "mark",
    ).filter("celsius >= 0")
    reading = ["ts", "sensor", "site", "celsius"]
    hot = kept.filter("celsius >= 90")
    unread = offered.filter(F.col("value") > FULL_SCALE)
    found = {
        "readings": differing(kept.select(reading), _sink(spark, out, "readings", reading)),
        "alarms": differing(
            hot.select("site", "sensor", "celsius"),
            spark.read.schema("site string, sensor bigint, celsius double").json(
                str(out / "alarms")
            ),
        ),
        "unread": differing(_lines(unread), _lines(_unread(spark, out))),
        "late": differing(late(kept), _late_found(spark, out)),
        "windows": windows_differing(kept, spark.read.parquet(str(out / "windows")), last_mark),
        "peaks": differing(peaks(kept, last_mark), _peaks_found(spark, out)),
        "totals": totals_differing(offered, totals),
    }
    findings = [_finding(name, pair) for name, pair in found.items()]
    lost = load.trace.rows - sum(batch_rows)
    return [*findings, count("rows of the stream that were never taken", lost, lost == 0)]


def with_marks(rows: pa.Table, batch_rows: list[int]) -> tuple[pa.Table, int]:
    """Give each row the watermark that its micro-batch began with; return the last one, too.

    Watermarks are in microseconds, of whole milliseconds as Spark's are.
    """
    times = rows["ts"].cast(pa.int64()).to_numpy()
    ends = np.cumsum(batch_rows)
    highest = np.maximum.accumulate(times)[np.minimum(ends, len(times)) - 1]
    marks = highest // 1_000 * 1_000 - WATERMARK_SECONDS * 1_000_000
    before = np.concatenate(([NEVER], marks))
    batch = np.searchsorted(ends, np.arange(len(times)), side="right")
    taken = rows.append_column("mark", pa.array(before[np.minimum(batch, len(ends))]))
    return taken, int(marks[-1])


def differing(expected: DataFrame, found: DataFrame) -> tuple[int, int, int]:
    """Count the rows that are expected, those missing, and those there too often."""
    found = found.select(expected.columns)
    missing, extra = expected.exceptAll(found).count(), found.exceptAll(expected).count()
    return expected.count(), missing, extra


def late(kept: DataFrame) -> DataFrame:
    """List the rows that missed a window, with how many they missed."""
    missed = F.lit(0)
    for length, slide in [*SITE_WINDOWS.values(), PEAK_WINDOW]:
        missed = missed + _windows_missed(length, slide)
    rows = kept.withColumn("missed", missed).filter("missed > 0")
    return rows.select("ts", "sensor", "celsius", F.col("missed").cast("int").alias("missed"))


def _windows_missed(length: str, slide: str) -> Column:
    """Count a row's windows that had ended at its watermark."""
    length_us, slide_us = (int(each.split()[0]) * 1_000_000 for each in (length, slide))
    time = F.unix_micros("ts")
    earliest_end = time - time % slide_us + slide_us
    ended = F.floor((F.col("mark") - earliest_end) / slide_us) + 1
    return F.greatest(F.lit(0), F.least(F.lit(length_us // slide_us), ended))


def peaks(kept: DataFrame, last_mark: int) -> DataFrame:
    """Of every closed window, list the readings than which none is both newer and hotter."""
    rows = _in_windows(kept, *PEAK_WINDOW, last_mark)
    newer = Window.partitionBy("window").orderBy(F.desc("ts"), F.desc("celsius"))
    hottest = F.max("celsius").over(newer.rowsBetween(Window.unboundedPreceding, -1))
    best = rows.withColumn("hottest", hottest).filter("hottest IS NULL OR celsius > hottest")
    return best.select("window.start", "window.end", "ts", "sensor", "celsius")


def windows_differing(kept: DataFrame, found: DataFrame, last_mark: int) -> tuple[int, int, int]:
    """Compare the windows of sites; a window with another value is both missing and too many."""
    low, high = P99_RANKS
    measures = [
        F.count("*").alias("readings"),
        F.count_if(F.col("celsius") >= 90).alias("hot"),
        F.avg("celsius").alias("mean"),
        F.percentile("celsius", low).alias("low"),
        F.percentile("celsius", high).alias("high"),
    ]
    listed = [
        _in_windows(kept, *lengths, last_mark)
        .groupBy("window", "site")
        .agg(*measures)
        .withColumn("window_name", F.lit(name))
        for name, lengths in SITE_WINDOWS.items()
    ]
    expected = listed[0].unionByName(listed[1])
    keys = ["window_name", "window", "site"]
    twice = found.groupBy(keys).count().filter("count > 1").count()
    there = found.select(*keys, *(F.col(name).alias(f"our_{name}") for name in MEASURES))
    both = expected.join(there, keys, "full_outer").withColumn("same", F.expr(SAME))
    told = both.agg(
        F.count("readings"),
        F.count_if(F.expr("readings IS NOT NULL AND NOT coalesce(same, false)")),
        F.count_if(F.expr("our_readings IS NOT NULL AND NOT coalesce(same, false)")),
    ).first()
    assert told is not None
    return told[0], told[1], told[2] + twice


MEASURES = ("readings", "hot", "mean", "p99")
SAME = (
    "readings = our_readings AND hot = our_hot AND abs(mean - our_mean) < 1e-9 * (1 + abs(mean)) "
    "AND our_p99 BETWEEN low AND high"
)


def totals_differing(offered: DataFrame, totals: DataFrame) -> tuple[int, int, int]:
    """Compare the last count of every sensor; between batches, counts must have gone on."""
    expected = offered.groupBy("key").agg(
        F.count("*").alias("n"), F.sum("id").alias("total"), F.count("*").alias("rows")
    )
    found = totals.groupBy("key").agg(
        F.max("n").alias("n"), F.max("total").alias("total"), F.sum("rows").alias("rows")
    )
    before = F.lag("n", 1, 0).over(Window.partitionBy("key").orderBy("batch_id"))
    broken = totals.withColumn("before", before).filter("n != before + rows").count()
    expected_keys, missing, extra = differing(expected, found)
    return expected_keys, missing, extra + broken


def _in_windows(kept: DataFrame, length: str, slide: str, last_mark: int) -> DataFrame:
    """Put rows into the windows that were open when they came and have closed since."""
    rows = kept.withColumn("window", F.window("ts", length, slide))
    end = F.unix_micros("window.end")
    return rows.filter((end > F.col("mark")) & (end <= last_mark))


def _sink(spark: SparkSession, out: Path, name: str, columns: list[str]) -> DataFrame:
    return spark.read.parquet(str(out / name)).select(columns)


def _late_found(spark: SparkSession, out: Path) -> DataFrame:
    rows = spark.read.parquet(str(out / "late"))
    return rows.select("ts", "sensor", "celsius", F.size("_missed").alias("missed"))


def _peaks_found(spark: SparkSession, out: Path) -> DataFrame:
    rows = spark.read.parquet(str(out / "peaks"))
    return rows.select("window.start", "window.end", "ts", "sensor", "celsius")


def _unread(spark: SparkSession, out: Path) -> DataFrame:
    letters = spark.read.parquet(str(out / "unread"))
    row = F.from_json("row", "id bigint, key bigint, value double")
    return letters.select(row.alias("row")).select("row.*")


def _lines(rows: DataFrame) -> DataFrame:
    return rows.select("id", "key", "value")


def _finding(name: str, pair: tuple[int, int, int]) -> Finding:
    expected, missing, extra = pair
    good = missing == 0 and extra == 0
    told = "all there, once" if good else f"{missing} missing, {extra} too many"
    return Finding(f"sink {name}: rows", expected, 0.0, 0.0, 0.0, 0.0, told, good)
