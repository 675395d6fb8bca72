"""What the engine adds to a micro-batch, beside the same job written by hand.

The job is select, Python map, filter, Python map, Parquet. The hand-written one is a foreachBatch
with mapInArrow, as an engineer would write it. Both read the same source in the same session, in
turns, and the time is Spark's own triggerExecution.

    python benchmarks/engine.py            # a table
    python benchmarks/engine.py --json
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from measuring import peak_memory_mb, session, show, spark_jobs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

import penstock as ps

FIRST = "id bigint, key bigint, pct double"
SECOND = "id bigint, label string, pct double"
WARM_UP_BATCHES = 2


def first(row: dict[str, Any]) -> dict[str, Any]:
    return {"id": row["id"], "key": row["key"], "pct": row["rate"] * 100}


def second(row: dict[str, Any]) -> dict[str, Any]:
    return {"id": row["id"], "label": f"k{row['key']}", "pct": row["pct"] / 2}


def stream(spark: SparkSession, rows: int, batches: int) -> DataFrame:
    return ps.sources.generate(
        ps.sources.Steady(rows),
        duration_seconds=batches,
        max_rows_per_batch=rows,
        partitions=2,
        spark=spark,
    )


def by_penstock(df: DataFrame, out: str, checkpoint: str, *, timed: bool) -> StreamingQuery:
    source = ps.Stream.read(df, time="ts", watermark="1 minute") if timed else ps.Stream.read(df)
    branch = (
        source.select("id", "key", "value AS rate")
        .map(first, FIRST)
        .filter("pct > 10")
        .map(second, SECOND)
        .to(ps.sinks.parquet(out))
    )
    query = ps.run(branch, checkpoint=checkpoint, available_now=True)
    query.await_termination()
    return query._spark_query


def by_hand(df: DataFrame, out: str, checkpoint: str) -> StreamingQuery:
    def mapper(function: Callable[[dict[str, Any]], dict[str, Any]], ddl: str) -> Any:
        schema = to_arrow_schema(StructType.fromDDL(ddl), timezone="UTC")

        def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                rows = [function(row) for row in batch.to_pylist()]
                yield pa.RecordBatch.from_pylist(rows, schema=schema)

        return run

    one, two = mapper(first, FIRST), mapper(second, SECOND)

    def write(batch: DataFrame, batch_id: int) -> None:
        result = (
            batch.selectExpr("id", "key", "value AS rate")
            .mapInArrow(one, FIRST)
            .filter("pct > 10")
            .mapInArrow(two, SECOND)
        )
        result.write.mode("overwrite").parquet(f"{out}/batch_id={batch_id}")

    writer = df.writeStream.foreachBatch(write).option("checkpointLocation", checkpoint)
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return query


WAYS: dict[str, Callable[[DataFrame, str, str], StreamingQuery]] = {
    "by hand": by_hand,
    "penstock": lambda df, out, ck: by_penstock(df, out, ck, timed=False),
    "penstock, event time": lambda df, out, ck: by_penstock(df, out, ck, timed=True),
}


def run_once(spark: SparkSession, way: str, rows: int, batches: int) -> tuple[list[float], float]:
    """Run one query; return its batch times in milliseconds and its Spark jobs per batch."""
    where = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    try:
        before = spark_jobs(spark)
        df = stream(spark, rows, batches)
        query = WAYS[way](df, str(where / "out"), str(where / "checkpoint"))
        progress = [p for p in query.recentProgress if p.numInputRows > 0]
        if len(progress) != batches:
            raise RuntimeError(f"{way} ran {len(progress)} batches, not {batches}")
        jobs = (spark_jobs(spark) - before) / batches
        return [p.durationMs["triggerExecution"] for p in progress[WARM_UP_BATCHES:]], jobs
    finally:
        shutil.rmtree(where, ignore_errors=True)


def compare(
    spark: SparkSession, rows: int, batches: int, rounds: int, ways: list[str]
) -> list[dict[str, Any]]:
    times: dict[str, list[float]] = {way: [] for way in ways}
    jobs: dict[str, float] = {}
    for way in ways:  # once unmeasured: the JVM compiles what it runs often
        run_once(spark, way, rows, batches)
    for turn in range(rounds):
        for way in ways[turn % len(ways) :] + ways[: turn % len(ways)]:
            measured, jobs[way] = run_once(spark, way, rows, batches)
            times[way] += measured
    base = statistics.median(times["by hand"])
    return [
        {
            "rows_a_batch": rows,
            "way": way,
            "median_ms": statistics.median(times[way]),
            "p95_ms": statistics.quantiles(times[way], n=20)[-1],
            "ratio": statistics.median(times[way]) / base,
            "jobs_a_batch": jobs[way],
            "batches": len(times[way]),
        }
        for way in ways
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--rows", type=int, nargs="+", default=[200, 200_000])
    parser.add_argument("--batches", type=int, default=10, help="micro-batches of one query")
    parser.add_argument("--rounds", type=int, default=5, help="queries of each way")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--no-memory", action="store_true", help="leave peak memory out")
    parser.add_argument("--one", choices=list(WAYS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    spark = session(options.master)
    if options.one:
        run_once(spark, options.one, options.rows[0], options.batches)
        return
    results = []
    for rows in options.rows:
        results += compare(spark, rows, options.batches, options.rounds, list(WAYS))
    spark.stop()
    if not options.no_memory:
        for row in results:
            one = ["--one", row["way"], "--rows", str(row["rows_a_batch"])]
            command = [sys.executable, __file__, *one, "--batches", str(options.batches)]
            row["peak_memory_mb"] = peak_memory_mb(command)
    show(results, "engine", options.json)


if __name__ == "__main__":
    main()
