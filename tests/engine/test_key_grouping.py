"""Where keys go, and what is told of it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.engine.columns import HASH, PANE
from penstock.engine.key_grouping import KeyGrouping
from penstock.engine.key_loads import KeyLoads, LoadsByKey
from penstock.engine.keyed_rows import key_hash
from penstock.journal.events import HotKeysChanged, KeyGroupsMoved
from penstock.journal.placement_events import KeyGroupsPlaced
from penstock.placement.key_groups import KeyGroups, KeyGroupState

GROUPS, TASKS = 8, 4
QUICK: dict[str, Any] = {"groups": GROUPS, "patience": 1, "smoothing": 1.0}


def grouping(migration: Any = "instant", hot: Sequence[int] = ()) -> KeyGrouping:
    state = KeyGroupState.fresh(GROUPS, TASKS).to_json()
    placement = KeyGroups(migration=migration, **QUICK)
    return KeyGrouping(placement, "sums", {"state": state, "hot": list(hot)})


def loads_of(keys: dict[int, float]) -> list[KeyLoads]:
    """What a task tells of keys with these seconds."""
    loads = LoadsByKey(GROUPS)
    for key, seconds in keys.items():
        loads.add(key, round(seconds * 1e9))
    return [loads.result()]


EVEN = dict.fromkeys(range(GROUPS), 1.0)
ONE_HOT = {**EVEN, 3: 20.0}
FIRST_TASK = {**EVEN, 0: 3.0, 4: 3.0}  # groups 0 and 4 belong to task 0


def learn(keyed: KeyGrouping, keys: dict[int, float], window: int = 0, closed: int = 0) -> None:
    keyed.learn(loads_of(keys), TASKS, window, closed)


@pytest.mark.parametrize("migration", ["instant", "smooth"])
def test_what_moves_is_told_at_once(migration: str) -> None:
    keyed = grouping(migration)
    learn(keyed, FIRST_TASK)
    assert not keyed.hands_over
    moved, placed = keyed.events(7, pause_seconds=0.0)
    assert isinstance(moved, KeyGroupsMoved)
    assert (moved.batch_id, moved.operator, moved.migration) == (7, "sums", migration)
    assert len(moved.moves) >= 1
    assert moved.reason.startswith("task 0 had 50 % of the load of 4 tasks; ")
    assert isinstance(placed, KeyGroupsPlaced)
    assert (placed.batch_id, placed.operator) == (7, "sums")
    owners = [group % TASKS for group in range(GROUPS)]
    for move in moved.moves:
        assert owners[move.group] == move.source
        owners[move.group] = move.target
    assert placed.owners == tuple(owners)
    assert list(keyed.events(8, 0.0)) == []


def test_what_moves_disruptively_is_told_with_the_pause_of_the_next_batch() -> None:
    keyed = grouping("disruptive")
    learn(keyed, FIRST_TASK)
    assert keyed.hands_over
    assert [type(event) for event in keyed.events(7, pause_seconds=0.0)] == [KeyGroupsPlaced]
    assert not keyed.hands_over
    (moved,) = keyed.events(8, pause_seconds=0.25)
    assert isinstance(moved, KeyGroupsMoved)
    assert (moved.batch_id, moved.pause_seconds) == (8, 0.25)


@pytest.mark.parametrize("migration", ["instant", "disruptive"])
def test_how_many_keys_are_hot_is_told_as_it_was_when_it_changed(migration: str) -> None:
    keyed, told = grouping(migration), []
    for batch, keys in enumerate([ONE_HOT, EVEN, EVEN]):
        learn(keyed, keys)
        told += [event for event in keyed.events(batch, 0.0) if isinstance(event, HotKeysChanged)]
    late = 1 if migration == "disruptive" else 0
    assert [(event.batch_id - late, event.keys) for event in told] == [(0, 1), (1, 0)]
    assert told[0].reason.startswith("one key had 74 % of the load")
    assert told[1].reason == "1 key fits into a task again"


def test_a_hot_key_is_no_load_of_its_group() -> None:
    keyed = grouping()
    learn(keyed, ONE_HOT)
    events = list(keyed.events(0, 0.0))
    assert [type(event) for event in events] == [HotKeysChanged, KeyGroupsPlaced]


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    """Keys of every kind of zero and NaN, of two panes."""
    return spark.range(0, 240, 1, 3).selectExpr(
        "CASE id % 6 WHEN 0 THEN 0.0D WHEN 1 THEN -0.0D WHEN 2 THEN double('NaN') "
        "WHEN 3 THEN -double('NaN') WHEN 4 THEN NULL ELSE 1.5D END AS k",
        f"id % 2 + 5 AS {PANE}",
        "id AS `x.y`",
        "map('a', id) AS m",
    )


def placed(keyed: KeyGrouping, df: DataFrame, *, ordered: bool = True) -> list[Any]:
    rows = keyed.place(df, ["k"], TASKS, ordered=ordered)
    return rows.withColumn("at", F.spark_partition_id()).collect()


def test_rows_that_spark_groups_together_are_together(df: DataFrame) -> None:
    rows = placed(grouping(), df)
    assert len(rows) == 240
    zeros = {(row.at, row[HASH]) for row in rows if row.k == 0}
    nans = {(row.at, row[HASH]) for row in rows if row.k is not None and math.isnan(row.k)}
    nulls = {(row.at, row[HASH]) for row in rows if row.k is None}
    assert len(zeros) == len(nans) == len(nulls) == 1
    assert all(row.at == row[HASH] % GROUPS % TASKS for row in rows)


@pytest.mark.parametrize("ordered", [True, False])
def test_rows_of_a_hot_key_go_round_and_the_same_way_again(df: DataFrame, ordered: bool) -> None:
    (zero,) = {
        row[0] for row in df.filter("k = 0").select(key_hash(df.schema, ["k"])).distinct().collect()
    }
    keyed = grouping(hot=[zero])
    rows = placed(keyed, df, ordered=ordered)
    of_zero = Counter(row.at for row in rows if row.k == 0)
    assert set(of_zero) == set(range(TASKS))
    assert max(of_zero.values()) <= 35  # of 80, so about 20 each
    assert len({row.at for row in rows if row.k == 1.5}) == 1
    again = df if ordered else df.sortWithinPartitions(F.col("`x.y`").desc())
    assert {row["x.y"]: row.at for row in placed(keyed, again, ordered=ordered)} == {
        row["x.y"]: row.at for row in rows
    }


def test_in_a_smooth_migration_windows_that_began_stay_where_they_were(df: DataFrame) -> None:
    keyed = grouping("smooth")
    before = {row.k: row.at for row in placed(keyed, df.filter("k = 1.5"))}[1.5]
    hashes = {row[HASH] for row in placed(keyed, df.filter("k = 1.5"))}
    (number,) = hashes
    group = number % GROUPS
    beside = (group + TASKS) % GROUPS  # of the same task
    # Most of the load is in two groups of one task, so that one of them must go.
    heavy = {**EVEN, number: 2.0, beside: 2.5}
    del heavy[group]
    learn(keyed, heavy, window=6)
    assert [type(event) for event in keyed.events(0, 0.0)] == [KeyGroupsMoved, KeyGroupsPlaced]
    at = {(row[PANE], row.at) for row in placed(keyed, df.withColumn("k", F.lit(1.5)))}
    assert {task for pane, task in at if pane == 5} == {before}
    assert before not in {task for pane, task in at if pane == 6}
    learn(keyed, EVEN, window=9, closed=6)  # all windows that began before are closed
    after = {row.at for row in placed(keyed, df.withColumn("k", F.lit(1.5)))}
    assert after == {task for pane, task in at if pane == 6}


@pytest.mark.parametrize(
    "document",
    [{}, [], "x", None, {"state": None, "hot": []}, {"state": {"table": 3}, "hot": [1]}],
)
def test_what_is_damaged_is_learnt_anew(document: Any) -> None:
    assert KeyGrouping(KeyGroups(**QUICK), "sums", document).to_json() == {}


def test_it_goes_on_with_what_it_knew() -> None:
    keyed = grouping()
    learn(keyed, {**FIRST_TASK, -5: 20.0})
    document = keyed.to_json()
    assert document["hot"] == [-5]
    again = KeyGrouping(KeyGroups(**QUICK), "sums", document)
    assert again.to_json() == document
    other = KeyGrouping(KeyGroups(groups=GROUPS * 2), "sums", document)
    assert other.to_json() == {}
