from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from penstock import demo
from penstock.cli import run_demo
from penstock.cli.progress import PlainProgress
from penstock.cli.run_record import RunRecord
from penstock.cli.watching import watch
from penstock.demo.directory import MARK
from penstock.demo.job import FULL_SCALE, SEED, SENSORS, Load
from penstock.elasticity.decision import Decision
from penstock.errors import ConfigurationError
from penstock.journal.events import DecisionMade
from penstock.sources import KeyCost, NoDelay
from penstock.sources.rows import RowMaker
from penstock.sources.schedule import Schedule

FREE = KeyCost(low_ms=0.0, high_ms=0.0)
LIMIT_SECONDS = 240
# Five seconds from here, and a watermark two behind, close ten seconds of the clock.
ORIGIN = "2026-01-01T00:00:08Z"


def rows_of(load: Load) -> list[tuple[int, float]]:
    """Make the load's rows without Spark: their sensors and values."""
    maker = RowMaker(Schedule(load.trace), SENSORS, NoDelay(), load.cost, SEED, origin_micros=0)
    rows = pa.Table.from_batches(maker.batches(0, load.trace.rows))
    return list(zip(rows["key"].to_pylist(), rows["value"].to_pylist(), strict=True))


def json_lines(directory: Path) -> list[dict[str, object]]:
    return [
        json.loads(line)
        for file in sorted(directory.glob("batch_id=*/*.json"))
        for line in file.read_text().splitlines()
    ]


def check_peaks(peaks: list[dict[str, Any]], readings: list[dict[str, Any]]) -> None:
    """Hold every window's peaks against a look back from its newest reading for ever hotter ones.

    All of the load is one micro-batch, so that no reading is late.
    """
    windows = {(row["window"]["start"], row["window"]["end"]) for row in peaks}
    assert len(windows) > 3
    for start, end in windows:
        inside = [row for row in readings if start <= row["ts"] < end]
        highest, expected = -1.0, []
        for row in sorted(inside, key=lambda row: (row["ts"], row["celsius"]), reverse=True):
            if row["celsius"] > highest:
                highest = row["celsius"]
                expected.append((row["ts"], row["sensor"], row["celsius"]))
        found = [
            (row["ts"], row["sensor"], row["celsius"])
            for row in peaks
            if (row["window"]["start"], row["window"]["end"]) == (start, end)
        ]
        assert sorted(found) == sorted(expected)


def check_rows(load: Load, out: Path) -> dict[str, int]:
    """Hold what is in the demo's files against the load; return how many rows each sink has."""
    rows = rows_of(load)
    good = [(sensor, 120 * value - 20) for sensor, value in rows if value <= FULL_SCALE]
    kept = Counter(row for row in good if row[1] >= 0)
    hot = Counter(row for row in good if row[1] >= 90)
    failed = len(rows) - len(good)
    assert failed > 0
    assert hot

    readings = pq.read_table(out / "readings").to_pylist()
    assert Counter((each["sensor"], each["celsius"]) for each in readings) == kept
    alarms = json_lines(out / "alarms")
    assert Counter((each["sensor"], each["celsius"]) for each in alarms) == hot
    windows = pq.read_table(out / "windows").to_pylist()
    check_windows(windows, readings)
    peaks = pq.read_table(out / "peaks").to_pylist()
    check_peaks(peaks, readings)
    counts = {"windows": len(windows), "peaks": len(peaks)}
    return counts | {"readings": kept.total(), "alarms": hot.total(), "unread": failed}


def check_windows(windows: list[dict[str, Any]], readings: list[dict[str, Any]]) -> None:
    """Hold every ten seconds of a site that were over against the readings in them."""
    tens = [row for row in windows if row["window_name"] == "10 seconds"]
    newest = max(row["window"]["end"] for row in tens)
    sums: dict[tuple[str, datetime], list[float]] = {}
    for row in readings:
        start = row["ts"] - timedelta(
            seconds=row["ts"].second % 10, microseconds=row["ts"].microsecond
        )
        if start + timedelta(seconds=10) <= newest:
            sums.setdefault((row["site"], start), []).append(row["celsius"])
    assert {(row["site"], row["window"]["start"]): row["readings"] for row in tens} == {
        window: len(inside) for window, inside in sums.items()
    }
    assert all(0 <= row["mean"] <= row["p99"] <= 100 for row in windows)


class TestJob:
    def test_every_row_ends_where_it_should(self, spark: SparkSession, tmp_path: Path) -> None:
        load = Load(seconds=5, rate=200.0, cost=FREE, origin=ORIGIN)
        query = demo.start(spark, load, tmp_path / "out", available_now=True)
        lines: list[str] = []
        names = [output.name for output in query.topology.outputs]
        record, by_ctrl_c = watch(query, PlainProgress(names, lines.append))

        written = check_rows(load, tmp_path / "out")
        there = demo.read_back(query, spark)
        assert written.items() <= there.items()
        assert {name: record.rows_out[name] for name in written} == written
        png = run_demo.draw_newest(Path(query.journal_dir), tmp_path / "out" / "skyline.png")
        assert png is not None
        assert png.read_bytes().startswith(b"\x89PNG")
        assert (record.rows_in, record.failed_rows) == (load.trace.rows, written["unread"])
        assert len(lines) == record.batches > 0
        assert not by_ctrl_c

    def test_read_back_finds_nothing_in_empty_directories(
        self, spark: SparkSession, tmp_path: Path
    ) -> None:
        query = demo.start(spark, Load(seconds=1, rate=1.0, cost=FREE), tmp_path / "out")
        query.stop()
        for name in ("readings", "alarms", "unread"):
            for batch in (tmp_path / "out" / name).glob("batch_id=*/*"):
                batch.unlink()
        assert set(demo.read_back(query, spark).values()) == {0}

    def test_a_bad_reading_says_which_sensor(self) -> None:
        with pytest.raises(ValueError, match=r"sensor 4 reads 0.9990, above full scale"):
            demo.look_up({"key": 4, "value": 0.999, "cost_ms": 0.0, "ts": None})


class TestLoad:
    @given(st.integers(1, 600), st.floats(1.0, 10_000.0))
    def test_rate_is_the_average(self, seconds: int, rate: float) -> None:
        assert Load(seconds, rate).trace.rows == pytest.approx(rate * seconds, rel=0.01, abs=1)

    def test_three_bursts_the_last_well_before_the_end(self) -> None:
        counts = Load(60, 250.0).trace.counts
        high = [second for second, count in enumerate(counts) if count > 2 * 250]
        assert high[-1] < 54
        bursts = 1 + sum(after - before > 1 for before, after in pairwise(high))
        assert bursts == 3


class TestDirectory:
    def test_own_output_is_replaced_and_a_neighbour_is_left(self, tmp_path: Path) -> None:
        out = tmp_path / "out"
        with demo.claim(out) as directory:
            (directory / "readings").mkdir()
            (directory / "spark.log").write_text("old")
            (directory / "notes.txt").write_text("mine")
        with demo.claim(out) as directory:
            assert sorted(path.name for path in directory.iterdir()) == [MARK, "notes.txt"]

    def test_foreign_directory_is_refused_and_left(self, tmp_path: Path) -> None:
        (tmp_path / "thesis.tex").write_text("42")
        with pytest.raises(ConfigurationError, match=r"did not write, such as thesis.tex.*--out"):
            demo.claim(tmp_path).__enter__()
        assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]

    def test_empty_directory_is_taken(self, tmp_path: Path) -> None:
        with demo.claim(tmp_path) as directory:
            assert directory == tmp_path

    def test_file_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "out").write_text("")
        with pytest.raises(ConfigurationError, match="is a file"):
            demo.claim(tmp_path / "out").__enter__()

    def test_two_demos_do_not_share(self, tmp_path: Path) -> None:
        with (
            demo.claim(tmp_path / "out"),
            pytest.raises(ConfigurationError, match="another demo is writing"),
        ):
            demo.claim(tmp_path / "out").__enter__()

    def test_keep_takes_the_next_name(self, tmp_path: Path) -> None:
        names = []
        for _ in range(3):
            with demo.claim(tmp_path / "out", keep=True) as directory:
                names.append(directory.name)
        assert names == ["out", "out-2", "out-3"]


class TestEnough:
    def test_all_rows_are_enough(self) -> None:
        is_enough = run_demo.Enough(10, 60.0, clock=lambda: 0.0)
        assert not is_enough(RunRecord(batches=1, rows_in=9))
        assert is_enough(RunRecord(batches=2, rows_in=10))

    def test_time_counts_from_the_first_batch(self) -> None:
        now = [0.0]
        is_enough = run_demo.Enough(10, 60.0, clock=lambda: now[0])
        now[0] = 100.0
        assert not is_enough(RunRecord())
        assert not is_enough(RunRecord(batches=1))
        now[0] = 159.0
        assert not is_enough(RunRecord(batches=1))
        now[0] = 160.0
        assert is_enough(RunRecord(batches=1))


def shown(read_back: int) -> run_demo.Shown:
    record = RunRecord(
        batches=3,
        rows_in=100,
        failed_rows=2,
        rows_out={"readings": 98},
        decisions=(DecisionMade(4, Decision(2, "quiet hour")),),
    )
    return run_demo.Shown(
        record=record,
        by_ctrl_c=False,
        out=Path("/demo"),
        paths={"readings": "/demo/readings"},
        read_back={"readings": read_back},
        offered_rows=100,
        stream_seconds=5.2,
        skyline=Path("/demo/skyline.png"),
    )


def test_summary_says_what_is_in_the_files_and_why() -> None:
    text = run_demo.as_text(shown(98))
    assert "3 micro-batches took 100 of 100 rows, 2 failed" in text
    assert "98 rows, all there  /demo/readings" in text
    assert "from batch 5: 2 slots (quiet hour)" in text
    assert "the skyline      /demo/skyline.png" in text
    assert "97 IN THE FILES" in run_demo.as_text(shown(97))


def test_summary_leaves_out_decisions_that_changed_nothing() -> None:
    made = [
        DecisionMade(n, Decision(slots, f"reason {n}")) for n, slots in enumerate([4, 4, 6, 6, 4])
    ]
    assert [batch_id for batch_id, _ in run_demo.changes(made)] == [0, 2, 4]
    assert run_demo.changes([]) == []


def test_summary_tells_why_slots_were_kept() -> None:
    demands = [1.0, 2.0, 9.0, 3.0]
    made = [
        DecisionMade(n, Decision(8, f"reason {n}", demand_slots=demand))
        for n, demand in enumerate(demands)
    ]
    assert [each.batch_id for each in run_demo.most_and_last_kept(made)] == [2, 3]
    assert [each.batch_id for each in run_demo.most_and_last_kept(made[:3])] == [2]
    assert run_demo.most_and_last_kept(made[:1]) == run_demo.most_and_last_kept([]) == []


class Started:
    """A demo in a session of its own, so that every process it starts can be found."""

    def __init__(self, directory: Path, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "penstock", "demo", "--master", "local[2]", *arguments],
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def wait_for_line(self, start: str) -> None:
        assert self.process.stdout is not None
        alarm = threading.Timer(LIMIT_SECONDS, self.process.kill)
        alarm.start()
        try:
            assert any(line.startswith(start) for line in self.process.stdout)
        finally:
            alarm.cancel()

    def processes(self) -> list[int]:
        """Find what is left of the session, by /proc's sixth field."""
        left = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == self.process.pid and fields[0] != "Z":
                left.append(int(stat.parent.name))
        return left


@contextmanager
def started(directory: Path, *arguments: str) -> Iterator[Started]:
    run = Started(directory, *arguments)
    try:
        yield run
    finally:
        for process in run.processes():
            os.kill(process, signal.SIGKILL)
        run.process.communicate()


@pytest.mark.slow
class TestDemo:
    def test_it_runs_to_its_end(self, tmp_path: Path) -> None:
        with started(tmp_path, "--seconds", "20", "--json") as run:
            told, complaints = run.process.communicate(timeout=LIMIT_SECONDS)
            assert (run.process.returncode, complaints) == (0, "")
            assert run.processes() == []
        outcome = json.loads(told)
        assert outcome["offered_rows"] == 5000
        # A machine that is busy with something else ends it by the clock.
        patience = 20 + run_demo.PATIENCE_SECONDS
        assert outcome["rows"] == 5000 or outcome["stream_seconds"] >= patience
        assert outcome["failed_rows"] > 0
        assert not outcome["stopped_by_ctrl_c"]
        for output in outcome["outputs"]:
            # Whether a row comes too late depends on where the batches were cut.
            at_least = 0 if output["name"] == "late" else 1
            assert output["rows"] == output["rows_read_back"] >= at_least
            assert Path(output["path"]).parent == tmp_path / "penstock-demo"
        assert Path(outcome["skyline"]).read_bytes().startswith(b"\x89PNG")
        assert outcome["decisions"][0]["from_batch"] == 0
        assert "Using incubator modules" in Path(outcome["spark_log"]).read_text()

    def test_ctrl_c_ends_it_cleanly(self, tmp_path: Path) -> None:
        with started(tmp_path, "--seconds", "600") as run:
            run.wait_for_line("batch 0:")
            # To the whole group, as a terminal does.
            os.killpg(run.process.pid, signal.SIGINT)
            told, complaints = run.process.communicate(timeout=LIMIT_SECONDS)
            assert (run.process.returncode, complaints) == (0, "")
            assert run.processes() == []
        assert "Ctrl-C ended it" in told
        assert "IN THE FILES" not in told
        readings = pq.read_table(tmp_path / "penstock-demo" / "readings")
        assert f" {readings.num_rows:,} rows, all there" in told

    def test_second_ctrl_c_breaks_it_off(self, tmp_path: Path) -> None:
        with started(tmp_path, "--seconds", "600") as run:
            run.wait_for_line("batch 0:")
            os.killpg(run.process.pid, signal.SIGINT)
            run.wait_for_line("Stopping")
            os.killpg(run.process.pid, signal.SIGINT)
            _, complaints = run.process.communicate(timeout=LIMIT_SECONDS)
            assert (run.process.returncode, complaints) == (130, "penstock: broken off\n")
            assert run.processes() == []


def test_no_java_is_one_sentence(tmp_path: Path) -> None:
    bad_java = {**os.environ, "JAVA_HOME": str(tmp_path / "nowhere")}
    ran = subprocess.run(
        [sys.executable, "-m", "penstock", "demo", "--seconds", "5"],
        cwd=tmp_path,
        env=bad_java,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert ran.returncode == 2
    assert ran.stderr.startswith("penstock: Spark did not start: java: ")
    assert "Install Java 17" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1
