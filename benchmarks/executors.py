"""Executors for a burst: asked for ahead of it, and by Spark's own dynamic allocation.

A standalone cluster on this machine has one worker, with room for four executors of one core. A
stream of rows, each of which makes its operator wait, goes up a ramp to a peak that needs more than
three executors, stays there, and falls. The same topology runs with ``AutoScalePlus`` on
``ExecutorSlots``, and with four tasks in every batch under ``spark.dynamicAllocation``. Told are:
when four executors were there (seconds before the peak, negative: after it), executor-seconds, and
the latency of rows from their event time to their commit.

    python benchmarks/executors.py            # a table
    python benchmarks/executors.py --json
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from measuring import show
from pyspark import SparkContext
from pyspark.sql import SparkSession

import penstock as ps
from penstock import journal
from penstock.engine.cluster_view import ClusterView
from penstock.sources.patterns import trace_of_pattern

# The cluster is that of the tests.
sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "cluster"))
from standalone import cluster

MOST = 4
WAIT_SECONDS = 0.022
QUIET_RATE, PEAK_RATE = 15.0, 130.0
STEP_SECONDS = 2
EXECUTOR_IDLE_SECONDS = 10
START_SECONDS = 120


@dataclass(frozen=True)
class Burst:
    """The load over time: quiet, a ramp, the peak, quiet again."""

    quiet_seconds: int = 16
    ramp_seconds: int = 30
    peak_seconds: int = 14
    after_seconds: int = 28

    @property
    def seconds(self) -> int:
        """How long it takes."""
        return self.peak_at_seconds + self.peak_seconds + self.after_seconds

    @property
    def peak_at_seconds(self) -> int:
        """When the ramp ends."""
        return self.quiet_seconds + self.ramp_seconds

    def pattern(self) -> ps.sources.Steps:
        """Return it as a pattern of a source, the ramp in small steps."""
        steps = [(self.quiet_seconds, QUIET_RATE)]
        count = self.ramp_seconds // STEP_SECONDS
        for step in range(1, count + 1):
            rate = QUIET_RATE + (PEAK_RATE - QUIET_RATE) * step / (count + 1)
            steps.append((STEP_SECONDS, rate))
        steps += [(self.peak_seconds, PEAK_RATE), (self.after_seconds, QUIET_RATE)]
        return ps.sources.Steps(tuple(steps))


class AlwaysFour:
    """Four tasks in every batch, on whatever executors there are: the usual fixed partitions."""

    def available(self, context: SparkContext) -> int:
        """Return four."""
        return MOST


class Sampler:
    """Looks how many executors there are, four times a second."""

    def __init__(self, context: SparkContext) -> None:
        self.samples: list[tuple[float, int]] = []
        self._view = ClusterView(context)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._done.wait(0.25):
            self.samples.append((time.time(), len(self._view.executors())))

    def stop(self) -> None:
        """Look no more."""
        self._done.set()
        self._thread.join()

    def executor_seconds(self, start: float, end: float) -> float:
        """Add up how long executors were there."""
        inside = [(at, n) for at, n in self.samples if start <= at <= end]
        return sum((b - a) * n for (a, n), (b, _) in pairwise(inside))

    def first(self, executors: int, after: float) -> float | None:
        """Return when there were so many for the first time."""
        return next((at for at, n in self.samples if at >= after and n >= executors), None)


def session(master: str, **settings: str) -> SparkSession:
    builder = (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.executor.memory", "512m")
        .config("spark.executor.cores", "1")
        .config("spark.executor.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.sql.session.timeZone", "UTC")
    )
    for name, value in settings.items():
        builder = builder.config(name.replace("__", "."), value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def with_executor_slots(master: str) -> tuple[SparkSession, dict[str, Any]]:
    rails = ps.GuardRails(scale_in_cool_down="6 seconds", scale_in_after=2)
    policy = ps.AutoScalePlus(
        interval="4 seconds", horizon="15 seconds", window="30 seconds", start_slots=1, rails=rails
    )
    return session(master), {"policy": policy, "slots": ps.ExecutorSlots(min=1, max=MOST)}


def with_dynamic_allocation(master: str) -> tuple[SparkSession, dict[str, Any]]:
    spark = session(
        master,
        spark__dynamicAllocation__enabled="true",
        spark__dynamicAllocation__shuffleTracking__enabled="true",
        spark__dynamicAllocation__minExecutors="1",
        spark__dynamicAllocation__initialExecutors="1",
        spark__dynamicAllocation__maxExecutors=str(MOST),
        spark__dynamicAllocation__executorIdleTimeout=f"{EXECUTOR_IDLE_SECONDS}s",
        spark__dynamicAllocation__shuffleTracking__timeout=f"{EXECUTOR_IDLE_SECONDS}s",
    )
    return spark, {"policy": ps.Static(MOST), "slots": AlwaysFour()}


WAYS = {
    "ExecutorSlots, AutoScalePlus": with_executor_slots,
    "spark.dynamicAllocation": with_dynamic_allocation,
}


def measure(name: str, master: str, where: str, burst: Burst) -> dict[str, Any]:
    """Run the burst in one way and tell what came of it."""
    spark, ways = WAYS[name](master)
    sampler = Sampler(spark.sparkContext)
    try:
        warm_up(spark, where)
        begin_with_one(ClusterView(spark.sparkContext))
        query, start = begin(spark, where, burst, ways)
        end = start + burst.seconds
        time.sleep(max(0.0, end - time.time()))
        rows = trace_of_pattern(burst.pattern(), burst.seconds).rows
        deadline = time.monotonic() + START_SECONDS
        while committed(query.journal_dir) < rows and time.monotonic() < deadline:
            time.sleep(0.5)
        at_end = sampler.samples[-1][1]
        query.stop()
        told = latencies(spark, where, query.journal_dir)
    finally:
        sampler.stop()
        spark.stop()
    four = sampler.first(MOST, start)
    peak = start + burst.peak_at_seconds
    return {
        "way": name,
        "four_there_before_peak_s": None if four is None else round(peak - four, 1),
        "executor_seconds": round(sampler.executor_seconds(start, end), 1),
        "static_executor_seconds": float(MOST * burst.seconds),
        "executors_at_end": at_end,
        "rows": len(told),
        "rows_expected": rows,
        "latency_mean_s": statistics.fmean(told),
        "latency_p95_s": statistics.quantiles(told, n=20)[-1],
    }


def wait(row: dict[str, Any]) -> dict[str, Any]:
    time.sleep(WAIT_SECONDS)
    return row


def stream(spark: SparkSession, pattern: Any, seconds: int) -> ps.Stream:
    rows = ps.sources.generate(pattern, duration_seconds=seconds, partitions=1, spark=spark)
    return ps.Stream.read(rows).select("id", "ts").map(wait, "id bigint, ts timestamp")


def warm_up(spark: SparkSession, where: str) -> None:
    """Run a small query, so that neither way pays for what the driver does once."""
    query = ps.run(
        stream(spark, ps.sources.Steady(20), 2).to(ps.sinks.parquet(f"{where}/first")),
        checkpoint=f"{where}/first-checkpoint",
        available_now=True,
        policy=ps.Static(1),
    )
    query.await_termination(START_SECONDS)


def begin_with_one(view: ClusterView) -> None:
    """Give all executors back but one: a standalone cluster starts an application with all it has.

    Under dynamic allocation there is one already, or will be when the others were idle for long.
    """
    deadline = time.monotonic() + START_SECONDS
    while len(there := sorted(view.executors())) != 1 and time.monotonic() < deadline:
        view.request(1)
        view.release(there[1:])
        time.sleep(1)


def begin(
    spark: SparkSession, where: str, burst: Burst, ways: dict[str, Any]
) -> tuple[ps.Query, float]:
    """Start the query; return it and when its stream began."""
    query = ps.run(
        stream(spark, burst.pattern(), burst.seconds).to(ps.sinks.parquet(f"{where}/out")),
        checkpoint=f"{where}/checkpoint",
        trigger=f"{STEP_SECONDS} seconds",
        **ways,
    )
    deadline = time.monotonic() + START_SECONDS
    while committed(query.journal_dir) == 0 and time.monotonic() < deadline:
        time.sleep(0.1)
    first = spark.read.parquet(f"{where}/out").selectExpr("min(unix_micros(ts)) AS at").first()
    assert first is not None
    return query, first["at"] / 1e6


def finished(directory: str) -> list[journal.BatchFinished]:
    bodies = (event.body for event in journal.read(directory))
    return [body for body in bodies if isinstance(body, journal.BatchFinished)]


def committed(directory: str) -> int:
    return sum(body.observation.rows_in for body in finished(directory))


def latencies(spark: SparkSession, where: str, directory: str) -> list[float]:
    """Return, for every row, the seconds from its event time to the commit of its batch."""
    at = {body.observation.batch_id: body.committed_seconds or 0.0 for body in finished(directory)}
    rows = spark.read.parquet(f"{where}/out").selectExpr("batch_id", "unix_micros(ts) AS ts")
    return [at[int(row.batch_id)] - row.ts / 1e6 for row in rows.toLocalIterator()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--only", choices=list(WAYS), help="run one of the ways")
    chosen = parser.parse_args()
    results = []
    for name in [chosen.only] if chosen.only else list(WAYS):
        where = tempfile.mkdtemp(prefix="penstock-executors-")
        try:
            with cluster(Path(where) / "cluster", workers=1, cores=MOST, memory="3g") as master:
                results.append(measure(name, master, where, Burst()))
                print(results[-1], file=sys.stderr)
        finally:
            shutil.rmtree(where, ignore_errors=True)
    show(results, "executors for a burst", chosen.json)


if __name__ == "__main__":
    main()
