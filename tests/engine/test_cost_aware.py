"""Rows placed by cost on real Spark: none lost, none doubled, dear ones apart."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import penstock as ps
from penstock import journal
from penstock.journal.events import BatchFinished, PlacementChanged
from sealed_text import sealed_text

Feed = Callable[..., DataFrame]
Finish = Callable[..., ps.Query]
Row = dict[str, Any]

EAGER = ps.CostAware(least_gain_seconds=0.0)
OUT = "id bigint, task int"
SIZE, TASKS = 240, 4  # costs are known from 200 rows on, so from the second batch on


def batches(count: int, every: int = 20, first: int = 0) -> list[pa.Table]:
    """Batches of rows of which one in ``every`` has the dear key 0: 12 of 240.

    In turn, every twentieth row falls to the same of 4 tasks, and every 21st to all of them.
    """
    keys = [0 if place % every == 0 else place % 7 + 1 for place in range(SIZE)]
    return [
        pa.table({"id": list(range(number * SIZE, (number + 1) * SIZE)), "k": keys})
        for number in range(first, first + count)
    ]


def done(row: Row) -> Row:
    """Say in which task it was."""
    context = TaskContext.get()
    assert context is not None
    return {"id": row["id"], "task": context.partitionId()}


def slow(row: Row) -> Row:
    if row["k"] in (0, "0"):
        time.sleep(0.01)
    return done(row)


class Restless:
    """A policy that asks for another number of tasks after every batch."""

    def __init__(self) -> None:
        self._numbers = iter([2, 4, 1, 3] * 9)

    def decide(self, observation: ps.Observation) -> ps.Decision:
        return ps.Decision(next(self._numbers), "a number of the list")


def changes(query: ps.Query) -> list[PlacementChanged]:
    bodies = [event.body for event in journal.read(query.journal_dir)]
    return [body for body in bodies if isinstance(body, PlacementChanged)]


def dear_rows(sink: Any, batch: int, every: int = 20) -> list[int]:
    """How many dear rows every task of a batch had, the fewest first."""
    dear = {batch * SIZE + place for place in range(0, SIZE, every)}
    found = Counter(row.task for row in sink.rows() if row.id in dear)
    return sorted(found[task] for task in range(TASKS))


def ids(sink: Any) -> list[int]:
    return sorted(row.id for row in sink.rows())


@pytest.mark.parametrize("partitions", [1, 2, 3])
def test_no_row_is_lost_or_doubled_while_the_number_of_tasks_changes(
    feed: Feed, finish: Finish, partitions: int
) -> None:
    sink = ps.sinks.memory()
    s = ps.Stream.read(feed(batches(5), partitions)).map(slow, OUT, cost_key="k", name="slow")
    query = finish(s.to(sink), placement=EAGER, policy=Restless())
    assert ids(sink) == list(range(5 * SIZE))
    assert set(Counter(row.task for row in sink.rows())) == set(range(TASKS))
    # One task is no reason to say that rows are dealt in turn from now on.
    assert {change.placement for change in changes(query)} == {"by cost"}


def test_dear_rows_are_shared_out_equally_where_turns_would_give_all_to_one_task(
    feed: Feed, finish: Finish
) -> None:
    sink = ps.sinks.memory()
    s = ps.Stream.read(feed(batches(3))).map(slow, OUT, cost_key="k", name="slow")
    query = finish(s.to(sink), placement=EAGER)
    assert dear_rows(sink, 0) == [0, 0, 0, 12]
    assert dear_rows(sink, 1) == dear_rows(sink, 2) == [3, 3, 3, 3]
    change = changes(query)[0]
    assert (change.batch_id, change.component, change.placement) == (0, "slow", "by cost")
    assert "of 240 rows on 4 slots a batch should end " in change.reason
    (waiting,) = [op for op in query.status().last.operators if op.name == "slow"]
    assert waiting.slowest_task_seconds < 3 * waiting.mean_task_seconds


def with_odd_names(df: DataFrame) -> DataFrame:
    keys = F.expr("IF(k = 3, NULL, string(k))")
    return df.withColumns({"k": keys, "x.y `z": F.col("id")}).repartition(3)


def with_maps(df: DataFrame) -> DataFrame:
    return df.withColumn("m", F.expr("map('a', id)")).repartition(3)


def with_nested_maps(df: DataFrame) -> DataFrame:
    return df.withColumn("m", F.expr("array(struct(map('a', id) AS `x.y`))")).repartition(3)


@pytest.mark.parametrize("change", [with_odd_names, with_maps, with_nested_maps])
def test_rows_that_a_users_shuffle_has_mixed_are_placed_by_cost_whatever_is_in_them(
    feed: Feed, finish: Finish, change: Callable[[DataFrame], DataFrame]
) -> None:
    sink = ps.sinks.memory()
    s = ps.Stream.read(change(feed(batches(2), 2))).map(slow, OUT, cost_key="k", name="slow")
    finish(s.to(sink), placement=EAGER)
    assert ids(sink) == list(range(2 * SIZE))
    assert dear_rows(sink, 1) == [3, 3, 3, 3]


def test_a_key_of_several_columns_and_of_times(feed: Feed, finish: Finish) -> None:
    """Only rows with both the key and the time are dear: one in 20, all in one task in turn."""

    def odd(row: Row) -> Row:
        if row["k"] == 0 and row["at"].second == 0:  # as 1700000040 is
            time.sleep(0.01)
        return done(row)

    at = F.expr("timestamp_seconds(1700000040 + id % 4)")
    df = feed(batches(2)).withColumns({"at": at, "k": F.expr("id % 5")})
    sink = ps.sinks.memory()
    s = ps.Stream.read(df).map(odd, OUT, cost_key=["at", "k"], name="odd")
    finish(s.to(sink), placement=EAGER)
    assert ids(sink) == list(range(2 * SIZE))
    assert dear_rows(sink, 0) == [0, 0, 0, 12]
    assert dear_rows(sink, 1) == [3, 3, 3, 3]


def test_upstream_tasks_that_ran_python_begin_at_different_tasks(
    feed: Feed, finish: Finish
) -> None:
    """Two Python branches of 4 tasks meet: each of the 8 has 3 dear rows to give away."""

    def same(row: Row) -> Row:
        return row

    fork = ps.Stream.read(feed(batches(2, every=21)))
    left = fork.map(same, "id bigint, k bigint", name="left")
    right = fork.map(same, "id bigint, k bigint", name="right")
    both = left.union(right).map(slow, OUT, cost_key="k", name="both")
    sink = ps.sinks.memory()
    finish(both.to(sink), placement=EAGER)
    assert ids(sink) == sorted([*range(2 * SIZE)] * 2)
    assert dear_rows(sink, 1, every=21) == [6, 6, 6, 6]


def test_a_branch_of_a_fork_is_placed_by_its_own_costs(feed: Feed, finish: Finish) -> None:
    """What several branches read is kept: the dear rows of one are not those of the other."""

    def other(row: Row) -> Row:
        if row["k"] == 5:
            time.sleep(0.01)
        return done(row)

    s = ps.Stream.read(feed(batches(2))).map(lambda row: row, "id bigint, k bigint", name="first")
    one, two = ps.sinks.memory(), ps.sinks.memory()
    query = finish(
        s.map(slow, OUT, cost_key="k", name="slow").to(one),
        s.map(other, OUT, cost_key="k", name="other").to(two),
        placement=EAGER,
    )
    assert ids(one) == ids(two) == list(range(2 * SIZE))
    assert dear_rows(one, 1) == [3, 3, 3, 3]
    assert {change.component for change in changes(query)} == {"slow", "other"}


def test_rows_that_fail_vanish_or_become_several_are_counted_once(
    feed: Feed, finish: Finish
) -> None:
    def moody(row: Row) -> Any:
        made = slow(row)
        if row["id"] % 5 == 0:
            raise ValueError("a fifth")
        if row["id"] % 5 == 1:
            return None
        return [made, made] if row["id"] % 5 == 2 else made

    sink, letters = ps.sinks.memory(), ps.sinks.memory()
    s = ps.Stream.read(feed(batches(3), 2))
    s = s.map(moody, OUT, cost_key="k", on_error="dead_letter", name="moody")
    query = finish(s.to(sink), s.dead_letters().to(letters), placement=EAGER)
    everything = range(3 * SIZE)
    expected = [i for i in everything for _ in range({2: 2, 3: 1, 4: 1}.get(i % 5, 0))]
    assert ids(sink) == expected
    failed = sorted(json.loads(row.row)["id"] for row in letters.rows())
    assert failed == [i for i in everything if i % 5 == 0]
    assert changes(query)[0].placement == "by cost"


def test_even_costs_stay_in_turn(feed: Feed, finish: Finish) -> None:
    sink = ps.sinks.memory()
    s = ps.Stream.read(feed(batches(3))).map(done, OUT, cost_key="k", name="quick")
    query = finish(s.to(sink), placement=ps.CostAware(least_gain_seconds=0.1))
    assert changes(query) == []
    assert ids(sink) == list(range(3 * SIZE))
    assert [dear_rows(sink, batch) for batch in range(3)] == [[0, 0, 0, 12]] * 3


def test_a_restart_goes_on_with_what_was_learnt_unless_it_is_damaged(
    feed: Feed, finish: Finish, tmp_path: Path
) -> None:
    def run(number: int) -> list[int]:
        sink = ps.sinks.memory()
        df = feed(batches(1, first=number))
        s = ps.Stream.read(df, name="rows").map(slow, OUT, cost_key="k", name="slow")
        finish(s.to(sink), placement=EAGER)
        assert ids(sink) == list(range(number * SIZE, (number + 1) * SIZE))
        return dear_rows(sink, number)

    assert run(0) == [0, 0, 0, 12]
    assert run(1) == [3, 3, 3, 3]
    (newest,) = (tmp_path / "checkpoint" / "commits").glob("*1.json")
    record = json.loads(newest.read_text())
    assert set(record["placement"]) == {"slow"}
    record["placement"]["slow"]["models"]["slow"]["sketch"]["counts"] = "no matrix"
    newest.write_text(sealed_text(record))
    assert run(2) == [0, 0, 0, 12]
    (newest,) = (tmp_path / "checkpoint" / "commits").glob("*2.json")
    record = json.loads(newest.read_text())
    newest.write_text(sealed_text({**record, "placement": ["damaged"]}))
    assert run(3) == [0, 0, 0, 12]


def caller(row: Row) -> Row:
    """Wait for dear rows, and say who called."""
    if row["k"] == 0:
        time.sleep(0.002)
    return {"id": row["id"], "by": sys._getframe(1).f_code.co_name}


def test_calls_are_timed_only_where_their_costs_are_wanted_and_no_job_is_added(
    feed: Feed, finish: Finish
) -> None:
    df, out = feed(batches(2)), "id bigint, by string"
    callers, jobs = [], []
    for number, (placement, key) in enumerate(
        [(ps.RoundRobin(), "k"), (EAGER, None), (EAGER, "k")]
    ):
        sink = ps.sinks.memory()
        s = ps.Stream.read(df).map(caller, out, cost_key=key, name="caller")
        query = finish(s.to(sink), placement=placement, checkpoint=f"run{number}")
        callers.append({row.by for row in sink.rows()})
        finished = [event.body for event in journal.read(query.journal_dir)]
        jobs.append([b.observation.jobs for b in finished if isinstance(b, BatchFinished)])
        assert bool(changes(query)) == (number == 2)
    assert callers == [{"_rows"}, {"_rows"}, {"timed"}]
    assert jobs[0] == jobs[1] == jobs[2]
    assert jobs[0][1] > 0


def test_batches_are_small_where_their_costs_are_wanted_and_rows_are_the_same(
    feed: Feed, finish: Finish
) -> None:
    def sized(batch: pa.RecordBatch) -> pa.RecordBatch:
        time.sleep(0.002 * batch["k"].to_pylist().count(0))
        kept = batch.filter(pa.compute.not_equal(batch["k"], 3))
        sizes = pa.array([batch.num_rows] * kept.num_rows, pa.int64())
        return pa.record_batch([kept["id"], sizes], ["id", "size"])

    df, found, sizes = feed(batches(3)), [], []
    for key in (None, "k"):
        sink = ps.sinks.memory()
        s = ps.Stream.read(df).map_batches(sized, "id bigint, size bigint", cost_key=key, name="b")
        query = finish(s.to(sink), placement=EAGER, checkpoint=f"key {key}")
        found.append(ids(sink))
        sizes.append(max(row["size"] for row in sink.rows()))
    assert found[0] == found[1]
    assert len(found[0]) == 3 * sum(key != 3 for key in batches(1)[0]["k"].to_pylist())
    assert sizes == [SIZE // TASKS, 16]
    assert [change.placement for change in changes(query)][:1] == ["by cost"]


def test_a_cost_key_behind_a_process_is_not_said_to_place_rows(feed: Feed, finish: Finish) -> None:
    """Rows of a process go by their keys, and what comes after it runs in the same stage."""

    def keep(key: Row, rows: list[Row], state: ps.KeyState) -> list[Row]:
        return [{"id": row["id"], "k": row["k"]} for row in rows]

    sink = ps.sinks.memory()
    s = ps.Stream.read(feed(batches(3))).group_by("k")
    kept = s.process(keep, state="n long", schema="id bigint, k bigint")
    query = finish(kept.map(slow, OUT, cost_key="k").to(sink), placement=EAGER)
    assert ids(sink) == list(range(3 * SIZE))
    assert changes(query) == []
