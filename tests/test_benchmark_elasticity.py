from __future__ import annotations

from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from elasticity_load import load
from elasticity_outcome import (
    Arrivals,
    Batch,
    course,
    latencies,
    mean_slots,
    outcome,
    throughput_degradation,
)
from pyspark.sql import SparkSession

import penstock as ps
from benchmark_module import benchmark_module
from penstock.elasticity.observation import Observation, SourceObservation
from penstock.journal import BatchFinished, DecisionMade, Event, FaultSeen, QueryStarted

#   seconds  100   101   102   103   104   105
#   due      a b   c d         e f
#   batches           |a b      |c d e      |f
CAME = Arrivals(100.0, 4.0, np.array([100.0, 100.5, 101.0, 101.5, 103.0, 103.5]))
BATCHES = (Batch(0, 101.5, 2, 4), Batch(1, 103.0, 3, 4), Batch(2, 105.0, 1, 2))


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    return benchmark_module("elasticity")


def test_a_recording_is_squeezed(tmp_path: Path) -> None:
    recording = tmp_path / "rates.csv"
    recording.write_text("time,value\n0,1\n1,3\n2,2\n3,6\n")
    assert load(recording, seconds=2, highest_rate=100.0).counts == (50, 100)
    # Stretched, too: half a second of the recording in each.
    assert load(recording, seconds=8, highest_rate=12.0).counts == (2, 2, 6, 6, 4, 4, 12, 12)


def test_waves_where_there_is_no_recording() -> None:
    waves = load(None, seconds=100, highest_rate=200.0)
    assert len(waves.counts) == 100
    assert max(waves.counts) == 200
    assert 65 <= waves.counts.index(200) < 69
    high = np.array(waves.counts) > 80
    assert np.count_nonzero(high[1:] & ~high[:-1]) == 3
    assert load(None, seconds=100, highest_rate=20.0).rows == pytest.approx(waves.rows / 10, abs=1)


def test_latency_is_from_due_to_commit() -> None:
    assert latencies(CAME, BATCHES).tolist() == [1.5, 1.0, 2.0, 1.5, 0.0, 1.5]
    with pytest.raises(RuntimeError, match="5 rows were taken of 6"):
        latencies(CAME, BATCHES[:2])


def test_slots_are_weighted_by_time() -> None:
    assert mean_slots(100.0, BATCHES) == pytest.approx((4 * 3 + 2 * 2) / 5)


def test_throughput_degradation() -> None:
    # Four rows come from 100 to 102 and two go; two come from 102 to 104 and three go.
    assert throughput_degradation(CAME, BATCHES, 2.0) == pytest.approx((2 / 4 + 1 / 2) / 2)
    # Nothing comes in the third second, which has no input to compare with.
    assert throughput_degradation(CAME, BATCHES, 1.0) == pytest.approx((1 + 0 + 0.5) / 3)


def test_an_outcome_sums_up() -> None:
    events = [
        _event(QueryStarted("q", "q", "", "0", "4", 16)),
        _event(DecisionMade(-1, ps.Decision(20, "start"))),
        _finished(0, 101.5, 2),
        _event(DecisionMade(0, ps.Decision(8, "less"))),
        _event(QueryStarted("q", "q", "", "0", "4", 16)),
        _finished(1, 103.0, 3),
        _event(DecisionMade(1, ps.Decision(12, "more"))),
        _event(FaultSeen(1, "policy failed", "no idea")),
        _finished(2, 105.0, 1, used_slots=6),
    ]
    seen = course(events)
    assert [batch.slots for batch in seen.batches] == [16, 8, 6]
    assert (seen.rows, seen.restarts, seen.faults) == (6, 1, ("policy failed: no idea",))
    summed = outcome(
        "some",
        seen,
        CAME,
        over_slots=16,
        interval_seconds=2.0,
        deadline_seconds=1.5,
        lost_rows=0,
        doubled_rows=0,
        cpu=0.5,
    )
    assert summed.saved == pytest.approx(1 - (16 * 1.5 + 8 * 1.5 + 6 * 2) / 5 / 16)
    assert summed.in_time == pytest.approx(5 / 6)
    assert summed.mean_latency_s == pytest.approx(7.5 / 6)
    assert summed.p95_latency_s == pytest.approx(1.875)
    assert (summed.most_slots, summed.changes, summed.faults) == (16, 2, 1)


def _event(body: Any) -> Event:
    return Event(1, 0.0, body)


def _finished(batch_id: int, at_seconds: float, rows: int, used_slots: int | None = None) -> Event:
    sources = (SourceObservation("tweets", rows),)
    seen = Observation(batch_id, at_seconds, 1.0, 1.0, 16, (), sources, used_slots=used_slots)
    return _event(BatchFinished(seen))


def test_rounds_of_a_way_are_summed_up(benchmark: ModuleType) -> None:
    numbers = dict.fromkeys(benchmark.Outcome.__dataclass_fields__, 1)
    rounds = [
        benchmark.Outcome(**numbers | {"way": "w", "saved": 0.5, "lost_rows": 2}),
        benchmark.Outcome(**numbers | {"way": "w", "saved": 0.6, "lost_rows": 3}),
    ]
    result = benchmark.together(rounds)
    assert result["saved"] == pytest.approx(0.55)
    assert (result["way"], result["rounds"], result["lost_rows"]) == ("w", 2, 5)
    shown = benchmark.as_shown(result)
    assert shown["saved"] == "0.5500"
    assert "batches" not in shown


def test_rows_are_held_against_the_journal(benchmark: ModuleType) -> None:
    trace = ps.sources.read_trace([2, 2])
    batches = (Batch(7, 11.0, 2, 4), Batch(8, 12.0, 2, 4))
    micros = pa.array([10_500_000, 11_000_000], pa.timestamp("us", tz="UTC"))
    stored = {"id": pa.array([1, 2]), "ts": micros, "batch_id": pa.array([7, 8])}
    came = benchmark.arrivals(trace, pa.table(stored), batches)
    assert came.start_seconds == 10.0
    assert came.due.tolist() == [10.0, 10.5, 11.0, 11.5]
    with pytest.raises(RuntimeError, match="other batches"):
        benchmark.arrivals(trace, pa.table(stored | {"batch_id": pa.array([7, 7])}), batches)
    with pytest.raises(RuntimeError, match="other times"):
        benchmark.arrivals(trace, pa.table(stored | {"id": pa.array([1, 3])}), batches)


def test_the_load_is_what_the_example_waits_for(
    benchmark: ModuleType, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr(benchmark.tweets, "time", SimpleNamespace(sleep=waited.append))
    trace = ps.sources.read_trace([10_000])
    keys = benchmark.tweets.AUTHORS.draw(np.random.default_rng(0).random(trace.rows))
    rows = spark.range(trace.rows).selectExpr("id", "current_timestamp() AS ts", "0L AS key")
    stored = set()
    for row, author in zip(
        rows.selectExpr(*benchmark.tweets.tweet_columns()).collect(), keys, strict=True
    ):
        parsed = benchmark.tweets.parse(row.asDict() | {"author": int(author)})
        if parsed is not None:
            benchmark.tweets.classify_author(benchmark.tweets.classify_content(parsed))
            stored.add(row.id)
    assert benchmark.with_words(spark, trace) == stored
    assert benchmark.seconds_per_tweet() == pytest.approx(sum(waited) / trace.rows, rel=0.03)


def test_command_line(
    benchmark: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = benchmark.parsed([])
    assert (options.seconds, options.rounds, options.trace) == (180, 1, None)
    assert options.ways == list(benchmark.WAYS)
    assert benchmark.parsed(["--trace", str(tmp_path / "none.csv")]).trace is None
    assert "three waves instead" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        benchmark.parsed(["--trigger", "0.3"])


def test_all_policies_live_in_the_same_short_time(benchmark: ModuleType) -> None:
    setting = benchmark.Setting(slots=16, mean_slots=6, trigger_seconds=1.0, squeeze=0.15)
    policies = {way: make(setting) for way, make in benchmark.WAYS.items()}
    assert (policies["Static(max)"], policies["Static(mean)"]) == (ps.Static(16), ps.Static(6))
    adapting = [policy for policy in policies.values() if not isinstance(policy, ps.Static)]
    assert {type(policy).__name__ for policy in adapting} == {
        "Incremental",
        "AutoScalePlus",
        "ReplicaPool",
        "BatchTimeRatio",
    }
    assert {policy.rails for policy in adapting} == {ps.GuardRails(max_slots=16)}
    assert policies["AutoScalePlus"].interval == policies["Incremental"].interval == 1.5
    assert policies["ReplicaPool"].interval == 1.0
    assert policies["AutoScalePlus"].horizon == 4.5


@pytest.mark.slow
def test_a_live_run(benchmark: ModuleType, spark: SparkSession) -> None:
    options = benchmark.parsed(["--seconds", "10", "--peak-slots", "3"])
    bench = benchmark.Bench.of(spark, options)
    assert (bench.setting.slots, bench.setting.mean_slots) == (4, 2)
    found, start_seconds, batches = benchmark.measure(bench, "Static(mean)")
    assert (found.lost_rows, found.doubled_rows, found.restarts, found.faults) == (0, 0, 0, 0)
    assert found.rows == bench.trace.rows
    assert (found.saved, found.changes) == (0.5, 0)
    assert all(batch.committed_seconds > start_seconds for batch in batches)
