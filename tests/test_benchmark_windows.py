from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from pyspark.sql import SparkSession
from windows_cases import CASES, Case, Span
from windows_flat import Course, line, slopes
from windows_runs import Setting, by_penstock, by_spark

from benchmark_module import benchmark_module

TINY = Case("tiny", (Span("40 seconds", "10 seconds"),), 200, 5, 20, 40)


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    return benchmark_module("windows")


def test_command_line(benchmark: ModuleType) -> None:
    options = benchmark.parsed([])
    assert options.case == list(CASES)
    assert options.batches >= benchmark.LEAST_BATCHES
    options = benchmark.parsed(["--json", "--case", "five", "flat", "--batches", "30"])
    assert (options.json, options.case, options.batches) == (True, ["five", "flat"], 30)


def test_ways_that_differ_are_refused(benchmark: ModuleType) -> None:
    benchmark._check_same({"penstock": [3.0, 1e12], "spark": [3.0, 1e12 + 1e-3]})
    with pytest.raises(RuntimeError, match="differ"):
        benchmark._check_same({"penstock": [3.0, 10.0], "spark": [3.0, 11.0]})


def test_both_ways_give_the_same_windows(spark: SparkSession, tmp_path: Path) -> None:
    setting = Setting(TINY, batches=4)
    ours = by_penstock(spark, setting, tmp_path / "penstock")
    native = by_spark(spark, setting, tmp_path / "spark")
    # Windows end every 10 s, from 10 s after the history's start to two batches after its end; a
    # row comes every 0.2 s in the history and every 0.1 s after it, and each is in four windows.
    assert ours.results[0] == 5 * 8
    assert ours.results == native.results
    # The watcher may look when more batches are done; the last half is never less than this.
    assert min(len(ours.batch_ms), len(native.batch_ms)) >= 2
    assert {"partials", "close", "sinks", "commit"} <= set(ours.steps_ms)


def test_a_line_through_noise() -> None:
    slope = line(np.arange(100.0), 7 + 0.5 * np.arange(100.0))
    assert slope.rise == pytest.approx(500)
    assert slope.standard_error == pytest.approx(0, abs=1e-9)
    noise = np.tile([1.0, -1.0], 50)
    slope = line(np.arange(100.0), 7 + noise)
    assert abs(slope.rise) < 2 * slope.standard_error


def test_a_course_that_rises_is_seen() -> None:
    sampled = list(range(10, 200, 10))
    flat = [5.0] * len(sampled)
    course = Course(
        {n: 100.0 + n for n in range(200)}, sampled, [4] * len(sampled), sampled, flat, flat
    )
    found = slopes(course)
    assert found["batch ms"].rise == pytest.approx(1_000)
    assert found["files in the checkpoint"].rise == pytest.approx(1_000)
    assert found["segments"].rise == 0
