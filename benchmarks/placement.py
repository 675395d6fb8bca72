"""Where rows go: batch time over the ideal, beside Spark's own ways to share rows out.

Operators wait, so that eight slots work on any machine. Every way reads the same files with the
same numbers of rows and waits, and writes Parquet; ways take turns. The ideal is the sum of all
waits over the slots. The fixed cost of a way is its own time for a batch of rows that wait for
nothing.

    python benchmarks/placement.py                          # a table
    python benchmarks/placement.py --json --cases b c --rows 1000

Cases: (a) tweets of three classes, 25, 5 and 1 ms; (b) 64 times, keys by Zipf's law with exponent
1; (c) 2 % of calls at 300 ms, the others at 4 ms; (d) all at 5 ms; (e) as (b), and half-way the
times of all keys are dealt anew.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from measuring import session, show
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import penstock as ps

FILES = 8
SCHEMA = "id bigint, key bigint, ms double"
RESULT = "id bigint"


@dataclass(frozen=True)
class Case:
    """Keys of some rows, and what a row of each key waits for, in a batch and the next."""

    keys: np.ndarray
    shares: np.ndarray
    millis: np.ndarray
    later: np.ndarray | None = None

    def batch(self, rows: int, number: int, batches: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the keys of a batch's rows and how long each waits."""
        rng = np.random.default_rng(number)
        drawn = rng.choice(len(self.keys), rows, p=self.shares)
        late = self.later is not None and number >= batches // 2
        millis = self.later if late and self.later is not None else self.millis
        return self.keys[drawn], millis[drawn]


def zipf(keys: int, exponent: float) -> np.ndarray:
    weights = 1 / np.arange(1, keys + 1) ** exponent
    return weights / weights.sum()


def cases(scale: float) -> dict[str, Case]:
    rng = np.random.default_rng(2015)
    tweets, entities = np.arange(35_000), np.arange(4_096)
    classes = rng.choice([25.0, 5.0, 1.0], 35_000, p=[0.1, 0.3, 0.6])
    times = rng.permutation(np.repeat(np.arange(1, 65), 64)) / 4.0
    dealt = rng.permutation(times)
    slow = np.where(np.arange(500) < 10, 300.0, 4.0)
    return {
        "a": Case(tweets, zipf(35_000, 1.0), classes * scale),
        "b": Case(entities, zipf(4_096, 1.0), times * scale),
        "c": Case(np.arange(500), np.full(500, 1 / 500), slow * scale),
        "d": Case(np.arange(500), np.full(500, 1 / 500), np.full(500, 5.0) * scale),
        "e": Case(entities, zipf(4_096, 1.0), times * scale, dealt * scale),
    }


def write_batches(where: Path, case: Case | None, rows: int, batches: int) -> list[float]:
    """Write the files of a stream, eight for a batch; return the seconds of work of each batch."""
    where.mkdir(parents=True)
    work = []
    for number in range(batches):
        if case is None:
            keys, millis = np.arange(rows) % 500, np.zeros(rows)
        else:
            keys, millis = case.batch(rows, number, batches)
        ids = np.arange(rows) + number * rows
        work.append(float(millis.sum()) / 1_000)
        for part in range(FILES):
            of = slice(part, None, FILES)
            columns = {"id": ids[of], "key": keys[of].astype(np.int64), "ms": millis[of]}
            pq.write_table(pa.table(columns), where / f"{number:04d}-{part}.parquet")
            time.sleep(0.002)  # Spark takes files in the order of their times
    return work


def read(spark: SparkSession, where: Path) -> DataFrame:
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", FILES)
    return reader.parquet(str(where))


def wait(row: dict[str, Any]) -> dict[str, Any]:
    if row["ms"]:
        time.sleep(row["ms"] / 1_000)
    return {"id": row["id"]}


def by_hand(tasks: int) -> Callable[[DataFrame, str, str], StreamingQuery]:
    schema = pa.schema([("id", pa.int64())])

    def mapped(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = [wait(row) for row in batch.to_pylist()]
            yield pa.RecordBatch.from_pylist(rows, schema=schema)

    def run(df: DataFrame, out: str, checkpoint: str) -> StreamingQuery:
        def write(batch: DataFrame, batch_id: int) -> None:
            moved = batch.repartition(tasks).mapInArrow(mapped, RESULT)
            moved.write.mode("overwrite").parquet(f"{out}/batch_id={batch_id}")

        stream = df.writeStream.foreachBatch(write).option("checkpointLocation", checkpoint)
        query = stream.trigger(availableNow=True).start()
        query.awaitTermination()
        return query

    return run


def by_penstock(placement: ps.Placement) -> Callable[[DataFrame, str, str], StreamingQuery]:
    def run(df: DataFrame, out: str, checkpoint: str) -> StreamingQuery:
        branch = ps.Stream.read(df).map(wait, RESULT, cost_key="key").to(ps.sinks.parquet(out))
        query = ps.run(branch, checkpoint=checkpoint, placement=placement, available_now=True)
        query.await_termination()
        return query._spark_query

    return run


WAYS = {
    "repartition(8)": by_hand(8),
    "repartition(32)": by_hand(32),
    "RoundRobin": by_penstock(ps.RoundRobin()),
    "CostAware": by_penstock(ps.CostAware()),
}


def run_once(spark: SparkSession, way: str, source: Path, rows: int, batches: int) -> list[float]:
    """Run one query; return its batch times in seconds."""
    where = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    try:
        query = WAYS[way](read(spark, source), str(where / "out"), str(where / "checkpoint"))
        progress = [p for p in query.recentProgress if p.numInputRows > 0]
        found = spark.read.parquet(str(where / "out")).select("id").distinct().count()
        if len(progress) != batches or found != rows * batches:
            raise RuntimeError(f"{way}: {len(progress)} batches, {found} rows")
        return [p.durationMs["triggerExecution"] / 1_000 for p in progress]
    finally:
        shutil.rmtree(where, ignore_errors=True)


def measure(
    spark: SparkSession, name: str, case: Case, rows: int, options: argparse.Namespace
) -> list[dict[str, Any]]:
    batches, warm = options.batches, options.warm_up
    where = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    try:
        work = write_batches(where / "work", case, rows, batches)
        write_batches(where / "idle", None, rows, warm + 6)
        times: dict[str, list[list[float]]] = {way: [] for way in WAYS}
        idle: dict[str, list[float]] = {way: [] for way in WAYS}
        ways = list(WAYS)
        for turn in range(options.rounds):
            for way in ways[turn % len(ways) :] + ways[: turn % len(ways)]:
                idle[way] += run_once(spark, way, where / "idle", rows, warm + 6)[warm:]
                times[way].append(run_once(spark, way, where / "work", rows, batches))
    finally:
        shutil.rmtree(where, ignore_errors=True)
    ideal = [seconds / options.slots for seconds in work]
    return [
        _row(name, rows, way, times[way], ideal, statistics.median(idle[way]), warm) for way in WAYS
    ]


def _row(
    name: str,
    rows: int,
    way: str,
    rounds: list[list[float]],
    ideal: list[float],
    fixed: float,
    warm: int,
) -> dict[str, Any]:
    measured = [(took, ideal[n]) for each in rounds for n, took in enumerate(each) if n >= warm]
    over = [took / best for took, best in measured]
    with_fixed = [took / (best + fixed) for took, best in measured]
    return {
        "case": name,
        "rows_a_batch": rows,
        "way": way,
        "median_ms": statistics.median(took for took, _ in measured) * 1_000,
        "ideal_ms": statistics.median(best for _, best in measured) * 1_000,
        "fixed_ms": fixed * 1_000,
        "over_ideal": statistics.median(over),
        "over_ideal_p95": float(np.quantile(over, 0.95)),
        "over_ideal_and_fixed": statistics.median(with_fixed),
        "over_ideal_and_fixed_p95": float(np.quantile(with_fixed, 0.95)),
        "batches": len(measured),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--cases", nargs="+", default=list("abcde"), choices=list("abcde"))
    parser.add_argument("--rows", type=int, nargs="+", default=[200, 1_000, 10_000])
    parser.add_argument("--batches", type=int, default=16, help="micro-batches of one query")
    parser.add_argument("--warm-up", type=int, default=4, help="first batches left out")
    parser.add_argument("--rounds", type=int, default=2, help="queries of each way")
    parser.add_argument("--slots", type=int, default=8)
    parser.add_argument("--scale", type=float, default=1.0, help="of all waits")
    options = parser.parse_args()
    spark = session(f"local[{options.slots}]")
    for way in WAYS:  # once unmeasured: the JVM compiles what it runs often
        where = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
        write_batches(where / "idle", None, 200, 4)
        run_once(spark, way, where / "idle", 200, 4)
        shutil.rmtree(where, ignore_errors=True)
    results = []
    for name in options.cases:
        for rows in options.rows:
            results += measure(spark, name, cases(options.scale)[name], rows, options)
    spark.stop()
    show(results, "placement", options.json)


if __name__ == "__main__":
    main()
