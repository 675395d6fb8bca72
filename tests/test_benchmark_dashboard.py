"""The journal that the dashboard is measured with: whole, growing, and read alike by both ways."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from benchmark_module import BENCHMARKS, benchmark_module
from penstock.history.journal_history import JournalHistory


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
