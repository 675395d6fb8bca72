"""Windows of a user's aggregate, made where key groups are: the same results wherever they move."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import penstock as ps
from keyed_windows import DELAY, START, WINDOW, Event, batch, expected, same_key, table
from penstock import journal
from penstock.engine.steps import Step
from penstock.journal.events import BatchFinished, HotKeysChanged, KeyGroupsMoved
from penstock.journal.placement_events import HottestKeys, KeyGroupsPlaced
from penstock.journal.window_events import RowsLate
from penstock.testing import fail_at

Feed = Callable[..., DataFrame]
Finish = Callable[..., ps.Query]

GROUPS, TASKS = 16, 4
# One batch of an even load is enough to move groups, and one to decide.
QUICK: dict[str, Any] = {"groups": GROUPS, "patience": 1, "smoothing": 1.0}


class Sums(ps.Aggregate):
    """Counts and sums, and says which tasks had a part in it."""

    state = "n bigint, total bigint, tasks array<int>"
    result = state
    columns: Any = ("id",)

    def compute(self, state: pa.RecordBatch | None, batch: pa.RecordBatch) -> pa.RecordBatch:
        context = TaskContext.get()
        assert context is not None
        own = self._state(batch.num_rows, pc.sum(batch["id"]).as_py(), [context.partitionId()])
        return own if state is None else self.consolidate([state, own])

    def consolidate(self, states: list[pa.RecordBatch]) -> pa.RecordBatch:
        rows = [row for state in states for row in state.to_pylist()]
        tasks = sorted(set(chain.from_iterable(row["tasks"] for row in rows)))
        return self._state(sum(row["n"] for row in rows), sum(row["total"] for row in rows), tasks)

    def finish(self, state: pa.RecordBatch) -> dict[str, Any]:
        (row,) = state.to_pylist()
        return row

    def _state(self, n: int, total: int, tasks: list[int]) -> pa.RecordBatch:
        types = [("n", pa.int64()), ("total", pa.int64()), ("tasks", pa.list_(pa.int32()))]
        row = {"n": n, "total": total, "tasks": tasks}
        return pa.RecordBatch.from_pylist([row], pa.schema(types))


class Measured(Sums):
    """Seems to take a second for each row, so that a busy machine adds next to nothing to it.

    The clock is set for the one look at it after the call, and then goes right again.
    """

    def compute(self, state: pa.RecordBatch | None, batch: pa.RecordBatch) -> pa.RecordBatch:
        clock = time.perf_counter_ns
        end = clock() + 1_000_000_000 * batch.num_rows

        def once() -> int:
            time.perf_counter_ns = clock
            return end

        own = super().compute(state, batch)
        time.perf_counter_ns = once
        return own


def written(spark: SparkSession, path: Path) -> Iterator[tuple[tuple[int, Any], Any]]:
    for row in spark.read.parquet(str(path)).collect():
        start = row.window.start.replace(tzinfo=UTC) - START
        yield (int(start.total_seconds()), same_key(row.k)), row


def results(spark: SparkSession, path: Path) -> dict[Any, tuple[int, int]]:
    found = dict[Any, tuple[int, int]]()
    for key, row in written(spark, path):
        assert key not in found, f"{key} came twice"
        found[key] = (row.n, row.total)
    return found


def outlet(df: DataFrame, path: Path, aggregate: ps.Aggregate) -> ps.Outlet:
    s = ps.Stream.read(df, time="ts", watermark=f"{DELAY} seconds", name="rows")
    windows = s.group_by("k").window(ps.tumbling(f"{WINDOW} seconds"))
    return windows.reduce(aggregate, name="sums").to(ps.sinks.parquet(str(path)))


def events_of(query: ps.Query, kind: type) -> list[Any]:
    bodies = [event.body for event in journal.read(query.journal_dir)]
    return [body for body in bodies if isinstance(body, kind)]


@pytest.fixture(scope="module")
def keys_of_group(spark: SparkSession) -> dict[int, list[str]]:
    found: dict[int, list[str]] = defaultdict(list)
    keys = (
        spark.range(200)
        .selectExpr("concat('k', id) AS k")
        .selectExpr("k", f"pmod(xxhash64(k), {GROUPS}) AS g")
    )
    for row in keys.collect():
        found[row.g].append(row.k)
    return found


@pytest.fixture(scope="module")
def drifting(keys_of_group: dict[int, list[str]]) -> list[list[Event]]:
    """Four groups of one task get most rows, then one key does, then all are even."""
    dealt = (0, 4, 8, 12)  # in turn to 4 tasks
    one_each = [keys_of_group[group][0] for group in range(GROUPS)]
    of_first = [key for group in dealt for key in keys_of_group[group][1:3]]
    groups = [*(of_first * 2), *one_each[1:4], one_each[5]]  # 80 %
    key = keys_of_group[5][2]
    hot = [*([key] * 16), *one_each[:4]]  # 80 %
    phases = [groups, groups, hot, hot, one_each, one_each]
    return [batch(number, keys) for number, keys in enumerate(phases)]


PLACEMENTS = {
    "in turn": ps.RoundRobin(),
    "instant": ps.KeyGroups(migration="instant", **QUICK),
    "smooth": ps.KeyGroups(migration="smooth", **QUICK),
    # With more patience there is something to hand over when groups move.
    "disruptive": ps.KeyGroups(migration="disruptive", **{**QUICK, "patience": 2}),
}


@pytest.mark.parametrize("name", PLACEMENTS)
def test_groups_that_drift_move_and_results_stay(
    spark: SparkSession,
    feed: Feed,
    finish: Finish,
    tmp_path: Path,
    drifting: list[list[Event]],
    name: str,
) -> None:
    df = feed([table(events, pa.string()) for events in drifting])
    aggregate = Sums() if name == "in turn" else Measured()
    query = finish(outlet(df, tmp_path / "out", aggregate), placement=PLACEMENTS[name])
    windows, late = expected(drifting)
    assert late == 0
    assert results(spark, tmp_path / "out") == windows
    moved, hot = events_of(query, KeyGroupsMoved), events_of(query, HotKeysChanged)
    if name == "in turn":
        assert moved == hot == []
        return
    assert {event.migration for event in moved} == {name}
    assert {event.operator for event in [*moved, *hot]} == {"sums_partials"}
    told = 1 if name == "disruptive" else 0  # how long it took is known a batch later
    assert moved[0].batch_id == 2 * told
    assert moved[0].reason.startswith("task 0 had ")
    assert len(moved[0].moves) >= 2
    assert [(event.batch_id - told, event.keys) for event in hot] == [(2, 1), (4, 0)]
    assert hot[0].reason == (
        "one key had 80 % of the load and a task should carry 25 %: it is split over 4 tasks"
    )
    pauses = [event.pause_seconds for event in moved]
    assert (max(pauses) > 0) == (name == "disruptive")
    of_hot = {event.batch_id: event.keys[0] for event in events_of(query, HottestKeys)}[2]
    names = [name for _, name, _ in drifting[2]]
    assert names.count(of_hot.key) == 0.8 * len(names)
    assert of_hot.mean_seconds == pytest.approx(1.0, rel=0.01)
    assert 0.3 < of_hot.share <= 0.8  # the batches before it count too
    placed = events_of(query, KeyGroupsPlaced)
    assert placed[0].batch_id == 0
    assert len({event.owners for event in placed}) == len(placed) > 1


def test_rows_of_a_key_are_together_unless_it_is_hot(
    spark: SparkSession,
    feed: Feed,
    finish: Finish,
    tmp_path: Path,
    keys_of_group: dict[int, list[str]],
) -> None:
    key, others = keys_of_group[5][2], [keys_of_group[group][0] for group in range(4)]
    hot = [batch(number, [*([key] * 16), *others]) for number in range(6)]
    df = feed([table(events, pa.string()) for events in hot], 2)
    finish(
        outlet(df, tmp_path / "out", Measured()),
        placement=ps.KeyGroups(**{**QUICK, "imbalance": 9.0}),
    )
    tasks = {key: row.tasks for key, row in written(spark, tmp_path / "out")}
    owners = {(start, other): [place] for start in (0, 20) for place, other in enumerate(others)}
    assert {each: tasks[each] for each in owners} == owners
    assert tasks[20, key] == [0, 1, 2, 3]
    assert 1 in tasks[0, key]  # where group 5 belongs, before it was known to be hot


class Restless:
    """A policy that asks for another number of tasks after every batch."""

    def __init__(self) -> None:
        self._numbers = iter([2, 4, 1, 3] * 9)

    def decide(self, observation: ps.Observation) -> ps.Decision:
        return ps.Decision(next(self._numbers), "a number of the list")


def test_a_broken_run_goes_on_while_the_number_of_tasks_changes(
    spark: SparkSession,
    feed: Feed,
    finish: Finish,
    tmp_path: Path,
    drifting: list[list[Event]],
) -> None:
    df, policy = feed([table(events, pa.string()) for events in drifting]), Restless()

    def run(**options: Any) -> ps.Query:
        placement = ps.KeyGroups(migration="smooth", **QUICK)
        return finish(
            outlet(df, tmp_path / "out", Measured()), placement=placement, policy=policy, **options
        )

    for step, number in ((Step.WINDOWS, 2), (Step.COMMIT, 4)):
        with pytest.raises(ps.QueryError):
            run(on_step=fail_at(step, number))
    query = run()
    assert results(spark, tmp_path / "out") == expected(drifting)[0]
    reasons = [event.reason for event in events_of(query, KeyGroupsMoved)]
    assert sum(reason.startswith("there are ") for reason in reasons) >= 3


def test_a_restart_goes_on_with_the_table_and_the_hot_keys(
    spark: SparkSession,
    feed: Feed,
    finish: Finish,
    tmp_path: Path,
    drifting: list[list[Event]],
) -> None:
    """What was decided before the restart is not decided again after it."""
    placement = ps.KeyGroups(**QUICK)
    first, hot = drifting[:3], drifting[3:4]
    df = feed([table(events, pa.string()) for events in first])
    finish(outlet(df, tmp_path / "out", Measured()), placement=placement)
    feed([table(events, pa.string()) for events in hot])
    query = finish(outlet(df, tmp_path / "out", Measured()), placement=placement)
    assert results(spark, tmp_path / "out") == expected([*first, *hot])[0]
    assert [event.batch_id for event in events_of(query, HotKeysChanged)] == [2]


class WideSums(Sums):
    """Reads all columns, whatever their names and types."""

    columns = None


class WideMeasured(Measured):
    columns = None


def test_keys_of_every_kind_of_zero_and_none_and_rows_that_come_late(
    spark: SparkSession, feed: Feed, finish: Finish, tmp_path: Path
) -> None:
    """The rows are mixed by a shuffle of the user's own, and hold what Spark does not hash."""
    keys = [0.0, -0.0, math.nan, None, 1.5, -0.0, 0.0, 0.0, -0.0, 0.0]
    batches = [batch(number, keys) for number in range(6)]
    # Two rows come late, after their window [20, 40) was closed.
    batches[5] += [(9_001, None, 25), (9_002, -0.0, 39)]
    df = feed([table(events, pa.float64()) for events in batches])
    df = df.withColumns({"x.y `z": F.col("id"), "m": F.expr("map('a', id)")}).repartition(3)
    windows, late = expected(batches)
    assert late == 2
    observed = []
    turns = ("turns", ps.RoundRobin(), WideSums())
    groups = ("groups", ps.KeyGroups(**QUICK), WideMeasured())
    for name, placement, aggregate in (turns, groups):
        out = outlet(df, tmp_path / name, aggregate)
        query = finish(out, placement=placement, checkpoint=f"{name} checkpoint")
        assert results(spark, tmp_path / name) == windows
        assert sum(event.rows for event in events_of(query, RowsLate)) == late
        finished = [event.observation for event in events_of(query, BatchFinished)]
        observed.append([[op.rows_in for op in each.operators][:2] for each in finished])
    # Zeros have 70 %; of what they leave, each of the others is more than a task's share.
    assert [event.keys for event in events_of(query, HotKeysChanged)] == [4]
    assert observed[0] == observed[1]  # also of the batch with rows that were late
