from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import soak_record
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from soak_check import compare_with
from soak_faults import DRIVER, EXECUTOR, KINDS, SINK, WORKER, Fault, inject, schedule
from soak_judging import BAD, GOOD, UNPROVEN, findings, judgement
from soak_plot import draw_curves
from soak_processes import Seen
from soak_record import Batch, Done, Files, Heap, Memory, Record, Writer
from soak_slopes import LEAST_POINTS, after_warm_up, theil_sen, trend
from soak_topology import BREAK_SINK, ORIGIN_MICROS, SoakLoad, outlets
from soak_watch import files_in, rows_taken

import penstock as ps
from benchmark_module import BENCHMARKS
from penstock.sources.rows import SPARK_SCHEMA


class TestSlope:
    def test_by_hand(self) -> None:
        # Slopes of the pairs: 1, 3/2, 8/3, 2, 7/2, 5; their median is (2 + 8/3) / 2.
        x, y = np.arange(4.0), np.array([0.0, 1.0, 3.0, 8.0])
        slope, low, high = theil_sen(x, y)
        assert slope == pytest.approx(7 / 3)
        # Sen: n = 4, N = 6, half of 1.959964 * sqrt(4 * 3 * 13 / 18) is 2.885, so all six.
        assert (low, high) == (1.0, 5.0)

    def test_interval_by_hand(self) -> None:
        # n = 10, N = 45, z * sqrt(10 * 9 * 25 / 18) = 21.91: from the 12th to the 34th of the
        # slopes in order, counted from 1 (11 and 34 from 0, rounded outwards).
        dice = np.random.default_rng(5)
        x, y = np.arange(10.0), dice.normal(size=10)
        slopes = sorted((y[j] - y[i]) / (j - i) for i in range(10) for j in range(i + 1, 10))
        assert theil_sen(x, y) == pytest.approx((slopes[22], slopes[11], slopes[34]))

    @given(st.floats(-50, 50), st.floats(-1_000, 1_000), st.integers(LEAST_POINTS, 300))
    def test_a_line_is_found_whatever_the_outliers(
        self, slope: float, start: float, points: int
    ) -> None:
        at = np.arange(points, dtype=float)
        values = start + slope * at
        assert trend(at, values).growth == pytest.approx(slope * (points - 1), abs=1e-6)
        values[points // 2] += 1e6
        assert trend(at, values).growth == pytest.approx(slope * (points - 1), abs=1e-6 + 60)

    def test_noise_is_flat_and_growth_in_noise_is_seen(self) -> None:
        noise = np.random.default_rng(1).normal(scale=3, size=600)
        at = np.arange(600.0)
        assert trend(at, 100 + noise).verdict(0.1) == "flat"
        assert trend(at, 100 + noise + 0.05 * at).verdict(0.1) == "grows"
        assert trend(at, 100 + 50 * noise).verdict(0.1) in ("flat", "unclear")

    def test_too_little_is_not_judged(self) -> None:
        assert trend([], []).verdict(0.1) == "too short"
        assert trend([1.0, 2.0], [1.0, 9.0]).verdict(0.1) == "too short"

    def test_warm_up_is_left_out(self) -> None:
        assert after_warm_up([0.0, 3.0, 6.0, 9.0], [9.0, 8.0, 7.0, 6.0], 1 / 3) == (
            [3.0, 6.0, 9.0],
            [8.0, 7.0, 6.0],
        )
        assert after_warm_up([], [], 0.5) == ([], [])


def record_of(grown: str = "") -> Record:
    """A record of 100 minutes in which nothing grows but what is named."""
    record = Record()
    for minute in range(100):
        at = 60.0 * minute
        more = {name: (minute if name == grown else 0) for name in ("rss", "heap", "files", "slow")}
        driver = Seen("driver_jvm", 1, 0.0, 900.0 + 5 * more["rss"])
        others = [Seen(kind, 9, 0.0, 80.0) for kind in ("driver_python", "executor", "worker")]
        record.take(Memory(at, (driver, *others, Seen("worker", 100 + minute, at, 80.0))))
        record.take(Heap(at, "driver_jvm", 1, 0.0, 100.0 + more["heap"]))
        record.take(Heap(at, "executor", 9, 0.0, 60.0))
        record.take(Files(at, 300 + 3 * more["files"], 1_000_000, 4, 5_000))
        record.take(Batch(at, minute, 2.0 + 0.1 * more["slow"], 100, 0, 2))
    for kind in KINDS:
        record.take(Done(10.0, kind, "as asked"))
    return record


def without(record: Record, kind: str) -> Record:
    """Take the processes of a kind out of a record."""
    for n, sample in enumerate(record.memory):
        others = tuple(each for each in sample.processes if each.kind != kind)
        record.memory[n] = Memory(sample.at, others)
    return record


class TestJudging:
    def test_nothing_grows(self) -> None:
        assert all(each.is_good for each in findings(record_of()))

    @pytest.mark.parametrize(
        ("grown", "what"),
        [
            ("rss", "driver, JVM: resident MB"),
            ("heap", "driver, JVM: heap after a collection, MB"),
            ("files", "checkpoint: files"),
            ("slow", "batch: seconds"),
        ],
    )
    def test_what_grows_is_named_alone(self, grown: str, what: str) -> None:
        assert [each.what for each in findings(record_of(grown)) if not each.is_good] == [what]

    def test_the_process_that_lived_longest_is_judged(self) -> None:
        record = without(record_of(), "executor")
        for minute in range(40, 100):
            record.take(Memory(60.0 * minute, (Seen("executor", 7, 1.0, 500.0),)))
        for minute in range(50):
            record.take(Memory(60.0 * minute, (Seen("executor", 6, 0.0, 500.0 + 20 * minute),)))
        found = {each.what: each for each in findings(record)}
        assert found["executor, JVM: resident MB"].verdict == "flat"
        assert found["executor, JVM: resident MB"].level == 500.0

    @pytest.mark.parametrize("kind", ["driver_jvm", "driver_python", "executor", "worker"])
    def test_a_kind_of_process_that_nobody_saw_is_bad(self, kind: str) -> None:
        bad = [each for each in findings(without(record_of(), kind)) if not each.is_good]
        assert [each.verdict for each in bad] == ["never seen"]

    def test_lives_too_short_to_tell_are_bad(self) -> None:
        record = without(record_of(), "worker")
        for minute in range(75):
            of_29_minutes = Seen("worker", minute // 30, 0.0, 80.0 + 30 * (minute % 30))
            record.take(Memory(60.0 * minute, (of_29_minutes,)))
        record.memory.sort(key=lambda each: each.at)
        bad = {each.what: each.verdict for each in findings(record) if not each.is_good}
        assert bad == {"Python worker: resident MB": "lived 1740 s at most"}

    def test_a_heap_that_nobody_looked_at_is_bad(self) -> None:
        record = record_of()
        record.heaps = [each for each in record.heaps if each.kind != "executor"]
        bad = {each.what: each.verdict for each in findings(record) if not each.is_good}
        assert bad == {"executor, JVM: heap after a collection, MB": "too short"}

    def test_a_driver_that_ended_unasked_is_bad(self) -> None:
        record = record_of()
        record.take(Done(5.0, "driver ended", "exit code 1", asked=False))
        bad = [each.what for each in findings(record) if not each.is_good]
        assert bad == ["drivers that ended unasked"]

    def test_a_fault_that_never_came_is_bad(self) -> None:
        record = record_of()
        record.done = [each for each in record.done if each.kind != SINK]
        assert [each.what for each in findings(record) if not each.is_good] == [f"fault: {SINK}"]


def scattered(record: Record) -> Record:
    """Let batch times rise and scatter so much that nobody can say whether they rise."""
    noise = np.random.default_rng(5).uniform(-14, 14, size=100)
    for minute in range(100):
        seconds = 20 + 0.06 * minute + float(noise[minute])
        record.take(Batch(60.0 * minute, minute, seconds, 100, 0, 2))
    return record


class TestJudgement:
    """A command's exit code: 0 for good, 1 for bad, 3 for what is not shown."""

    def test_flat_is_good(self) -> None:
        assert judgement(findings(record_of()), 7_200).exit_code == GOOD == 0

    def test_what_is_unclear_is_not_good_where_it_was_to_be_shown(self) -> None:
        found = findings(scattered(record_of()))
        (odd,) = [each for each in found if not each.is_good]
        assert (odd.what, odd.verdict) == ("batch: seconds", "unclear")
        assert odd.growth_percent > 10
        judged = judgement(found, 7_200)
        assert judged.exit_code == UNPROVEN == 3
        assert judged.sentence.startswith("Unclear: batch: seconds rose by more than 10%")
        assert "it is not shown that nothing grows" in judged.sentence

    def test_a_short_run_judges_only_clear_growth_and_says_so(self) -> None:
        judged = judgement(findings(scattered(record_of())), 600)
        assert judged.exit_code == GOOD
        assert "is not shown by 10 minutes" in judged.sentence
        assert "Unclear: batch: seconds" in judged.sentence
        assert "is not shown by 10 minutes" in judgement(findings(record_of()), 600).sentence

    @pytest.mark.parametrize("seconds", [60, 7_200])
    def test_what_grows_is_bad_whatever_else_is_unclear(self, seconds: int) -> None:
        judged = judgement(findings(scattered(record_of("files"))), seconds)
        assert judged.exit_code == BAD == 1
        assert "Bad: checkpoint: files (grows)." in judged.sentence
        assert "Unclear: batch: seconds" in judged.sentence

    def test_the_command_ends_with_it_and_says_it(self, tmp_path: Path) -> None:
        writer, record = Writer(tmp_path), scattered(record_of())
        for entry in [*record.memory, *record.heaps, *record.files, *record.done]:
            writer.write(entry)
        for batch in record.batches.values():
            writer.write(batch)
        writer.close()
        for seconds, code in ((7_200, UNPROVEN), (600, GOOD)):
            (tmp_path / "load.json").write_text(json.dumps({"seconds": seconds}))
            command = [sys.executable, str(BENCHMARKS / "soak.py"), "--draw", str(tmp_path)]
            done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
            assert done.returncode == code, done.stderr
            assert "Unclear: batch: seconds" in json.loads(done.stdout)["summary"]


class TestFaults:
    @given(st.integers(45, 4 * 3_600), st.integers(0, 1_000))
    def test_each_kind_comes_and_the_driver_is_left_alone_in_between(
        self, seconds: int, seed: int
    ) -> None:
        faults = schedule(seconds, seed)
        assert {fault.kind for fault in faults} == set(KINDS)
        assert all(0 < fault.at_seconds <= 0.95 * seconds for fault in faults)
        ends = [fault.at_seconds for fault in faults if fault.kind in (DRIVER, SINK)]
        assert not [at for at in ends if 0.2 * seconds + 1e-6 < at < 0.9 * seconds - 1e-6]

    def test_two_hours_have_many(self) -> None:
        kinds = [fault.kind for fault in schedule(7_200, 7)]
        assert kinds.count(WORKER) >= 10
        assert kinds.count(EXECUTOR) >= 10
        assert kinds.count(DRIVER) + kinds.count(SINK) >= 6

    def test_a_sink_is_marked_and_nobody_is_hit_where_nobody_is(self, tmp_path: Path) -> None:
        assert inject(Fault(1.0, SINK), [], tmp_path)
        assert (tmp_path / BREAK_SINK).exists()
        assert inject(Fault(1.0, EXECUTOR), [], tmp_path) is None


class TestRecord:
    def test_what_is_written_is_read_and_drawn(self, tmp_path: Path) -> None:
        writer, expected = Writer(tmp_path), record_of()
        entries = [*expected.memory, *expected.heaps, *expected.files, *expected.done]
        for entry in [*entries, *expected.batches.values()]:
            writer.write(entry)
        writer.close()
        assert soak_record.read(tmp_path) == expected == writer.record
        draw_curves(expected, tmp_path / "curves.png")
        assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")

    def test_rows_taken_are_those_of_the_last_committed_batch(self, tmp_path: Path) -> None:
        assert rows_taken(tmp_path) == 0
        for name in ("commits", "offsets"):
            (tmp_path / "spark" / name).mkdir(parents=True)
        for batch, rows in ((9, 90), (10, 100), (11, 110)):
            text = f"v1\n{{}}\n{json.dumps({'row': rows})}"
            (tmp_path / "spark" / "offsets" / str(batch)).write_text(text)
        assert rows_taken(tmp_path) == 0
        for batch in (9, 10):
            (tmp_path / "spark" / "commits" / str(batch)).write_text("v1\n{}")
        assert rows_taken(tmp_path) == 100

    def test_files_of_the_journal_count_apart(self, tmp_path: Path) -> None:
        for name in ("a", "panes/b", "panes/c/d", "journal/e"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text("12345")
        assert files_in(tmp_path, 3.0) == Files(3.0, 3, 15, 1, 5)


class TestLoad:
    def test_bursts_go_on_and_rows_are_those_of_the_seed(self) -> None:
        load = SoakLoad(seconds=400, rate=20.0, trigger_seconds=5, seed=3)
        counts = load.trace.counts
        assert counts[:180] == counts[180:360]
        assert load.trace.rows == pytest.approx(8_000, rel=0.1)
        rows = load.rows()
        assert rows["id"].to_pylist() == list(range(load.trace.rows))
        assert rows.equals(load.rows())
        other = SoakLoad(seconds=400, rate=20.0, trigger_seconds=5, seed=4)
        assert not rows.equals(other.rows())
        first = rows["ts"].cast(pa.int64()).to_pylist()[0]
        assert first <= ORIGIN_MICROS


@pytest.mark.slow
class TestSinks:
    def test_what_is_there_is_found_right_and_what_is_lost_or_doubled_is_seen(
        self, spark: SparkSession, tmp_path: Path
    ) -> None:
        load = SoakLoad(seconds=60, rate=20.0, trigger_seconds=1)
        query = ps.run(
            *outlets(in_files(spark, load, tmp_path / "in", files=12), tmp_path),
            checkpoint=str(tmp_path / "checkpoint"),
            available_now=True,
        )
        query.await_termination()
        found = {each.what: each for each in compare_with(spark, load, tmp_path)}
        assert {each.what: each.verdict for each in found.values() if not each.is_good} == {}
        assert all(each.level > 0 for what, each in found.items() if what.startswith("sink"))

        for name in ("readings", "windows", "late", "peaks", "unread", "alarms"):
            batch = max((tmp_path / name).glob("batch_id=*"), key=bytes_of)
            if name in ("readings", "peaks"):  # one that is there twice, one that is gone
                double(batch)
            else:
                for file in list_of(batch):
                    file.unlink()
        found = {each.what: each for each in compare_with(spark, load, tmp_path)}
        bad = {each.what.split()[1] for each in found.values() if not each.is_good}
        assert bad == {"readings:", "windows:", "late:", "peaks:", "unread:", "alarms:"}


def in_files(spark: SparkSession, load: SoakLoad, where: Path, files: int) -> DataFrame:
    """Give the rows of a load as a stream, a file a micro-batch."""
    where.mkdir()
    rows = load.rows()
    size = -(-rows.num_rows // files)
    for n in range(files):
        path = where / f"{n}.parquet"
        pq.write_table(rows.slice(n * size, size), path)
        os.utime(path, (1_700_000_000 + n,) * 2)  # the order in which they are read
    stream = spark.readStream.schema(SPARK_SCHEMA).option("maxFilesPerTrigger", 1)
    return stream.parquet(str(where))


def list_of(batch: Path) -> list[Path]:
    return [file for file in batch.iterdir() if file.name.startswith("part-")]


def bytes_of(batch: Path) -> int:
    return sum(file.stat().st_size for file in list_of(batch))


def double(batch: Path) -> None:
    for file in list_of(batch):
        file.with_name(f"part-again-{file.name}").write_bytes(file.read_bytes())
