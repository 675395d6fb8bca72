"""Micro-batches over a large keyed state, beside Spark's own applyInPandasWithState.

A query first meets every key once, in large batches; then small batches touch some keys each. Both
ways count a key's rows; Spark keeps its state in RocksDB. The time is Spark's own triggerExecution.
"moving" is Penstock with another number of tasks in every batch, so that half of all key groups
change hands each time. Spark's way takes a millisecond or more for every key, when it fills too.

    python benchmarks/keyed_state.py --keys 20000 --rows 2000           # a table
    python benchmarks/keyed_state.py --keys 1000000 --ways penstock moving --json
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from measuring import session, show
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

import penstock as ps

INPUT = "user bigint, value double"
OUTPUT = "user bigint, n bigint, total double"
STATE = "n bigint, total double"
FILL_ROWS = 1_000_000
WARM_UP_BATCHES = 2
WAYS = ("penstock", "moving", "spark")


def write_input(where: Path, keys: int, rows: int, batches: int) -> int:
    """Write one file for every batch; return how many of them fill the state."""
    where.mkdir(parents=True)
    generator = np.random.default_rng(7)
    every = generator.permutation(keys)
    fills = [every[start : start + FILL_ROWS] for start in range(0, keys, FILL_ROWS)]
    touches = [generator.integers(0, keys, rows) for _ in range(batches)]
    for number, users in enumerate([*fills, *touches]):
        path = where / f"{number:05d}.parquet"
        columns = {"user": pa.array(users, pa.int64()), "value": generator.random(len(users))}
        pq.write_table(pa.table(columns), path)
        os.utime(path, (1_700_000_000 + number,) * 2)  # Spark reads files by age
    return len(fills)


def read(spark: SparkSession, where: Path) -> DataFrame:
    files = spark.readStream.schema(INPUT).option("maxFilesPerTrigger", 1)
    return files.parquet(str(where))


def count(key: dict[str, Any], rows: list[dict[str, Any]], state: ps.KeyState) -> dict[str, Any]:
    before = state.value or {"n": 0, "total": 0.0}
    n, total = before["n"] + len(rows), before["total"] + sum(row["value"] for row in rows)
    state.update(n=n, total=total)
    return {**key, "n": n, "total": total}


def pandas_count(
    key: tuple[Any, ...], frames: Iterator[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    n, total = state.get if state.exists else (0, 0.0)
    for frame in frames:
        n, total = n + len(frame), total + float(frame["value"].sum())
    state.update((n, total))
    yield pd.DataFrame({"user": [key[0]], "n": [n], "total": [total]})


class Moving:
    """Two tasks, then one, then two."""

    def decide(self, observation: ps.Observation) -> ps.Decision:
        """Change the number of tasks."""
        return ps.Decision(1 + observation.batch_id % 2, "to and fro")


def by_penstock(df: DataFrame, where: Path, way: str) -> StreamingQuery:
    s = ps.Stream.read(df).group_by("user").process(count, state=STATE, schema=OUTPUT)
    query = ps.run(
        s.to(ps.sinks.parquet(str(where / "out"))),
        checkpoint=where / "checkpoint",
        available_now=True,
        policy=Moving() if way == "moving" else None,
    )
    query.await_termination()
    return query._spark_query


def by_spark(df: DataFrame, where: Path, way: str) -> StreamingQuery:
    spark = df.sparkSession
    provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", provider)
    spark.conf.set("spark.sql.shuffle.partitions", str(spark.sparkContext.defaultParallelism))
    counted = df.groupBy("user").applyInPandasWithState(
        pandas_count, OUTPUT, STATE, "update", GroupStateTimeout.NoTimeout
    )

    def write(batch: DataFrame, batch_id: int) -> None:
        batch.write.mode("overwrite").parquet(f"{where / 'out'}/batch_id={batch_id}")

    writer = counted.writeStream.outputMode("update").foreachBatch(write)
    writer = writer.option("checkpointLocation", str(where / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return query


def measure(spark: SparkSession, way: str, keys: int, rows: int, batches: int) -> dict[str, Any]:
    where = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    try:
        fills = write_input(where / "in", keys, rows, batches)
        run = by_spark if way == "spark" else by_penstock
        query = run(read(spark, where / "in"), where, way)
        times = [p.durationMs["triggerExecution"] for p in query.recentProgress if p.numInputRows]
        if len(times) != fills + batches:
            raise RuntimeError(f"{way} ran {len(times)} batches, not {fills + batches}")
        small = times[fills + WARM_UP_BATCHES :]
        held = sum(f.stat().st_size for f in (where / "checkpoint").rglob("*") if f.is_file())
        return {
            "keys": keys,
            "rows_a_batch": rows,
            "way": way,
            "fill_seconds": sum(times[:fills]) / 1_000,
            "median_ms": statistics.median(small),
            "p95_ms": statistics.quantiles(small, n=20)[-1],
            "checkpoint_mb": held / 1e6,
            "batches": len(small),
        }
    finally:
        shutil.rmtree(where, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--keys", type=int, nargs="+", default=[20_000])
    parser.add_argument("--rows", type=int, default=2_000)
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--master", default="local[2]")
    options = parser.parse_args()
    spark = session(options.master)
    results = []
    for keys in options.keys:
        for way in options.ways:
            results.append(measure(spark, way, keys, options.rows, options.batches))
            print(results[-1], file=sys.stderr, flush=True)  # Spark's way takes its time
    spark.stop()
    show(results, "keyed state", options.json)


if __name__ == "__main__":
    main()
