"""Keyed skew that drifts: how even the tasks are, and what moving groups of keys costs.

80 % of the rows belong to the keys of one key group, half of these to one key; half-way other keys
take their place. Every row of a key costs 4 ms of waiting, on eight slots. Ways: plain hash
partitioning, Spark's adaptive rebalancing, and Penstock's key groups with each kind of migration.
``slowest_over_mean`` is of the tasks' time in the user's function.

    python benchmarks/key_groups.py            # a table
    python benchmarks/key_groups.py --json
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from measuring import session, show
from pyspark.accumulators import AccumulatorParam
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import penstock as ps

SLOTS, GROUPS, FILES = 8, 64, 4
MILLIS = 4.0
SCHEMA = "id bigint, ts timestamp, key bigint"
OTHERS = range(1_000, 1_500)


def keys_of_group(spark: SparkSession, group: int, count: int) -> list[int]:
    """Return keys that lie in one key group."""
    keys = spark.range(0, 100_000).filter(F.pmod(F.xxhash64("id"), F.lit(GROUPS)) == group)
    return [row.id for row in keys.limit(count).collect()]


def write_batches(spark: SparkSession, where: Path, rows: int, batches: int) -> None:
    """Write the files of a stream: a batch is a second of event time."""
    where.mkdir(parents=True)
    first, second = keys_of_group(spark, 3, 9), keys_of_group(spark, 40, 9)
    for number in range(batches):
        skewed = first if number < batches // 2 else second
        keys = []
        for row in range(rows):
            part = (row * 7 + number) % 10
            hot = skewed[0] if part < 4 else skewed[1 + row % 8]
            keys.append(hot if part < 8 else OTHERS[(row * 31 + number) % len(OTHERS)])
        for part in range(FILES):
            of = range(part, rows, FILES)
            table = pa.table(
                {
                    "id": [number * rows + row for row in of],
                    "ts": pa.array([number * 1_000_000] * len(of), pa.timestamp("us", "UTC")),
                    "key": [keys[row] for row in of],
                }
            )
            pq.write_table(table, where / f"{number:04d}-{part}.parquet")
            time.sleep(0.002)  # Spark takes files in the order of their times


class Waiting(ps.Aggregate):
    """Counts rows, and waits for each."""

    state = pa.schema([("n", pa.int64())])
    result = "n bigint"
    columns = ("id",)

    def compute(self, state: pa.RecordBatch | None, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Wait for every row."""
        time.sleep(batch.num_rows * MILLIS / 1_000)
        return self._of((0 if state is None else state["n"][0].as_py()) + batch.num_rows)

    def consolidate(self, states: list[pa.RecordBatch]) -> pa.RecordBatch:
        """Add counts up."""
        return self._of(sum(state["n"][0].as_py() for state in states))

    def finish(self, state: pa.RecordBatch) -> pa.RecordBatch:
        """Return the count."""
        return state

    def _of(self, count: int) -> pa.RecordBatch:
        return pa.RecordBatch.from_pydict({"n": pa.array([count], pa.int64())})


class _Rows(AccumulatorParam[list[Any]]):
    def zero(self, value: list[Any]) -> list[Any]:
        return []

    def addInPlace(self, value1: list[Any], value2: list[Any]) -> list[Any]:  # noqa: N802
        return value1 + value2


def by_hand(
    spark: SparkSession, source: Path, out: Path, *, adaptive: bool
) -> list[dict[str, Any]]:
    """Make partials by key, as one would by hand: rows partitioned by hash, or rebalanced."""
    counted = spark.sparkContext.accumulator([], _Rows())

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows: dict[int, int] = {}
        for batch in batches:
            for key in batch["key"].to_pylist():
                rows[key] = rows.get(key, 0) + 1
        start = time.perf_counter()
        for count in rows.values():
            time.sleep(count * MILLIS / 1_000)
        counted.add([time.perf_counter() - start])
        yield pa.RecordBatch.from_pydict(
            {"key": pa.array(rows, pa.int64()), "n": pa.array(rows.values(), pa.int64())}
        )

    found: list[dict[str, Any]] = []

    def write(batch: DataFrame, batch_id: int) -> None:
        batch.sparkSession.conf.set("spark.sql.adaptive.enabled", str(adaptive).lower())
        counted.value = []
        start = time.perf_counter()
        moved = batch.hint("rebalance", "key") if adaptive else batch.repartition(SLOTS, "key")
        partials = moved.mapInArrow(work, "key bigint, n bigint")
        partials.write.mode("overwrite").parquet(f"{out}/{batch_id}")
        seconds = time.perf_counter() - start
        # A task that Spark did not start, because it had no rows, stands idle all the same.
        tasks = [*counted.value, *[0.0] * (SLOTS - len(counted.value))]
        even = max(tasks) / (sum(tasks) / len(tasks))
        rows = spark.read.parquet(f"{out}/{batch_id}").count()
        found.append({"seconds": seconds, "even": even, "partials": rows, "pause": 0.0})

    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", FILES)
    stream = reader.parquet(str(source)).writeStream.foreachBatch(write)
    query = stream.option("checkpointLocation", f"{out}-ck").trigger(availableNow=True).start()
    query.awaitTermination()
    return found


def by_penstock(
    spark: SparkSession, source: Path, out: Path, migration: Any
) -> list[dict[str, Any]]:
    """Aggregate in windows of four batches with key groups."""
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", FILES)
    stream = ps.Stream.read(reader.parquet(str(source)), time="ts", watermark="0 seconds")
    windows = stream.group_by("key").window(ps.tumbling("4 seconds")).reduce(Waiting(), name="w")
    query = ps.run(
        windows.to(ps.sinks.parquet(str(out))),
        checkpoint=f"{out}-ck",
        placement=ps.KeyGroups(GROUPS, migration=migration),
        slots=ps.LocalSlots(SLOTS),
        available_now=True,
    )
    query.await_termination()
    found: list[dict[str, Any]] = []
    pauses: dict[int, float] = {}
    for file in sorted(Path(query.journal_dir).glob("*.jsonl")):
        for event in map(json.loads, file.read_text().splitlines()):
            if event["kind"] == "KeyGroupsMoved":
                pauses[event["batch_id"]] = event.get("pause_seconds", 0.0)
            if event["kind"] == "BatchFinished":
                seen = event["observation"]
                one = next(o for o in seen["operators"] if o["name"] == "w_partials")
                even = one["slowest_task_seconds"] / one["mean_task_seconds"]
                made = {"seconds": seen["batch_seconds"], "even": even}
                found.append(made | {"partials": one["rows_out"], "pause": 0.0})
    for batch, pause in pauses.items():
        found[batch]["pause"] = pause
    return found


def summary(way: str, found: list[dict[str, Any]]) -> dict[str, Any]:
    half = len(found) // 2
    after = found[half + 5 :]  # five batches after the drift
    worst = [each["even"] for each in found[half:]]
    settled = next((n for n, even in enumerate(worst) if even < 1.3), None)
    return {
        "way": way,
        "median_ms": statistics.median(each["seconds"] for each in after) * 1_000,
        "slowest_over_mean": statistics.median(each["even"] for each in after),
        "slowest_over_mean_at_drift": worst[0],
        "batches_until_below_1.3": settled,
        "partials": statistics.median(each["partials"] for each in found[1:]),
        "greatest_pause_ms": max(each["pause"] for each in found) * 1_000,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--rows", type=int, default=2_000, help="rows of a micro-batch")
    parser.add_argument("--batches", type=int, default=24)
    options = parser.parse_args()
    spark = session(f"local[{SLOTS}]")
    where = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    try:
        source = where / "in"
        write_batches(spark, source, options.rows, options.batches)
        ways = {
            "hash": lambda out: by_hand(spark, source, out, adaptive=False),
            "adaptive": lambda out: by_hand(spark, source, out, adaptive=True),
            "instant": lambda out: by_penstock(spark, source, out, "instant"),
            "smooth": lambda out: by_penstock(spark, source, out, "smooth"),
            "disruptive": lambda out: by_penstock(spark, source, out, "disruptive"),
        }
        results = [summary(way, run(where / way)) for way, run in ways.items()]
    finally:
        shutil.rmtree(where, ignore_errors=True)
        spark.stop()
    show(results, "key groups", options.json)


if __name__ == "__main__":
    main()
