"""One run of one case, by Penstock or by Spark alone, from an empty checkpoint."""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from windows_cases import EPOCH_SECONDS, WATERMARK, Case, Span, stream

import penstock as ps
from penstock.engine.steps import Step

LOOK_EVERY_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Setting:
    """How a case is run: for so many micro-batches and so long, whichever takes longer."""

    case: Case
    batches: int
    seconds: float = 0.0
    sink: str = "parquet"
    master: str = "local[2]"
    shuffle_partitions: int = 2


@dataclass(frozen=True, slots=True)
class Half:
    """The last half of a query's micro-batches, which is measured, and the CPU that each took."""

    query: StreamingQuery
    numbers: range
    cpu_ms: float


@dataclass(frozen=True, slots=True)
class Run:
    """What one run took: milliseconds of every measured micro-batch, and where they went.

    ``durations_ms`` are Spark's names, ``steps_ms`` those of Penstock, both medians. ``results``
    is the number of rows that came out, their counts, sums and largest values, up to a time that
    every way has passed.
    """

    batch_ms: list[float]
    cpu_ms: float
    empty_batches: int
    durations_ms: Mapping[str, float]
    steps_ms: Mapping[str, float] = field(default_factory=dict)
    results: list[float] = field(default_factory=list)


def session(setting: Setting, **more: str) -> SparkSession:
    """Start Spark with its defaults, but for the heap and the number of shuffle partitions."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = (
        SparkSession.builder.master(setting.master)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.streaming.numRecentProgressUpdates", "1000")
        .config("spark.sql.shuffle.partitions", str(setting.shuffle_partitions))
        .config("spark.driver.memory", setting.case.heap)
    )
    for key, value in more.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def penstock_query(
    spark: SparkSession, setting: Setting, where: Path, on_step: Callable[[Step, int], None] | None
) -> ps.Query:
    """Start one query for all windows of a case."""
    rows = ps.Stream.read(stream(spark, setting.case), time="ts", watermark=WATERMARK)
    windows = rows.group_by("k").window(*[_spec(span) for span in setting.case.windows])
    result = windows.aggregate(n=ps.count(), s=ps.sum("v"), m=ps.max("v"))
    sink: Any = ps.sinks.parquet(str(where / "out")) if setting.sink == "parquet" else _noop
    return ps.run(result.to(sink), checkpoint=str(where / "checkpoint"), on_step=on_step)


def by_penstock(spark: SparkSession, setting: Setting, where: Path) -> Run:
    """Run all windows of a case in one query."""
    steps = StepTimes()
    query = penstock_query(spark, setting, where, steps)
    half = last_half(spark, query._spark_query, setting)
    query.stop()
    results = _results(spark, setting, [where / "out"])
    return measured([half], results, steps.medians(half.numbers))


def by_spark(spark: SparkSession, setting: Setting, where: Path) -> Run:
    """Run one native query for each window, one after another."""
    halves, outs = [], []
    for number, span in enumerate(setting.case.windows):
        rows = stream(spark, setting.case).withWatermark("ts", WATERMARK)
        windows = rows.groupBy(F.window("ts", span.length, span.every), "k")
        result = windows.agg(F.count("*").alias("n"), F.sum("v").alias("s"), F.max("v").alias("m"))
        writer = result.writeStream.outputMode("append").format(setting.sink)
        if setting.sink == "parquet":
            outs.append(where / f"out-{number}")
            writer = writer.option("path", str(outs[-1]))
        query = writer.option("checkpointLocation", str(where / f"checkpoint-{number}")).start()
        halves.append(last_half(spark, query, setting))
        query.stop()
    return measured(halves, _results(spark, setting, outs), {})


WAYS: Mapping[str, Callable[[SparkSession, Setting, Path], Run]] = {
    "penstock": by_penstock,
    "spark": by_spark,
}


def run_once(way: str, setting: Setting) -> Run:
    """Run a case one way, in this process."""
    where = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    try:
        spark = session(setting)
        try:
            return WAYS[way](spark, setting, where)
        finally:
            spark.stop()
    finally:
        shutil.rmtree(where, ignore_errors=True)


def last_half(spark: SparkSession, query: StreamingQuery, setting: Setting) -> Half:
    """Wait until a query has run long enough."""
    java: Any = query._jsq
    until = time.perf_counter() + setting.seconds
    seen: dict[int, float] = {}
    while query.isActive:
        last = java.lastProgress()
        done = 0 if last is None else last.batchId()
        seen.setdefault(done, cpu_seconds(spark))
        if done >= setting.batches and time.perf_counter() >= until:
            first = min(number for number in seen if number >= done // 2)
            cpu_ms = (seen[done] - seen[first]) / (done - first) * 1_000
            return Half(query, range(done // 2, done), cpu_ms)
        time.sleep(LOOK_EVERY_SECONDS)
    raise RuntimeError(f"the query ended by itself: {query.exception()}")


def cpu_seconds(spark: SparkSession) -> float:
    """Return the CPU time that this process and its JVM have used; no other takes part."""
    jvm: Any = spark._jvm
    spent = jvm.java.lang.ProcessHandle.current().info().totalCpuDuration().get().toMillis()
    return float(spent) / 1_000 + time.process_time()


def measured(halves: list[Half], results: list[float], steps_ms: Mapping[str, float]) -> Run:
    """Read Spark's progress reports; times of queries that ran one after another are added up."""
    times, empty = [], 0
    durations: dict[str, float] = defaultdict(float)
    for half in halves:
        reports = {p.batchId: p for p in half.query.recentProgress if "addBatch" in p.durationMs}
        chosen = [reports[number] for number in half.numbers]
        times.append([float(report.durationMs["triggerExecution"]) for report in chosen])
        empty += sum(report.numInputRows == 0 for report in chosen)
        for name in chosen[0].durationMs:
            durations[name] += statistics.median(r.durationMs.get(name, 0) for r in chosen)
    batch_ms = [sum(each) for each in zip(*times, strict=False)]
    cpu_ms = sum(half.cpu_ms for half in halves)
    return Run(batch_ms, cpu_ms, empty, dict(durations), dict(steps_ms), results)


class StepTimes:
    """Takes the time between the steps of Penstock's micro-batches."""

    def __init__(self) -> None:
        self._last_seconds = time.perf_counter()
        self._batch_id = -1
        self._ms: dict[str, dict[int, float]] = defaultdict(dict)

    def __call__(self, step: Step, batch_id: int) -> None:
        """Note that a step of a micro-batch is done."""
        now = time.perf_counter()
        name: str = step.value
        if step is Step.WINDOWS:
            is_second = batch_id in self._ms["partials"]
            name = "close" if is_second else "partials"
        elif batch_id != self._batch_id:
            name = "between batches"
        self._ms[name][batch_id] = (now - self._last_seconds) * 1_000
        self._last_seconds, self._batch_id = now, batch_id

    def medians(self, numbers: range) -> dict[str, float]:
        """Return the median of each step of some micro-batches."""
        return {
            name: statistics.median(times[number] for number in numbers if number in times)
            for name, times in self._ms.items()
            if any(number in times for number in numbers)
        }


def _results(spark: SparkSession, setting: Setting, outs: list[Path]) -> list[float]:
    """Sum up what was written, to see that all ways give the same."""
    if setting.sink != "parquet":
        return []
    # The native query gives the windows that a batch closes with the next one.
    passed = EPOCH_SECONDS + (setting.batches - 2) * setting.case.batch_event_seconds
    totals = [0.0] * 4
    for out in outs:
        rows = spark.read.parquet(str(out)).filter(F.unix_timestamp("window.end") <= passed)
        found = rows.agg(F.count("*"), F.sum("n"), F.sum("s"), F.sum("m")).first()
        assert found is not None
        totals = [a + float(b or 0) for a, b in zip(totals, found, strict=True)]
    return totals


def _noop(df: DataFrame, batch_id: int) -> None:
    df.write.format("noop").mode("overwrite").save()


def _spec(span: Span) -> ps.WindowSpec:
    if span.length == span.every:
        return ps.tumbling(span.length)
    return ps.sliding(span.length, span.every)
