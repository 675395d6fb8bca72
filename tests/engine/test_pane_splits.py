"""Panes split over tasks on Spark: a burst, exact windows whatever the way, and a journal."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import penstock as ps
import preference_oracle as oracle
from penstock.engine import window_packing
from penstock.engine.columns import PANE
from penstock.engine.pane_splits import PaneSplits, StageNames
from penstock.engine.task_metrics import BATCH_PROPERTY, TaskMetrics
from penstock.journal.events import BatchFinished
from penstock.journal.reader import read
from penstock.journal.window_events import PanesSplit, WindowTasks
from penstock.preference.pane_splitting import PaneSplitting
from penstock.preference.split_control import SplitState
from penstock.preference.splitting import PartTurns
from window_oracle import moment

Finish = Callable[..., ps.Query]
Feed = Callable[..., DataFrame]
Rows = list[dict[str, Any]]

SLIDING = ps.sliding("1 second", "200 milliseconds")
COLUMNS = pa.schema(
    [
        ("id", pa.int64()),
        ("x", pa.float64()),
        ("y", pa.float64()),
        ("ts", pa.timestamp("us", "UTC")),
    ]
)
TASKS = 3


def panes_of(first_second: float, pane_rows: list[int], seed: int) -> Rows:
    """Rows of consecutive panes of 200 milliseconds, in the order of time."""
    dice = random.Random(seed)
    starts = [first_second + number / 5 for number in range(len(pane_rows))]
    return [
        {
            "id": seed * 100_000 + int(start * 10) * 100 + number,
            "x": dice.random(),
            "y": dice.random(),
            "ts": moment(start + 0.19 * number / rows),
        }
        for start, rows in zip(starts, pane_rows, strict=True)
        for number in range(rows)
    ]


def table(rows: Rows) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=COLUMNS)


def splits_of(journal: Path, operator: str) -> list[PanesSplit]:
    events = (event.body for event in read(journal))
    return [each for each in events if isinstance(each, PanesSplit) and each.operator == operator]


LARGE = panes_of(100.0, [900], seed=1)
SMALL = panes_of(101.0, [30] * 20, seed=2)
BURST = panes_of(105.0, [2_000], seed=3)
AFTER = panes_of(106.0, [30] * 10, seed=4)


def test_a_burst_is_split_and_windows_are_the_same_whatever_the_way(
    feed: Feed, finish: Finish, spark: SparkSession, tmp_path: Path
) -> None:
    batches = [LARGE, SMALL, BURST]
    stream = ps.Stream.read(
        feed([table(rows) for rows in batches], partitions=2), time="ts", watermark="0 seconds"
    )
    windows = stream.window(SLIDING)
    asked = {
        how: windows.skyline(minimize=["x", "y"], splitting=how, name=how)  # type: ignore[arg-type]
        for how in ("pid", "none")
    }
    outlets = [each.to(ps.sinks.parquet(str(tmp_path / how))) for how, each in asked.items()]
    finish(*outlets, slots=ps.LocalSlots(max=TASKS), journal=str(tmp_path / "journal"))
    split = {how: splits_of(tmp_path / "journal", how) for how in asked}
    # What a batch of one pane shows first, then what panes much smaller, then one much larger.
    assert [each.parts_per_pane for each in split["pid"]] == [TASKS, 1.0, TASKS]
    assert [each.parts_per_pane for each in split["none"]] == [1.0, 1.0, 1.0]
    assert [each.panes for each in split["pid"]] == [1, 20, 1]
    assert {each.tasks for each in split["pid"]} == {TASKS}
    found = {how: came_out(spark, tmp_path / how) for how in asked}
    expected = skylines([row for rows in batches for row in rows])
    assert found["pid"]
    assert all(found[how].items() <= expected.items() for how in asked)
    assert found["pid"] == found["none"]

    feed([table(AFTER)], partitions=2)  # and the same query goes on, with what it learnt
    finish(*outlets, slots=ps.LocalSlots(max=TASKS), journal=str(tmp_path / "journal"))
    again = splits_of(tmp_path / "journal", "pid")
    assert len(again) == 4
    for before, after in pairwise(again):
        assert after.threshold_rows == before.next_threshold_rows
    assert again[0].threshold_rows is None
    assert again[3].alpha - again[2].alpha == pytest.approx(0, abs=0.3001)


def came_out(spark: SparkSession, where: Path) -> dict[float, list[int]]:
    """The ids of every window that came out, by the second in which it starts."""
    rows = spark.read.parquet(str(where)).select(F.unix_micros("window.start").alias("start"), "id")
    found: dict[float, list[int]] = {}
    for row in rows.orderBy("id").collect():
        found.setdefault(row["start"], []).append(row["id"])
    return found


def skylines(rows: Rows) -> dict[float, list[int]]:
    """What every window holds, by the definition."""
    held: dict[float, Rows] = {}
    for row in rows:
        micros = round(row["ts"].timestamp() * 1e6)
        for back in range(5):
            held.setdefault(micros // 200_000 * 200_000 - back * 200_000, []).append(row)
    return {
        start: sorted(row["id"] for row in oracle.skyline(mine, minimize=["x", "y"]))
        for start, mine in held.items()
    }


@pytest.mark.parametrize("how", ["pid", "none", "even"])
@pytest.mark.parametrize("ordered", [True, False])
def test_rows_go_where_they_are_meant_to(spark: SparkSession, how: Any, ordered: bool) -> None:
    metrics = TaskMetrics(spark.sparkContext)
    learnt = SplitState(usual_rows=40.0, pane_rows=100.0, share=0.5)
    splits = PaneSplits(
        StageNames("panes", "windows"), PaneSplitting(how), metrics.report, learnt.to_json()
    )
    rows = spark.range(0, 600, 1, 2).selectExpr("id", f"id % 6 AS {PANE}")
    place = splits.placing(TASKS, partitions=2, ordered=ordered)
    spark.sparkContext.setLocalProperty(BATCH_PROPERTY, "here")
    try:
        placed = place(rows).select("id", PANE, F.spark_partition_id().alias("task")).collect()
        again = place(rows.orderBy(F.rand(1)) if not ordered else rows)
        same = again.select("id", F.spark_partition_id().alias("task")).collect()
    finally:
        spark.sparkContext.setLocalProperty(BATCH_PROPERTY, None)
    task_of = {row["id"]: row["task"] for row in placed}
    assert len(placed) == len(task_of) == 600
    assert task_of == {row["id"]: row["task"] for row in same}
    parts = {pane: {row["task"] for row in placed if row[PANE] == pane} for pane in range(6)}
    counts = {len(tasks) for tasks in parts.values()}
    assert counts == {{"none": 1, "even": TASKS, "pid": TASKS}[how]}
    if how == "pid" and ordered:
        expected: dict[int, int] = {}
        for first in (0, 300):  # each of the two upstream tasks has half of every pane
            ids = list(range(first, first + 300))
            turns = PartTurns(TASKS, turn_rows=20)
            tasks = turns.tasks_of(pa.array([each % 6 for each in ids]).to_numpy()).tolist()
            expected |= dict(zip(ids, tasks, strict=True))
        assert task_of == expected
        told = metrics.take("here")["panes upstream"]
        assert [{part.pane: part.rows for part in tally.panes} for tally in told] == [
            dict.fromkeys(range(6), 50)
        ] * 2


class TestTasks:
    """How many tasks each stage has is for the policy to say."""

    @pytest.fixture(autouse=True)
    def _windows_by_all_tasks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Form windows as small as these by all tasks, though one would be done sooner."""
        monkeypatch.setattr(window_packing, "alone_if_sooner", lambda plan, *_: plan)

    def run(
        self, policy: Any, feed: Feed, finish: Finish, tmp_path: Path, batches: int = 2
    ) -> tuple[list[PanesSplit], list[WindowTasks], list[ps.Observation]]:
        rows = [panes_of(100.0 + 2 * n, [40] * 10, seed=n + 1) for n in range(batches)]
        read_from = feed([table(each) for each in rows], partitions=2)
        stream = ps.Stream.read(read_from, time="ts", watermark="0 seconds")
        best = stream.window(SLIDING).top_dominant(3, minimize=["x", "y"], name="best")
        out = ps.sinks.memory()
        journal = tmp_path / "journal"
        finish(best.to(out), policy=policy, slots=ps.LocalSlots(max=4), journal=str(journal))
        assert out.rows()
        bodies = [event.body for event in read(journal)]
        seen = [each.observation for each in bodies if isinstance(each, BatchFinished)]
        windows = [each for each in bodies if isinstance(each, WindowTasks)]
        return splits_of(journal, "best"), windows, seen

    def test_both_stages_have_the_tasks_that_were_decided(
        self, feed: Feed, finish: Finish, tmp_path: Path
    ) -> None:
        class Uneven:
            def decide(self, observation: ps.Observation) -> ps.Decision:
                tasks = {"best_partials": 3, "best": 2}
                return ps.Decision(4, "three for panes, two for windows", tasks)

        splits, windows, seen = self.run(Uneven(), feed, finish, tmp_path)
        assert {each.tasks for each in splits} == {3}
        assert {each.tasks for each in windows} == {2}
        of = {operator.name: operator for operator in seen[-1].operators}
        assert of["best_partials"].tasks == 3
        assert of["best_partials"].parts_per_pane == splits[-1].parts_per_pane
        assert of["best_partials"].utilisation == splits[-1].utilisation
        assert of["best"].utilisation == windows[-1].utilisation
        assert of["best"].parts_per_pane is None

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "policy",
        [
            ps.Static(2),
            ps.Fuzzy(interval=1),
            ps.AutoScalePlus(interval=1),
            ps.ReplicaPool(interval=1),
        ],
        ids=lambda policy: type(policy).__name__,
    )
    def test_any_policy_will_do(
        self, policy: Any, feed: Feed, finish: Finish, tmp_path: Path
    ) -> None:
        splits, windows, seen = self.run(policy, feed, finish, tmp_path, batches=5)
        assert len(splits) == len(seen) == 5
        assert all(1 <= each.tasks <= 4 for each in [*splits, *windows])
        assert all(1 <= each.parts_per_pane <= each.tasks for each in splits)
        assert any(operator.utilisation for operator in seen[-1].operators)
        if isinstance(policy, ps.Static):
            assert {each.tasks for each in [*splits, *windows]} == {2}
