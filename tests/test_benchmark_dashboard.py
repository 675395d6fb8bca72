"""The journal that the dashboard is measured with: whole, growing, and read alike by both ways."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from benchmark_module import BENCHMARKS, benchmark_module
from penstock.history import quick_lines
from penstock.history.journal_history import JournalHistory
from penstock.journal.reader import RawLine


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    sys.path.append(str(BENCHMARKS))
    try:
        return benchmark_module("dashboard")
    finally:
        sys.path.remove(str(BENCHMARKS))


def test_a_day_has_batches_of_twelve_operators_and_grows(
    benchmark: ModuleType, tmp_path: Path
) -> None:
    day = benchmark.DayWriter(tmp_path / "journal", 1_000.0)
    day.write(120)
    history = JournalHistory(tmp_path / "journal")
    history.refresh()
    (query,) = history.queries
    assert (query.batch_count, len(query.operators.names)) == (120, 12)
    assert query.decisions.count == 12
    assert len(query.decisions.forecasts) == 12
    assert len(query.windows.operators) == 2
    assert query.batches.last()["at"] == 1_120.0
    day.write(5)
    day.close()
    history.refresh()
    history.close()
    assert query.batch_count == 125


def test_both_ways_read_the_same(benchmark: ModuleType, tmp_path: Path) -> None:
    day = benchmark.DayWriter(tmp_path / "journal", 1_000.0)
    day.write(60)
    day.close()
    found = benchmark.reading(tmp_path / "journal", repeat=1)
    assert found["history"]["batches"] == found["read"]["batches"] == 60
    assert found["times_as_fast"] > 0


def test_a_day_is_read_the_quick_way(
    benchmark: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    day = benchmark.DayWriter(tmp_path / "journal", 1_000.0)
    day.write(60)
    day.close()
    slow: list[RawLine] = []
    exact = quick_lines._exact
    monkeypatch.setattr(quick_lines, "_exact", lambda line: (slow.append(line), exact(line))[1])
    history = JournalHistory(tmp_path / "journal")
    history.refresh()
    history.close()
    assert history.queries[0].batch_count == 60
    assert slow == []


def moments(first_page_seconds: float = 2.0, peak_mb: float = 200.0) -> dict[str, dict[str, float]]:
    return {
        "first page": {"seconds": first_page_seconds, "peak_mb": 150.0},
        "all read": {"seconds": 60.0, "peak_mb": peak_mb},
    }


def test_a_first_page_within_three_seconds_and_500_mb_is_well(benchmark: ModuleType) -> None:
    well, slow, large = moments(), moments(first_page_seconds=3.1), moments(peak_mb=501.0)
    assert benchmark.judged([well, slow, well]) == {"opens_in_time": True, "stays_small": True}
    assert not benchmark.judged([slow, slow, well])["opens_in_time"]
    assert not benchmark.judged([well, large, well])["stays_small"]


@pytest.mark.parametrize(
    ("found", "code"),
    [(moments(), 0), (moments(first_page_seconds=3.1), 1), (moments(peak_mb=501.0), 1)],
)
def test_what_takes_too_long_or_too_much_fails(
    benchmark: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    found: dict[str, dict[str, float]],
    code: int,
) -> None:
    monkeypatch.setattr(sys, "argv", ["dashboard.py", "--json", "--hours", "0.01", "--repeat", "1"])
    monkeypatch.setattr(benchmark, "reading", lambda *_: {})
    monkeypatch.setattr(benchmark, "opening", lambda *_: found)
    with pytest.raises(SystemExit) as ended:
        benchmark.main()
    assert int(ended.value.code or 0) == code
    assert json.loads(capsys.readouterr().out)["dashboard"] == found


def test_of_several_turns_the_middle_counts(benchmark: ModuleType) -> None:
    turns = [moments(seconds) for seconds in (9.0, 2.0, 2.5)]
    turns[-1]["later"] = {"seconds": 70.0}
    found = benchmark.middle(turns)
    assert (found["first page"]["seconds"], found["later"]["seconds"]) == (2.5, 70.0)
