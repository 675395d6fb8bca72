"""Does a micro-batch cost the same after thousands of others: time, segments, files and memory."""

from __future__ import annotations

import gc
import json
import os
import shutil
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import SparkSession
from windows_runs import LOOK_EVERY_SECONDS, Setting, penstock_query, session

WARM_UP_SHARE = 0.1
BLOCKS = 40
SAMPLES = 80
# Spark remembers its last jobs for a web page; here they would look like a leak of the first hour.
FORGETFUL = {
    "spark.sql.streaming.numRecentProgressUpdates": "100",
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "100",
    "spark.sql.ui.retainedExecutions": "20",
}


@dataclass(slots=True)
class Course:
    """What was seen along the way; ``sampled`` numbers the batches after which memory was read."""

    batch_ms: dict[int, float] = field(default_factory=dict)
    sampled: list[int] = field(default_factory=list)
    segments: list[int] = field(default_factory=list)
    files: list[int] = field(default_factory=list)
    heap_mb: list[float] = field(default_factory=list)
    python_mb: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Slope:
    """A straight line through measurements: its mean, and its rise in 1,000 micro-batches."""

    mean: float
    rise: float
    standard_error: float


def measure(setting: Setting, plot: str | None) -> list[dict[str, Any]]:
    """Run the flat case; return a row for each thing that must not grow."""
    course = follow(setting)
    if plot is not None:
        data = Path(plot).with_suffix(".json")
        data.parent.mkdir(parents=True, exist_ok=True)
        data.write_text(json.dumps(asdict(course)))
        draw_if_possible(data, Path(plot))
    return [
        {
            "case": "flat",
            "way": "penstock",
            "what": what,
            "batches": setting.batches,
            "mean": slope.mean,
            "rise_in_1000_batches": slope.rise,
            "standard_error": slope.standard_error,
            "rise_percent": 100 * slope.rise / slope.mean,
        }
        for what, slope in slopes(course).items()
    ]


def follow(setting: Setting) -> Course:
    """Run the query and watch it."""
    where = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    course, every = Course(), max(1, setting.batches // SAMPLES)
    spark = session(setting, **FORGETFUL)
    try:
        query = penstock_query(spark, setting, where, None)
        java: Any = query._spark_query._jsq
        while (done := _done(java)) < setting.batches:
            if not query.is_active:
                raise RuntimeError(f"the query ended by itself: {query.exception()}")
            if done >= (course.sampled[-1] + every if course.sampled else every):
                _times(query._spark_query, course)
                _sample(spark, where, done, course)
            time.sleep(LOOK_EVERY_SECONDS)
        _times(query._spark_query, course)
        query.stop()
    finally:
        spark.stop()
        shutil.rmtree(where, ignore_errors=True)
    return course


def slopes(course: Course) -> dict[str, Slope]:
    """Fit a line to everything that was measured, after the warm-up.

    Times are taken as medians of blocks of batches: single ones hang together and have outliers.
    """
    last = max(course.batch_ms)
    first = int(last * WARM_UP_SHARE)
    blocks = np.array_split(np.arange(first, last + 1), min(BLOCKS, (last + 1 - first) // 2))
    seen = [[course.batch_ms[n] for n in block if n in course.batch_ms] for block in blocks]
    batches = np.array([block.mean() for block, ms in zip(blocks, seen, strict=True) if ms])
    found = {"batch ms": line(batches, np.array([np.median(ms) for ms in seen if ms]))}
    at = np.array(course.sampled)
    for what, values in (
        ("segments", course.segments),
        ("files in the checkpoint", course.files),
        ("heap after a collection, MB", course.heap_mb),
        ("Python, resident MB", course.python_mb),
    ):
        found[what] = line(at[at >= first], np.array(values, dtype=float)[at >= first])
    return found


def line(x: NDArray[Any], y: NDArray[Any]) -> Slope:
    """Fit a line by least squares."""
    centred = x - x.mean()
    spread = float(centred @ centred)
    slope = float(centred @ y) / spread
    left = y - y.mean() - slope * centred
    error = float(np.sqrt(left @ left / max(1, len(x) - 2) / spread))
    return Slope(float(y.mean()), slope * 1_000, error * 1_000)


def draw_if_possible(data: Path, picture: Path) -> None:
    """Draw the plot where matplotlib is installed; otherwise say how to draw it later."""
    try:
        from windows_plot import draw
    except ImportError:
        print(f"no matplotlib, no plot: python benchmarks/windows_plot.py {data} {picture}")
        return
    draw(data, picture)


def _done(java: Any) -> int:
    last = java.lastProgress()
    return -1 if last is None else int(last.batchId())


def _times(query: Any, course: Course) -> None:
    """Take the times of the batches that Spark still remembers."""
    for report in query.recentProgress:
        if "addBatch" in report.durationMs:
            course.batch_ms[report.batchId] = report.durationMs["triggerExecution"]


def _sample(spark: SparkSession, where: Path, batch_id: int, course: Course) -> None:
    records = sorted((where / "checkpoint/commits").glob("*.json"))
    windows = json.loads(records[-1].read_text())["windows"]
    course.sampled.append(batch_id)
    course.segments.append(sum(len(each["segments"]) for each in windows.values()))
    course.files.append(sum(len(files) for _, _, files in os.walk(where / "checkpoint")))
    course.heap_mb.append(_heap_mb(spark))
    course.python_mb.append(_resident_mb())


def _heap_mb(spark: SparkSession) -> float:
    """Return what the JVM's heap holds that is still in use."""
    gc.collect()  # Java keeps what Python still refers to
    jvm: Any = spark._jvm
    jvm.java.lang.System.gc()
    runtime = jvm.java.lang.Runtime.getRuntime()
    return float(runtime.totalMemory() - runtime.freeMemory()) / 1e6


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
