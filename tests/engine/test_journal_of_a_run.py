"""What a journal says of a real run for people to look at: its plan, its keys, its windows."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame

import penstock as ps
from penstock.elasticity.control import Control
from penstock.engine.steps import Step
from penstock.journal import (
    BatchFinished,
    HottestKeys,
    KeyGroupsMoved,
    KeyGroupsPlaced,
    PanesStored,
    QueryStarted,
    TopologyPlanned,
    WindowsClosed,
    read,
)
from penstock.journal.control_file import write_control

Feed = Callable[..., DataFrame]
Finish = Callable[..., ps.Query]
Row = dict[str, Any]
Body = TypeVar("Body")

START = 1_700_000_000


def bodies(query: ps.Query) -> list[Any]:
    return [event.body for event in read(query.journal_dir)]


def of_kind(found: list[Any], kind: type[Body]) -> list[Body]:
    return [body for body in found if isinstance(body, kind)]


def batches(count: int, rows: int = 40) -> list[pa.Table]:
    """A batch a ten seconds of event time; every other row is Anna's."""
    names = ["anna" if number % 2 else f"u{number % 8}" for number in range(rows)]
    return [
        pa.table(
            {
                "user": names,
                "id": list(range(batch * rows, (batch + 1) * rows)),
                "ts": pa.array(
                    [(START + 10 * batch + number % 10) * 1_000_000 for number in range(rows)],
                    pa.timestamp("us", tz="UTC"),
                ),
            }
        )
        for batch in range(count)
    ]


def dear_anna(row: Row) -> Row:
    if row["user"] == "anna":
        time.sleep(0.002)
    return row


def count(key: Row, rows: list[Row], state: ps.KeyState) -> Row:
    if key["user"] == "anna":
        time.sleep(0.02)
    state.update(n=(state.value or {"n": 0})["n"] + len(rows))
    return {**key, **state.value}


def test_the_topology_is_told_as_the_query_starts(feed: Feed, finish: Finish) -> None:
    s = ps.Stream.read(feed(batches(1)), time="ts", watermark="0 seconds", name="taxis")
    mapped = s.map(dear_anna, "user string, id bigint, ts timestamp", name="slowly")
    windows = mapped.filter("id >= 0", name="known").group_by("user")
    windows = windows.window(ps.tumbling("10 seconds")).aggregate(n=ps.count(), name="tens")
    found = bodies(finish(windows.to(ps.sinks.memory(), name="out")))
    assert isinstance(found[0], QueryStarted)
    planned = found[1]
    assert isinstance(planned, TopologyPlanned)
    assert planned.batch_id == 0
    operators = {operator.name: operator for operator in planned.operators}
    kinds = {name: each.kind for name, each in operators.items()}
    assert kinds == {
        "taxis": "source",
        "slowly": "map",
        "known": "filter",
        "tens_partials": "partials",
        "tens": "window",
        "out": "sink",
    }
    assert {name for name, each in operators.items() if each.runs_python} == {"slowly"}
    assert operators["slowly"].inputs == ("taxis",)
    assert operators["known"].detail == "id >= 0"
    assert operators["known"].component == operators["slowly"].component == "slowly"
    seen = of_kind(found, BatchFinished)[0].observation
    assert {operator.name for operator in seen.operators} == set(operators)


def test_who_owns_key_groups_is_told_once_and_when_it_changes(feed: Feed, finish: Finish) -> None:
    s = ps.Stream.read(feed(batches(4)), time="ts", watermark="0 seconds")
    counted = s.group_by("user").process(
        count, state="n bigint", schema="user string, n bigint", groups=8, name="counted"
    )
    slots = iter([2, 2, 3, 3, 3])

    class Changing:
        def decide(self, observation: ps.Observation) -> ps.Decision:
            return ps.Decision(next(slots), "as written down")

    found = bodies(finish(counted.to(ps.sinks.memory()), policy=Changing()))
    placed = of_kind(found, KeyGroupsPlaced)
    assert placed[0] == KeyGroupsPlaced(0, "counted", (0, 1) * 4)
    for before, after in pairwise(placed):
        moves = [
            move
            for moved in of_kind(found, KeyGroupsMoved)
            if before.batch_id < moved.batch_id <= after.batch_id
            for move in moved.moves
        ]
        owners = list(before.owners)
        for move in moves:
            owners[move.group] = move.target
        assert after.owners == tuple(owners) != before.owners
    assert max(placed[-1].owners) == 2


def test_the_hottest_key_of_a_process_is_told_by_its_name(feed: Feed, finish: Finish) -> None:
    s = ps.Stream.read(feed(batches(2)), time="ts", watermark="0 seconds")
    counted = s.group_by("user").process(
        count, state="n bigint", schema="user string, n bigint", name="counted"
    )
    found = of_kind(bodies(finish(counted.to(ps.sinks.memory()))), HottestKeys)
    assert found[0].operator == "counted"
    first = found[0].keys[0]
    assert first.key == "anna"
    assert first.mean_seconds is not None
    assert first.mean_seconds >= 0.001  # 20 ms for 20 rows


def test_the_hottest_key_of_a_map_is_told_by_its_name(feed: Feed, finish: Finish) -> None:
    s = ps.Stream.read(feed(batches(2)), time="ts", watermark="0 seconds")
    mapped = s.map(
        dear_anna, "user string, id bigint, ts timestamp", cost_key="user", name="slowly"
    )
    query = finish(mapped.to(ps.sinks.memory()), placement=ps.CostAware())
    (first, *_) = of_kind(bodies(query), HottestKeys)
    assert (first.operator, first.keys[0].key) == ("slowly", "anna")
    assert first.keys[0].mean_seconds is not None
    assert first.keys[0].mean_seconds >= 0.002


#  batch    0         1         2         3          rows at 10 s each, watermark at the newest
#        |---------|---------|---------|---------|
#        0         10        20        30        40
#  closed          -         10        20        30  tens, as each batch ends
def test_open_windows_and_the_watermark_of_an_operator_are_told(feed: Feed, finish: Finish) -> None:
    s = ps.Stream.read(feed(batches(4)), time="ts", watermark="0 seconds")
    windows = s.group_by("user").window(ps.tumbling("10 seconds"))
    windows = windows.aggregate(n=ps.count(), name="tens")
    found = bodies(finish(windows.to(ps.sinks.memory())))
    stored = of_kind(found, PanesStored)
    assert [each.open_windows for each in stored] == [1, 1, 1, 1]
    assert [each.watermark_seconds for each in stored] == [START + 9 + 10 * n for n in range(4)]
    closed = of_kind(found, WindowsClosed)
    assert [each.newest_end_seconds for each in closed] == [START + 10 * n for n in (1, 2, 3)]


def test_what_is_asked_before_a_batch_is_planned_counts_for_it(
    feed: Feed, finish: Finish, tmp_path: Path
) -> None:
    journal = tmp_path / "journal"

    def ask(step: Step, batch_id: int) -> None:
        if step is Step.LOAD and batch_id == 1:
            write_control(journal, Control(forced_slots=1), by="anna")

    s = ps.Stream.read(feed(batches(3)), time="ts", watermark="0 seconds")
    finish(s.to(ps.sinks.memory()), slots=ps.LocalSlots(max=2), journal=str(journal), on_step=ask)
    found = of_kind([event.body for event in read(journal)], BatchFinished)
    assert [each.observation.used_slots for each in found] == [2, 1, 1]
