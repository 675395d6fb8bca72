from __future__ import annotations

from dataclasses import replace
from math import isnan
from pathlib import Path

import numpy as np
import pytest

from penstock.reproduction.frontier import (
    FIXED_SECONDS,
    LIVE_FIXED_SECONDS,
    SHORT_FIXED_SECONDS,
    Run,
    frontier,
    nearest,
    remarks,
    run_one,
    table,
)
from penstock.reproduction.frontier_bound import (
    DABS,
    MOST_SLOTS,
    PSPS,
    WANTED,
    Four,
    bound,
    fixed_cost_needed,
)
from penstock.simulation.topology_file import read_topology
from penstock.sources.trace import trace_of_counts


@pytest.fixture
def rates(tmp_path: Path) -> Path:
    """Return a folder with a load like that of PSPS: 2,300 rows a second, up and down."""
    seconds = np.arange(160)
    counts = (2_300 + 1_200 * np.sin(seconds / 20)).astype(int)
    lines = ["time,value", *(f"{at},{rows}" for at, rows in zip(seconds, counts, strict=True))]
    (tmp_path / "psps_main.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_the_wanted_run_is_the_better_of_both_papers_in_each_metric() -> None:
    assert Four(0.5617, 0.1831, 0.9987, DABS.latency_seconds) == WANTED
    assert WANTED.latency_seconds == pytest.approx(1.391, abs=0.001)
    assert not PSPS.beats(WANTED)
    assert not DABS.beats(WANTED)


@pytest.mark.parametrize(
    "worse",
    [{"saved": 0.5617}, {"degradation": 0.2}, {"processed": 0.99}, {"latency_seconds": 1.4}],
)
def test_all_four_must_be_better(worse: dict[str, float]) -> None:
    better = Four(0.57, 0.1, 1.0, 1.3)

    assert better.beats(WANTED)
    assert not replace(better, **worse).beats(WANTED)


def test_at_the_fixed_cost_that_is_needed_the_bound_is_just_met() -> None:
    mean_slots = 12.05
    needed = fixed_cost_needed(mean_slots, WANTED)

    assert bound(needed, mean_slots, WANTED.latency_seconds) == pytest.approx(WANTED.saved)
    assert bound(needed * 1.1, mean_slots, WANTED.latency_seconds) < WANTED.saved
    assert isnan(bound(1.0, mean_slots, 1.4))


def test_a_steady_load_comes_near_the_bound_and_never_past_it() -> None:
    trace = trace_of_counts([2_293] * 120)
    mean_slots = 2_293 * read_topology("tweets").seconds_per_row()

    run = run_one(trace, 0.2, 1.6)

    most = bound(0.2, mean_slots, run.four.latency_seconds)
    # Slots are whole: up to one is wasted.
    assert most - 1.5 / MOST_SLOTS < run.four.saved <= most + 0.005
    assert run.four.processed == 1.0


def test_the_nearest_run_is_judged_by_its_worst_metric() -> None:
    good = Run(0.1, 1.2, Four(0.57, 0.05, 1.0, 1.3), 0.01)
    saves_much = Run(0.1, 2.0, Four(0.6, 0.05, 1.0, 2.0), 0.01)
    is_quick = Run(0.1, 0.5, Four(0.4, 0.05, 1.0, 0.8), 0.01)

    standing_still = replace(good, four=replace(good.four, degradation=0.3))

    assert nearest([saves_much, good, is_quick]) == good
    assert "0.1 s" in remarks([good], 12.05)[0]
    assert "averaged over 10 s" in remarks([standing_still], 12.05)[0]
    assert table(0.1, [standing_still]).rows[1].why
    assert remarks([saves_much], 12.05)[0].startswith("No run")
    assert [each.why for each in table(0.1, [good]).rows[::4]] == ["", ""]
    assert all(each.why for each in table(0.1, [saves_much]).rows[::4])


def test_tables_figure_and_remark_come_of_a_folder_of_traces(rates: Path) -> None:
    shares: list[float] = []

    tables, figures, said = frontier(rates, True, lambda what, share: shares.append(share))

    assert [each.name for each in tables] == [
        f"frontier-{fixed:g}" for fixed in (SHORT_FIXED_SECONDS, *FIXED_SECONDS[1:])
    ]
    assert "as measured live" in tables[-1].title
    assert [row.paper for row in tables[0].rows] == pytest.approx(
        [0.5617, 0.1831, 0.1831, 0.9987, 1.391], abs=0.001
    )
    (figure,) = figures
    assert all(len(curve) == len(figure.x) for curve in figure.series.values())
    assert f"Measured live, F is {LIVE_FIXED_SECONDS:g} s" in said[1]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_without_traces_there_is_a_remark_and_nothing_else(tmp_path: Path) -> None:
    for folder in (None, tmp_path):
        tables, figures, said = frontier(folder, True, lambda what, share: None)
        assert (tables, figures) == ((), ())
        assert "psps_main.csv" in said[0]
