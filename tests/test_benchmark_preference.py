from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from preference_check import windows_with_rows
from preference_feed import ATTRIBUTES, ORIGIN_MICROS, Feed, attribute_columns, feed, present
from preference_outcome import Course, Step, course
from preference_paper import PUBLISHED
from preference_run import Played
from pyspark.sql import SparkSession

from benchmark_module import benchmark_module
from penstock.elasticity.observation import Observation, SourceObservation
from penstock.journal import (
    BatchFinished,
    Event,
    FaultSeen,
    PanesSplit,
    RowsLate,
    WindowTasks,
)
from penstock.sources import NoDelay, Trace

SYNTHETIC = [name for name in PUBLISHED if not name.startswith("Game")]
BENCHMARK = Path(__file__).parent.parent / "benchmarks" / "preference_streams.py"


@pytest.mark.parametrize("name", SYNTHETIC)
def test_streams_have_the_printed_rate(name: str) -> None:
    made = feed(name, 20, scale=0.5)
    assert made.rate == pytest.approx(PUBLISHED[name].rate / 2, rel=1e-4)
    assert made.seconds == 20
    # The closing row is one more, due when the stream ends.
    assert made.trace.counts[-1] == 1
    assert made.trace.rows == made.rows + 1


def test_bursts_are_bursts() -> None:
    """More of a burst comes in a tenth of a second with a higher index of dispersion."""
    spread = {}
    for name in ("MAP-1K", "MAP-4K"):
        counts = np.array(feed(name, 40).trace.counts[:-1]).reshape(-1, 10).sum(axis=1)
        spread[name] = counts.std() / counts.mean()
    assert 0.2 < spread["MAP-1K"] < spread["MAP-4K"]


def test_a_match_is_played_from_its_start(tmp_path: Path) -> None:
    (tmp_path / "ppq_game1.txt").write_text("0 100\n1 300\n2 900\n")
    game = feed("Game1", 2, data=tmp_path)
    assert game.seconds == 2
    first, second, _ = game.trace.counts
    assert second == pytest.approx(3 * first, abs=3)
    assert game.rate == pytest.approx(PUBLISHED["Game1"].rate, rel=1e-3)
    assert present(["RW", "Game1", "Game2"], tmp_path) == ["RW", "Game1"]
    assert present(["RW", "Game1"], None) == ["RW"]


def test_the_closing_row_alone_is_ahead_in_event_time(spark: SparkSession) -> None:
    few = Feed("few", Trace((1_000_000, 1), (2, 1)), NoDelay())
    rows = spark.range(3).selectExpr("id", "timestamp_seconds(100 + id) AS ts")
    times = rows.selectExpr(*few.columns()).orderBy("id").selectExpr("unix_seconds(ts) AS s")
    assert [row.s for row in times.collect()] == [100, 101, 105]


@pytest.mark.slow
def test_event_times_are_those_of_the_live_rows(spark: SparkSession) -> None:
    short = feed("RW", 1, scale=0.02)
    query = (
        short.live(spark, partitions=2)
        .writeStream.format("memory")
        .queryName("fed")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    rows = spark.table("fed").orderBy("id").selectExpr("id", "unix_micros(ts) AS micros").toArrow()
    micros = rows["micros"].to_numpy()
    assert np.array_equal(micros[:-1], short.event_micros())
    assert len(micros) == short.trace.rows
    assert 3_600_000 < micros[-1] - ORIGIN_MICROS <= 4_000_000


def test_attributes_are_uniform_and_independent(spark: SparkSession) -> None:
    rows = spark.range(20_000).selectExpr(*attribute_columns()).toArrow()
    values = np.column_stack([rows[name].to_numpy() for name in ATTRIBUTES])
    assert values.min() >= 0
    assert values.max() < 1
    assert np.allclose(values.mean(axis=0), 0.5, atol=0.01)
    assert np.abs(np.corrcoef(values.T) - np.eye(len(ATTRIBUTES))).max() < 0.03


#   seconds  100          102          104 |        106   stream of 4 s
#   batches        |5 rows, 2 windows  |    |3, 6 windows |1 row, no windows
EVENTS: list[Any] = [
    RowsLate(0, "windows", 2),
    PanesSplit(0, "panes", 5, 2.0, 100.0, 1.5, 0.8, 2),
    WindowTasks(0, "windows", 2, 9, 7, 1, 2, 0.5, 0.1),
    FaultSeen(0, "policy failed", "no idea"),
    BatchFinished(Observation(0, 101.0, 0.9, None, 2, (), (SourceObservation("s", 5),))),
    PanesSplit(1, "panes", 5, 1.0, None, 1.5, 1.2, 1),
    BatchFinished(Observation(1, 104.5, 3.0, None, 4, (), (SourceObservation("s", 3),))),
    BatchFinished(Observation(2, 106.0, 0.2, None, 4, (), (SourceObservation("s", 1),))),
    PanesSplit(3, "panes", 5, 1.0, None, 1.5, 1.2, 1),  # a batch that was broken off
]


def seen() -> Course:
    events = [Event(number, 0.0, body) for number, body in enumerate(EVENTS)]
    return course(events, {0: 2, 1: 6}, start_seconds=100.0, lasts_seconds=4.0)


def test_a_run_ends_with_its_last_window() -> None:
    run = seen()
    assert [step.batch_id for step in run.steps] == [0, 1, 2]
    assert run.end_seconds == 104.5
    assert run.extra_percent == pytest.approx(12.5)
    assert run.windows_per_second().tolist() == [0, 2, 0, 0, 6]
    assert run.variation == pytest.approx(np.std([0, 2, 0, 0, 6]) / 1.6)
    assert run.faults == ("policy failed: no idea",)


def test_a_step_has_what_the_journal_says_of_its_batch() -> None:
    first, second, third = seen().steps
    assert first == Step(
        batch_id=0,
        committed_seconds=101.0,
        batch_seconds=0.9,
        rows=5,
        windows=2,
        slots=2,
        late_rows=2,
        pane_utilisation=0.8,
        window_utilisation=0.5,
        parts_per_pane=2.0,
        threshold_rows=100.0,
        alpha=1.5,
        pane_tasks=2,
        window_tasks=2,
        updates=7,
        merges=1,
    )
    assert (second.window_utilisation, second.threshold_rows) == (None, None)
    assert (third.rows, third.windows) == (1, 0)


def test_means_are_by_time() -> None:
    run = seen()
    assert run.mean(lambda step: step.pane_utilisation) == pytest.approx((0.8 + 1.2 * 3.5) / 4.5)
    assert run.mean(lambda step: float(step.slots)) == pytest.approx((2 + 4 * 5) / 6)
    assert np.isnan(run.mean(lambda step: None))


def test_windows_that_the_closing_row_ended_have_no_latency() -> None:
    committed = {-800_000: 100.9, 3_000_000: 104.5, 3_200_000: 104.5}
    played = Played(seen(), {}, committed, cpu_seconds=0.0)
    assert played.latencies() == pytest.approx([0.7, 0.5])


def test_windows_with_rows() -> None:
    some = Feed("some", Trace((1_000_000, 1), (1, 1)), NoDelay())
    assert windows_with_rows(some.event_micros() - ORIGIN_MICROS) == {
        -800_000,
        -600_000,
        -400_000,
        -200_000,
        0,
    }
    assert windows_with_rows(np.array([-1])) == {-1_000_000, -800_000, -600_000, -400_000, -200_000}


def test_the_highest_rate_is_found_by_doubling_and_bisection() -> None:
    """A stream that is held up to 2.6 times its rate."""
    benchmark = benchmark_module("preference_streams")

    class Bench:
        def run(self, stream: str, question: object, way: str, scale: float) -> SimpleNamespace:
            row = {"extra_percent": 1.0 if scale <= 2.6 else 9.0, "scale": scale}
            return SimpleNamespace(row=row)

    tried = benchmark.highest_rate(Bench(), "RW", benchmark.Question(), tries=6)
    assert [run.row["scale"] for run in tried] == [1.0, 2.0, 4.0, 3.0, 2.5, 2.75]


def test_what_the_paper_printed_is_beside_what_was_measured() -> None:
    benchmark = benchmark_module("preference_streams")
    numbers = dict.fromkeys(
        ("rows_per_second", "extra_percent", "rho_panes", "rho_windows", "parts", "pane_tasks"), 1.0
    )
    numbers |= dict.fromkeys(("window_tasks", "windows_per_second", "cv", "cpu_s_per_s"), 2.0)
    numbers |= {"latency_p50_s": 0.25, "latency_p95_s": 0.5}
    counts = {"windows": 7, "missing": 1, "wrong": 2, "compared": 3}
    row = {"stream": "RW", "query": "top_dominant", "way": "pid", **numbers, **counts}
    shown = benchmark.as_shown(benchmark.beside_the_paper(row))
    assert shown["extra %"] == "1.00 / 0.44"
    assert shown["tasks"] == "1.0 + 2.0 / 2.61 + 17"
    assert (shown["windows"], shown["missing"], shown["wrong"]) == ("7", "1", "2 of 3")
    # A plain count has no row in the paper.
    assert benchmark.as_shown(benchmark.beside_the_paper(row | {"query": "count"}))["CV"] == "2.00"
    head, line, first = benchmark.as_markdown([shown]).splitlines()
    assert head.startswith("| stream | query | way | rows/s |")
    assert line.startswith("| --- | --- | --- | ---: |")
    assert first.startswith("| RW | top_dominant | pid | 1 |")


def test_stressors_run_one_after_another_and_are_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "started")
    told = os.open(tmp_path / "started", os.O_RDWR)
    program = tmp_path / "stress-ng"
    program.write_text(f'#!/bin/sh\necho "$$ $*" >> {tmp_path}/started\nexec sleep 600\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    interference = benchmark_module("preference_interference")
    text = ""
    with interference.stressed(threads=2):
        while text.count("\n") < 2 and select.select([told], [], [], 60)[0]:
            text += os.read(told, 4096).decode()
    os.close(told)
    lines = [line.split() for line in text.splitlines()]
    pids, names = [line[0] for line in lines], {line[2].removeprefix("--") for line in lines}
    assert len(pids) == 2
    assert names <= set(interference.STRESSORS)
    assert not any(Path("/proc", pid).exists() for pid in pids)


@pytest.mark.slow
@pytest.mark.parametrize("query", ["skyline", "top_dominant"])
def test_a_short_stream_comes_out_whole(query: str) -> None:
    command = [sys.executable, str(BENCHMARK), "--streams", "RW", "--queries", query, "--json"]
    ran = subprocess.run(
        [*command, "--seconds", "6"], capture_output=True, text=True, check=False, timeout=300
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    (row,) = json.loads(ran.stdout)["results"]
    assert (row["missing"], row["surplus"], row["wrong"], row["faults"]) == (0, 0, 0, 0)
    assert row["compared"] == 3
    assert row["windows"] >= 6 * 5
    assert row["rho_panes"] > 0
    assert row["parts"] >= 1
