"""Keyed operators among others: before, behind and beside them, and over restarts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import penstock as ps
from penstock import journal
from penstock.journal.events import KeyGroupsMoved, StateStored

Events = Callable[..., DataFrame]
Finish = Callable[..., ps.Query]


def count(key: dict[str, Any], rows: list[dict[str, Any]], state: ps.KeyState) -> dict[str, Any]:
    state.update(n=(state.value or {"n": 0})["n"] + len(rows))
    return {"user": key["user"], "n": state.value["n"]}


COUNT: dict[str, Any] = {"state": "n long", "schema": "user string, n long", "groups": 8}


def highest(rows: list[Any]) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in rows:
        found[row.user] = max(row.n, found.get(row.user, 0))
    return found


def users(table: DataFrame) -> dict[str, int]:
    return {row.user: row["count"] for row in table.groupBy("user").count().collect()}


def test_a_process_runs_though_nobody_wants_its_rows(events: Events, finish: Finish) -> None:
    """Spark leaves out what comes before a filter that no row passes; states must not be."""
    df = events(3, 40)
    s = ps.Stream.read(df, name="events")
    finish(s.group_by("user").process(count, **COUNT).filter("false").to(ps.sinks.memory()))
    events(1, 40, "events")  # a fourth file
    sink = ps.sinks.memory()
    s = ps.Stream.read(df, name="events")
    finish(s.group_by("user").process(count, **COUNT).to(sink))
    assert highest(sink.rows()) == users(events.table)


def test_maps_before_and_behind_run_beside_it_with_no_shuffle_of_their_own(
    events: Events, finish: Finish
) -> None:
    plans: list[str] = []

    def look(df: DataFrame, batch_id: int) -> None:
        plans.append(df._jdf.queryExecution().executedPlan().toString())
        sink_rows.extend(df.collect())

    sink_rows: list[Any] = []
    s = ps.Stream.read(events(2, 40))
    s = s.map(lambda row: {"user": row["user"]}, "user string", name="users")
    s = s.group_by("user").process(count, **COUNT)
    s = s.map(lambda row: {**row, "n": -row["n"]}, "user string, n long", name="minus")
    shown = s.explain()
    assert "count: Python(count) -> Python(minus)" in shown
    assert "bad rows stop the query, by user in 8 key groups" in shown
    finish(s.to(look), slots=ps.LocalSlots(max=2))
    assert {row.user: -row.n for row in sink_rows[-7:]} == users(events.table)
    # Two exchanges: to two tasks for the first map (one file is one partition), and by key.
    assert plans[0].count("Exchange shufflepartitionidpassthrough") == 2
    assert plans[0].count("MapInArrow") == 3


def test_several_read_one_process_and_its_function_is_called_once(
    events: Events, finish: Finish, tmp_path: Path
) -> None:
    calls = tmp_path / "calls"
    calls.mkdir()

    def counted(
        key: dict[str, Any], rows: list[dict[str, Any]], state: ps.KeyState
    ) -> dict[str, Any]:
        made = count(key, rows, state)
        (calls / f"{key['user']}-{rows[0]['id']}").touch(exist_ok=False)
        return made

    s = ps.Stream.read(events(3, 21)).group_by("user").process(counted, **COUNT)
    one, two = ps.sinks.memory(), ps.sinks.memory()
    doubled = s.map(lambda row: {**row, "n": 2 * row["n"]}, "user string, n long")
    finish(s.to(one), doubled.to(two))
    assert highest(one.rows()) == users(events.table)
    assert {user: n / 2 for user, n in highest(two.rows()).items()} == users(events.table)
    assert len(list(calls.iterdir())) == 21


def overdue(
    key: dict[str, Any], rows: list[dict[str, Any]], state: ps.KeyState
) -> dict[str, Any] | None:
    if state.timed_out:
        state.clear()
        return {"user": key["user"], "n": 1}
    state.update(n=1)
    when = rows[-1]["ts"] + timedelta(seconds=1)
    if state.watermark is None or when > state.watermark:
        state.set_timer(when)
    return None


@pytest.mark.parametrize("side", ["first", "last"])
def test_timers_come_once_also_where_a_union_follows(
    events: Events, finish: Finish, side: str
) -> None:
    """A union puts the tasks of both sides in one stage: their numbers there are others."""
    sink = ps.sinks.memory()
    s = ps.Stream.read(events(6, 10), time="ts", watermark="0 seconds")
    # Of seven users some come in the batches with even numbers, the others in the odd ones.
    taking_turns = "(id DIV 10 + int(substr(user, 2))) % 2 = 0"
    timed = s.filter(taking_turns).group_by("user").process(overdue, **COUNT)
    rest = s.select("'all' AS user", "id AS n").map(lambda row: row, "user string, n long")
    both = timed.union(rest) if side == "first" else rest.union(timed)
    finish(both.to(sink))
    told = Counter(row.user for row in sink.rows())
    assert told.pop("all") == 60
    assert set(told) == {f"u{number}" for number in range(7)}
    alone = ps.sinks.memory()
    again = ps.Stream.read(events(6, 10, "again"), time="ts", watermark="0 seconds")
    again = again.filter(taking_turns)
    finish(again.group_by("user").process(overdue, **COUNT).to(alone), checkpoint="alone")
    assert Counter(row.user for row in alone.rows()) == told


def test_complete_windows_may_be_processed_also_when_none_closes(
    events: Events, finish: Finish
) -> None:
    sink = ps.sinks.memory()
    s = ps.Stream.read(events(6, 30), time="ts", watermark="5 seconds")
    windows = s.group_by("user").window(ps.tumbling("20 seconds")).aggregate(c=ps.count())

    def add(key: dict[str, Any], rows: list[dict[str, Any]], state: ps.KeyState) -> dict[str, Any]:
        starts = [row["window"]["start"] for row in rows]
        assert starts == sorted(starts)
        state.update(n=(state.value or {"n": 0})["n"] + sum(row["c"] for row in rows))
        return {"user": key["user"], "n": state.value["n"]}

    finish(windows.group_by("user").process(add, **COUNT).to(sink))
    # The watermark ends at 1700000174: the last window closed ends at 1700000160.
    closed = users(events.table.filter("ts < timestamp_seconds(1700000160)"))
    assert highest(sink.rows()) == closed


def test_one_process_may_follow_another(events: Events, finish: Finish) -> None:
    def parity(
        key: dict[str, Any], rows: list[dict[str, Any]], state: ps.KeyState
    ) -> dict[str, Any]:
        state.update(n=(state.value or {"n": 0})["n"] + len(rows))
        return {"user": str(key["odd"]), "n": state.value["n"]}

    s = ps.Stream.read(events(3, 28)).group_by("user").process(count, **COUNT)
    s = s.select("n % 2 = 1 AS odd", "user").group_by("odd").process(parity, **COUNT)
    sink = ps.sinks.memory()
    finish(s.to(sink))
    # Each of seven users is seen three times, with 4, 8 and 12 rows.
    assert highest(sink.rows()) == {"False": 21}


def test_loaded_groups_move_to_idle_tasks_and_the_journal_says_why(
    events: Events, finish: Finish
) -> None:
    def slow(key: dict[str, Any], rows: list[dict[str, Any]], state: ps.KeyState) -> dict[str, Any]:
        import time

        if key["user"] in ("u0", "u1", "u2", "u3"):
            until = time.perf_counter() + 0.02
            while time.perf_counter() < until:
                pass
        return count(key, rows, state)

    sink = ps.sinks.memory()
    s = ps.Stream.read(events(6, 28)).group_by("user").process(slow, **COUNT | {"groups": 32})
    rule = ps.KeyGroups(patience=1, imbalance=0.01, smoothing=1.0)
    query = finish(s.to(sink), placement=rule, slots=ps.LocalSlots(max=3))
    assert highest(sink.rows()) == users(events.table)
    bodies = [event.body for event in journal.read(query.journal_dir)]
    moved = [body for body in bodies if isinstance(body, KeyGroupsMoved)]
    assert moved
    assert {body.operator for body in moved} == {"slow"}
    assert {body.migration for body in moved} == {"disruptive"}
    assert all(body.moves and "of the load of 3 tasks" in body.reason for body in moved)
    stored = [body for body in bodies if isinstance(body, StateStored)]
    assert [body.batch_id for body in stored] == list(range(6))
    assert all(body.bytes > 0 and body.written_bytes > 0 for body in stored)


def test_more_tasks_move_groups_and_the_journal_says_so(events: Events, finish: Finish) -> None:
    class Growing:
        def decide(self, observation: ps.Observation) -> ps.Decision:
            return ps.Decision(1 if observation.batch_id < 1 else 4, "more")

    sink = ps.sinks.memory()
    s = ps.Stream.read(events(4, 28)).group_by("user").process(count, **COUNT)
    query = finish(s.to(sink), policy=Growing())
    assert highest(sink.rows()) == users(events.table)
    bodies = [event.body for event in journal.read(query.journal_dir)]
    (moved,) = [b for b in bodies if isinstance(b, KeyGroupsMoved) and "instead" in b.reason]
    assert (moved.batch_id, len(moved.moves)) == (2, 6)
    assert moved.reason.startswith("there are 4 tasks instead of 1; 6 of 8 groups move")


def test_files_that_no_record_names_are_swept_away(
    events: Events, finish: Finish, tmp_path: Path
) -> None:
    df = events(2, 20)
    s = ps.Stream.read(df, name="events")
    finish(s.group_by("user").process(count, **COUNT).to(ps.sinks.memory()))
    state = tmp_path / "checkpoint" / "state" / "count"
    left = state / "000000000001-0-99999.arrow"
    left.write_bytes(b"of a try that failed")
    named = {path.name for path in state.iterdir()} - {left.name}
    record = json.loads((tmp_path / "checkpoint" / "commits" / "000000000001.json").read_text())
    assert {file[0] for file in record["keyed"]["count"]["files"]} == named
    s = ps.Stream.read(df, name="events")
    finish(s.group_by("user").process(count, **COUNT).to(ps.sinks.memory()))
    assert not left.exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"state": "n int"}, "'count' changed its state from n bigint to n int"),
        ({"groups": 16}, "'count' changed its key groups from 8 to 16"),
        ({"keys": ("user", "id")}, "'count' changed its keys from user string to user string, id"),
        ({"name": "other"}, "'count', which keeps state, is gone"),
    ],
)
def test_a_checkpoint_of_another_state_is_refused(
    events: Events, finish: Finish, change: dict[str, Any], words: str
) -> None:
    df = events(1, 10)
    finish(ps.Stream.read(df).group_by("user").process(count, **COUNT).to(ps.sinks.memory()))
    settings = COUNT | change
    keys = settings.pop("keys", ("user",))
    with pytest.raises(ps.CheckpointError, match=words):
        finish(ps.Stream.read(df).group_by(*keys).process(count, **settings).to(ps.sinks.memory()))


def test_two_that_would_be_called_the_same_need_names(events: Events, finish: Finish) -> None:
    s = ps.Stream.read(events(1, 10))
    one = s.group_by("user").process(count, **COUNT).to(ps.sinks.memory())
    two = s.group_by("id").process(count, **COUNT).to(ps.sinks.memory())
    with pytest.raises(ps.TopologyError, match=r"mix up whose state.*name='sessions'"):
        finish(one, two)


def test_rows_of_a_key_come_in_event_time_order_and_else_as_they_arrived(
    spark: SparkSession, finish: Finish, tmp_path: Path
) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [
        ("a", (number * 7) % 50, start + timedelta(seconds=number * 7 % 10)) for number in range(50)
    ]
    schema = "user string, x int, ts timestamp"
    spark.createDataFrame(rows, schema).coalesce(1).write.parquet(str(tmp_path / "mixed"))
    df = spark.readStream.schema(schema).parquet(str(tmp_path / "mixed"))

    def order(
        key: dict[str, Any], rows: list[dict[str, Any]], state: ps.KeyState
    ) -> dict[str, Any]:
        state.clear()
        return {"user": key["user"], "xs": [row["x"] for row in rows]}

    for name, time in (("timed", "ts"), ("plain", None)):
        sink = ps.sinks.memory()
        s = ps.Stream.read(df, time=time).group_by("user")
        finish(
            s.process(order, state="n int", schema="user string, xs array<int>").to(sink),
            checkpoint=name,
        )
        (seen,) = sink.rows()
        right = sorted(rows, key=lambda row: row[2]) if time else rows
        assert seen.xs == [row[1] for row in right]
