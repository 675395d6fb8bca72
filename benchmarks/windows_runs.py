"""One run of one case, by Penstock or by Spark alone, in a process of its own."""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from windows_memory import cpu_seconds
from windows_cases import EPOCH_SECONDS, WATERMARK, Case, Span, stream

import penstock as ps
from penstock.engine.steps import Step

LOOK_EVERY_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Checksum:
    """What came out for the windows that end in the stretch of time that all ways have closed."""

    rows: int
    counted: int
    summed: float
    largest: float


@dataclass(frozen=True, slots=True)
class Run:
    """The micro-batches of one run: milliseconds of each, oldest first, and where they went."""

    way: str
    batch_ms: list[float]
    cpu_ms: float
    empty_batches: int
    durations_ms: dict[str, float]
    steps_ms: dict[str, float] = field(default_factory=dict)
    checksum: Checksum | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the run as it goes from process to process."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Setting:
    """How a case is run."""

    case: Case
    batches: int
    sink: str = "parquet"
    shuffle_partitions: int = 2
    master: str = "local[2]"


def session(setting: Setting) -> SparkSession:
    """Start Spark with its defaults but for the heap and the number of shuffle partitions."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    spark = (
        SparkSession.builder.master(setting.master)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.streaming.numRecentProgressUpdates", "100000")
        .config("spark.sql.shuffle.partitions", str(setting.shuffle_partitions))
        .config("spark.driver.memory", setting.case.heap)
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def by_penstock(spark: SparkSession, setting: Setting, where: Path) -> Run:
    """Run all windows of a case in one query."""
    steps = StepTimes()
    case, out = setting.case, where / "out"
    rows = ps.Stream.read(stream(spark, case), time="ts", watermark=WATERMARK)
    windows = rows.group_by("k").window(*[_spec(span) for span in case.windows])
    result = windows.aggregate(n=ps.count(), s=ps.sum("v"), m=ps.max("v"))
    sink: Any = ps.sinks.parquet(str(out)) if setting.sink == "parquet" else _noop
    query = ps.run(result.to(sink), checkpoint=str(where / "checkpoint"), on_step=steps)
    cpu = wait_for(query._spark_query, setting.batches)
    query.stop()
    medians = steps.medians(setting.batches // 2)
    return _run("penstock", [query._spark_query], setting, cpu, medians)


def by_spark(spark: SparkSession, setting: Setting, where: Path) -> Run:
    """Run one native query for each window, one after another."""
    queries, cpu = [], 0.0
    for number, span in enumerate(setting.case.windows):
        df = stream(spark, setting.case).withWatermark("ts", WATERMARK)
        windows = df.groupBy(F.window("ts", span.length, span.every), "k")
        result = windows.agg(
            F.count("*").alias("n"), F.sum("v").alias("s"), F.max("v").alias("m")
        )
        writer = result.writeStream.outputMode("append").format(setting.sink)
        if setting.sink == "parquet":
            writer = writer.option("path", str(where / f"out/{number}"))
        query = writer.option("checkpointLocation", str(where / f"checkpoint/{number}")).start()
        cpu += wait_for(query, setting.batches)
        query.stop()
        queries.append(query)
    return _run("spark", queries, setting, cpu, {})


WAYS: dict[str, Callable[[SparkSession, Setting, Path], Run]] = {
    "penstock": by_penstock,
    "spark": by_spark,
}


def run_once(way: str, setting: Setting) -> Run:
    """Run a case one way, from an empty checkpoint."""
    where = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    spark = session(setting)
    try:
        return WAYS[way](spark, setting, where)
    finally:
        spark.stop()
        shutil.rmtree(where, ignore_errors=True)


def wait_for(query: StreamingQuery, batches: int) -> float:
    """Wait for a number of micro-batches; return milliseconds of CPU each took in the last half."""
    java: Any = query._jsq
    seen: dict[int, float] = {}
    while query.isActive:
        last = java.lastProgress()
        done = -1 if last is None else last.batchId()
        seen.setdefault(done, cpu_seconds(os.getpid()))
        if done >= batches:
            later = [batch for batch in seen if batch >= batches // 2]
            return (seen[later[-1]] - seen[later[0]]) / (later[-1] - later[0]) * 1_000
        time.sleep(LOOK_EVERY_SECONDS)
    raise RuntimeError(f"the query ended by itself: {query.exception()}")


class StepTimes:
    """Takes the time between the steps of Penstock's micro-batches."""

    def __init__(self) -> None:
        self._last = time.perf_counter()
        self._batch = -1
        self._seen = 0
        self._ms: dict[str, dict[int, float]] = defaultdict(dict)

    def __call__(self, step: Step, batch_id: int) -> None:
        """Note that a step of a batch is done."""
        now = time.perf_counter()
        if batch_id != self._batch:
            self._batch, self._seen = batch_id, 0
            name = "between batches"
        else:
            self._seen += step is Step.WINDOWS
            name = f"{step.value} {self._seen}" if step is Step.WINDOWS else step.value
        self._ms[name][batch_id] = (now - self._last) * 1_000
        self._last = now

    def medians(self, first_batch: int) -> dict[str, float]:
        """Return the median of each step from a batch on."""
        return {
            name: statistics.median(ms for batch, ms in times.items() if batch >= first_batch)
            for name, times in self._ms.items()
        }


def _run(
    way: str,
    queries: list[StreamingQuery],
    setting: Setting,
    cpu_ms: float,
    steps_ms: dict[str, float],
) -> Run:
    """Put the progress of queries that ran one after another into one run, batch by batch."""
    batches = range(setting.batches)
    total, empty = [0.0] * setting.batches, 0
    durations: dict[str, float] = defaultdict(float)
    for query in queries:
        reports = [p for p in query.recentProgress if p.batchId < setting.batches]
        by_batch = {p.batchId: p for p in reports if p.numInputRows > 0}
        empty += sum(p.numInputRows == 0 and "addBatch" in p.durationMs for p in reports)
        for number in batches:
            total[number] += by_batch[number].durationMs["triggerExecution"]
        later = [by_batch[number].durationMs for number in batches[setting.batches // 2 :]]
        for name in later[0]:
            durations[name] += statistics.median(each.get(name, 0) for each in later)
    return Run(way, total, cpu_ms, empty, dict(durations), steps_ms)


def _noop(df: DataFrame, batch_id: int) -> None:
    df.write.format("noop").mode("overwrite").save()


def _spec(span: Span) -> ps.WindowSpec:
    if span.length == span.every:
        return ps.tumbling(span.length)
    return ps.sliding(span.length, span.every)
