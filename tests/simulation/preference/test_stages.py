"""Two simulated stages: every row is in one part, every window comes out, and merging helps."""

from dataclasses import replace

import numpy as np
import pytest

from penstock.simulation.preference.costs import QueryCosts
from penstock.simulation.preference.pane_stage import ArrivingRows, ClosedPart, PaneStage
from penstock.simulation.preference.system import SystemSetting, simulated
from penstock.simulation.preference.window_stage import WindowStage


@pytest.fixture(scope="module")
def costs() -> QueryCosts:
    return QueryCosts.measured(most_rows=8_000).paced(part_rows=1000, row_seconds=50e-6)


def test_costs_grow_with_rows_and_a_part_filters_less_than_the_whole(costs: QueryCosts) -> None:
    shares = [costs.points_of(rows) / rows for rows in (100, 1000, 8_000, 40_000)]
    assert shares == sorted(shares, reverse=True)
    assert costs.insert_seconds(1000) == pytest.approx(1000 * 50e-6, rel=0.01)
    assert costs.insert_seconds(2000) > 2 * costs.insert_seconds(1000)
    assert costs.row_seconds(3000).sum() == pytest.approx(costs.insert_seconds(3000), rel=0.01)
    assert costs.merge_seconds(2000, 1000) > costs.merge_seconds(1000, 1000)
    assert costs.merge_seconds(0, 1000) > 0
    assert costs.points_of(0) == costs.insert_seconds(0) == 0


def test_the_threshold_splits_a_pane_over_workers_in_turn() -> None:
    # Rows come faster than they are served; the pane is split after every two of them.
    seconds = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 2.5])
    times = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 2.5])
    stage = PaneStage(ArrivingRows(seconds, times, pane_seconds=1.0), np.full(9, 1.0), 2)
    period = stage.run(until=3.0, seconds=3.0, workers=2, threshold=2.0)
    assert stage.is_done
    # Worker 0 has rows at 0, 0.1 and, least loaded again, 0.4: it ends at 3; the other at 2.2.
    assert period.closed == (ClosedPart(0, 2, 3, 3.0), ClosedPart(0, 2, 2, 2.5))
    # Each worker served 3 of the 6 rows in 3 seconds, and could serve as many.
    assert period.utilisation == pytest.approx(1.0)


@pytest.mark.parametrize("threshold", [0.0, 40.0, np.inf])
def test_every_row_is_in_one_part_or_came_too_late(threshold: float) -> None:
    rows = ArrivingRows.drawn(np.full(60, 50.0), 0.1, 0.5, delay=0.3, seed=3)
    stage = PaneStage(rows, np.full(100, 1e-4), 3)
    periods = [stage.run(end, 1.0, 3, threshold) for end in range(1, 9)]
    parts = [part for period in periods for part in period.closed]
    panes, counts = np.unique((rows.times / 0.5).astype(int), return_counts=True)
    whole = dict(zip(panes.tolist(), counts.tolist(), strict=True))
    closed = {part.pane for part in parts}
    assert closed == set(range(max(closed) + 1))
    for pane in closed:
        mine = [part for part in parts if part.pane == pane]
        assert all(part.parts == len(mine) for part in mine)
        # The slack grows in the first panes only, where some rows are too late for it.
        rows_in = sum(part.rows for part in mine)
        assert rows_in == whole[pane] if pane >= 3 else rows_in <= whole[pane]
        expected = {0.0: 3, np.inf: 1}.get(threshold)
        assert expected is None or len(mine) == expected


def parts(panes: int, each: int, rows: int) -> list[ClosedPart]:
    return [
        ClosedPart(pane, each, rows, 0.2 * pane + 0.01 * number)
        for pane in range(panes)
        for number in range(each)
    ]


@pytest.mark.parametrize("merges", [True, False])
def test_every_window_whose_panes_are_there_comes_out(costs: QueryCosts, merges: bool) -> None:
    stage = WindowStage(costs, panes_per_window=3, most_workers=9, merges=merges)
    stage.resize(5, 0.0)
    period = stage.run(parts(10, 4, 500), 0.0, 1000.0)
    assert stage.is_done
    assert period.windows == 8
    # Windows that have not all panes took what was there: 4 results for each pane of each window.
    assert period.updates + period.merges == 4 * (8 * 3 + 2 + 1)
    assert (period.merges > 0) == merges
    assert 0.9 < period.idle_share < 1


def test_merging_leaves_workers_less_idle_where_windows_are_late(costs: QueryCosts) -> None:
    slow = replace(costs, seconds_per_comparison=20 * costs.seconds_per_comparison)
    found = {}
    for merges in (True, False):
        stage = WindowStage(slow, panes_per_window=3, most_workers=12, merges=merges)
        stage.resize(12, 0.0)
        found[merges] = stage.run(parts(20, 6, 500), 0.0, 4.0)
    assert found[True].idle_share < found[False].idle_share
    assert found[True].windows >= found[False].windows


def test_workers_and_thresholds_follow_the_load(costs: QueryCosts) -> None:
    rows = ArrivingRows.drawn(np.full(2000, 800.0), 0.01, 0.1, delay=0.1, seed=0)
    pid = simulated(rows, costs, SystemSetting("pid"))[4:-1]
    none = simulated(rows, costs, SystemSetting("none"))[4:-1]
    assert pid[-1].utilisation < 1 < none[-1].utilisation
    assert none[-1].parts_per_pane == 1 < pid[-1].parts_per_pane
    assert none[-1].first_workers > pid[-1].first_workers
    assert pid[-1].points_share > none[-1].points_share
