"""Windows of preference queries come out the same, whichever tasks form them."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import penstock as ps
import preference_oracle as oracle
from penstock import journal
from penstock.engine import window_packing
from penstock.engine.pane_tally import PanePart
from penstock.engine.piece_table import PieceTable
from penstock.engine.python_step import Tally
from penstock.engine.window_packing import WindowPacker, idle_share
from penstock.journal.window_events import WindowTasks
from penstock.preference.packing import MergeCost, Packing, Partial, pack
from penstock.windows.segments import Piece, Segment
from window_oracle import moment

BETTER: Any = {"minimize": ["price"], "maximize": ["rating"]}
SECONDS = 4


def some_rows(batch: int, count: int = 150) -> list[dict[str, Any]]:
    """Rows in order of time, each batch of two seconds."""
    dice = random.Random(batch)
    return [
        {
            "id": 1000 * batch + number,
            "team": dice.choice(["red", "blue"]),
            "price": dice.randrange(40) / 4,
            "rating": float(dice.randrange(30)),
            "ts": moment(100 + 2 * batch + 2 * number / count),
        }
        for number in range(count)
    ]


def expected(rows: list[dict[str, Any]], by: Sequence[str]) -> dict[Any, list[int]]:
    """The ids of the best rows of each window of a second, every 200 ms, that is over."""
    found: dict[Any, list[int]] = {}
    newest = max(row["ts"] for row in rows)
    for fifth in range(-4, 5 * SECONDS):
        start, end = moment(100 + fifth / 5), moment(100 + fifth / 5 + 1)
        groups = defaultdict(list)
        for row in rows:
            if start <= row["ts"] < end <= newest:
                groups[(start.timestamp(), *(row[name] for name in by))].append(row)
        for key, mine in groups.items():
            found[key] = sorted(row["id"] for row in oracle.skyline(mine, **BETTER))
    return found


def came_out(df: DataFrame, by: Sequence[str]) -> dict[Any, list[int]]:
    found = defaultdict(list)
    for row in df.collect():
        key = (round(row["window"]["start"].timestamp(), 3), *(row[name] for name in by))
        found[key].append(row["id"])
    return {key: sorted(ids) for key, ids in found.items()}


@pytest.mark.slow
def test_windows_are_the_same_formed_by_one_task_or_by_several(
    feed: Callable[..., DataFrame],
    finish: Callable[..., ps.Query],
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Packing] = []

    def split_wherever_possible(
        windows: Sequence[Sequence[Partial]], tasks: int, cost: MergeCost, *, merges: bool
    ) -> Packing:
        cost = MergeCost(1.0, kept_share=0.0, exchange_seconds=0.0)
        asked.append(pack(windows, tasks, cost, merges=merges))
        return asked[-1]

    monkeypatch.setattr(window_packing, "pack", split_wherever_possible)
    monkeypatch.setattr(window_packing, "alone_if_sooner", lambda plan, *_: plan)
    batches = [some_rows(0), some_rows(1)]
    read = feed([pa.Table.from_pylist(rows) for rows in batches], partitions=2)
    stream = ps.Stream.read(read, time="ts", watermark="0 seconds")
    window = ps.sliding("1 second", "200 milliseconds")
    alone = ps.PaneSplitting("even", merges=False)
    outlets = {
        "shared": stream.window(window).skyline(**BETTER, name="shared", splitting="even"),
        "alone": stream.window(window).skyline(**BETTER, name="alone", splitting=alone),
        "teams": stream.group_by("team")
        .window(window, emit="every_batch")  # states are kept apart from results
        .skyline(**BETTER, name="teams", splitting="even"),
    }
    written = (each.to(ps.sinks.parquet(str(tmp_path / n))) for n, each in outlets.items())
    query = finish(*written, wait_seconds=400)
    rows = [row for batch in batches for row in batch]
    for name in outlets:
        by = ["team"] if name == "teams" else []
        out = spark.read.parquet(str(tmp_path / name))
        final = out.filter("is_final") if name == "teams" else out
        assert came_out(final, by) == expected(rows, by), name
    told = [e.body for e in journal.read(query.journal_dir) if isinstance(e.body, WindowTasks)]
    merges = {name: sum(e.merges for e in told if e.operator == name) for name in outlets}
    assert merges["alone"] == 0
    assert merges["shared"] > 0
    assert merges["teams"] > 0
    assert max(plan.rounds for plan in asked) == 2
    # Both tasks told how large the parts of a pane are: nothing was estimated by bytes.
    assert all(e.updates + e.merges == e.partials and e.windows > 0 for e in told)
    assert all(0 <= e.idle_share < 1 and e.utilisation > 0 for e in told)


def table(*panes: int) -> PieceTable:
    return PieceTable(tuple((Piece("3", pane, pane + 1, 1),) for pane in panes))


def segment(rows: int) -> Segment:
    return Segment("3", 0, 4, 1, through=1, is_delta=True, rows=rows, bytes=800)


def test_many_keys_are_left_to_their_hash() -> None:
    packer = WindowPacker("best")
    assert packer.planned(table(0, 1), [segment(10_000)], 2, has_keys=True) is None
    assert packer.planned(table(0, 1), [segment(10_000)], 2, has_keys=False) is not None
    assert packer.planned(table(0, 1), [segment(10)], 2, has_keys=True) is not None


def test_what_tasks_report_is_what_the_next_plan_reckons_with() -> None:
    packer = WindowPacker("best")
    packer.wrote("3", [Tally(panes=(PanePart(0, 0, 9, 5), PanePart(1, 0, 9, 7)))])
    planned = packer.planned(table(0, 1), [segment(2)], 2, has_keys=False)
    assert planned is not None
    assert [[partial.points for partial in each] for each in planned.windows] == [[5.0], [7.0]]
    packer.learn([Tally(rows_in=100, rows_out=50, busy_nanos=2_000_000)], 0.5)
    assert packer.cost.seconds_per_point == pytest.approx(2e-5)
    assert packer.cost.kept_share == pytest.approx(0.5)
    packer.learn([Tally(rows_in=100, rows_out=100, busy_nanos=4_000_000)], 0.5)
    assert packer.cost.seconds_per_point == pytest.approx(3e-5)
    assert packer.cost.kept_share == pytest.approx(0.75)
    waited = Tally(rows_in=100, rows_out=75, busy_nanos=3_000_000, cpu_nanos=1_000_000)
    before = packer.cost.exchange_seconds
    packer.learn([waited], 0.5)
    assert packer.cost.exchange_seconds == pytest.approx((before + 3 * before) / 2)
    (event,) = packer.events(7)
    assert isinstance(event, WindowTasks)
    assert (event.batch_id, event.windows, event.partials, event.tasks) == (7, 2, 2, 1)  # 12 points
    assert list(packer.events(8)) == []


def test_idle_time_of_two_rounds_is_that_of_both() -> None:
    first = [Tally(busy_nanos=100, task=0), Tally(busy_nanos=50, task=1)]
    second = [Tally(busy_nanos=60, task=0), Tally(busy_nanos=0, task=1)]
    assert idle_share(first + second, tasks=2) == pytest.approx(1 - 210 / (2 * 160))
    assert idle_share([], tasks=2) == 0
