"""What somebody asks of a running query: taken up, carried out, journaled, and given back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame

import penstock as ps
from oracle import bag
from penstock.elasticity.control import Control
from penstock.elasticity.decision import Decision
from penstock.elasticity.observation import Observation
from penstock.engine import control_loop
from penstock.engine.control_loop import ControlLoop, Remembered
from penstock.journal import BatchFinished, ControlTaken, DecisionMade, FaultSeen, KnownEvent, read
from penstock.journal.control_file import FILE_NAME, WatchedControl, write_control


def seen(batch_id: int, most_slots: int = 9) -> Observation:
    return Observation(batch_id, 100.0 + batch_id, 0.5, 1.0, slots=4, most_slots=most_slots)


class Growing:
    """Wants a slot more after every batch."""

    def __init__(self) -> None:
        self.shown: list[int] = []

    def decide(self, observation: Observation) -> Decision:
        self.shown.append(observation.batch_id)
        wanted = 3 + len(self.shown)
        return Decision(wanted, f"asking for {wanted}", {"parse": wanted})


class Pool:
    """Slots that only note what they are asked for."""

    most = 9

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.has_asked = threading.Event()

    def available(self, context: object) -> int:
        return 4

    def attach(self, spark: object, write: Callable[[KnownEvent], None]) -> None: ...

    def ask(self, slots: int) -> None:
        self.asked.append(slots)
        self.has_asked.set()

    def detach(self) -> None: ...


@pytest.fixture
def ask(tmp_path: Path) -> Callable[..., None]:
    def asked(**control: Any) -> None:
        write_control(tmp_path, Control(**control), by="anna", clock=lambda: 5.0)

    return asked


Ask = Callable[..., None]


def loop_in(
    directory: Path, events: list[KnownEvent], remembered: Remembered | None = None
) -> tuple[ControlLoop, Pool, Growing]:
    pool, policy = Pool(), Growing()
    watched = WatchedControl(directory)
    loop = ControlLoop(policy, pool, events.append, seen(-1), remembered, watched)
    return loop, pool, policy


def taken(events: list[KnownEvent]) -> list[ControlTaken]:
    return [event for event in events if isinstance(event, ControlTaken)]


def test_the_policy_goes_on_while_scaling_is_paused_and_has_the_say_afterwards(
    tmp_path: Path, ask: Ask
) -> None:
    events: list[KnownEvent] = []
    loop, pool, policy = loop_in(tmp_path, events)
    loop.observe(seen(0))
    ask(paused=True)
    loop.observe(seen(1))
    loop.observe(seen(2))
    held = loop.decision
    ask()
    loop.look_at_control()
    given_back = loop.decision
    loop.close()
    assert policy.shown == [-1, 0, 1, 2]
    assert (held.slots, held.held_by) == (5, ("control",))
    assert held.reason == "asking for 7; by control scaling is paused: so 5"
    assert given_back == Decision(7, "asking for 7", {"parse": 7})
    assert pool.asked == [4, 5, 5, 5, 7]
    assert [decision.slots for decision in loop.decisions] == [4, 5, 5, 5, 7]
    assert taken(events) == [
        ControlTaken(1, paused=True, by="anna", reason="scaling is paused, as anna asked"),
        ControlTaken(2, by="anna", reason="the policy decides, as anna asked"),
    ]


def test_what_is_asked_for_counts_for_the_next_batch_whatever_the_policy_says(
    tmp_path: Path, ask: Ask
) -> None:
    events: list[KnownEvent] = []
    loop, pool, policy = loop_in(tmp_path, events)
    ask(forced_slots=2)
    loop.look_at_control()
    assert loop.decision.slots == 2
    assert loop.decision.tasks == {"parse": 2}
    loop.look_at_control()
    loop.close()
    assert policy.shown == [-1]
    assert pool.asked == [4, 2]
    assert [type(event) for event in events] == [DecisionMade, ControlTaken, DecisionMade]


def test_slots_that_can_not_be_are_not_planned_and_the_reason_says_so(
    tmp_path: Path, ask: Ask
) -> None:
    loop, pool, _ = loop_in(tmp_path, [])
    ask(forced_slots=20)
    loop.look_at_control()
    loop.close()
    assert loop.decision.reason == (
        "asking for 4; by control 20 slots forced, of which there can be 9: so 9"
    )
    assert pool.asked == [4, 9]


def test_a_control_is_taken_up_in_silence(
    tmp_path: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control_loop, "LOOK_SECONDS", 0.01)
    loop, pool, _ = loop_in(tmp_path, [])
    pool.has_asked.clear()
    ask(min_slots=8)
    assert pool.has_asked.wait(10)
    loop.close()
    assert pool.asked == [4, 8]


def test_a_broken_control_is_told_once_and_the_last_good_one_stays(
    tmp_path: Path, ask: Ask
) -> None:
    events: list[KnownEvent] = []
    loop, _, _ = loop_in(tmp_path, events)
    ask(max_slots=3)
    loop.observe(seen(0))
    (tmp_path / FILE_NAME).write_text("{")
    loop.observe(seen(1))
    loop.observe(seen(2))
    loop.close()
    assert loop.decision.slots == 3
    faults = [event for event in events if isinstance(event, FaultSeen)]
    assert [(fault.batch_id, fault.what) for fault in faults] == [(1, "control can't be read")]
    assert "is no control: it is not JSON" in faults[0].detail


def test_a_restart_keeps_what_is_asked_for_and_says_so(tmp_path: Path, ask: Ask) -> None:
    ask(paused=True)
    events: list[KnownEvent] = []
    before = Remembered(Decision(2, "two before"), {})
    loop, pool, _ = loop_in(tmp_path, events, before)
    loop.close()
    assert pool.asked == [2]
    assert events[0] == ControlTaken(
        -1,
        paused=True,
        by="anna",
        reason="as the query starts: scaling is paused, as anna asked",
    )
    assert loop.decision.reason == "asking for 4; by control scaling is paused: so 2"


# --- on Spark -------------------------------------------------------------------------------------


def doubled(row: dict[str, Any]) -> dict[str, Any]:
    return {"id": row["id"], "twice": 2 * row["rate"]}


def test_a_running_query_does_as_it_is_asked_and_its_rows_are_the_same(
    events: Callable[..., DataFrame], finish: Callable[..., ps.Query], tmp_path: Path
) -> None:
    """Between its batches the query is paused at 1, limited, forced, and given back."""
    asked = {
        0: Control(forced_slots=1),
        2: Control(max_slots=2),
        4: Control(forced_slots=64),
        6: Control(paused=True),
        7: Control(),
    }
    journal = tmp_path / "journal"

    def ask(df: DataFrame, batch_id: int) -> None:
        df.collect()
        if batch_id in asked:
            write_control(journal, asked[batch_id], by="anna")

    sink = ps.sinks.memory()
    s = ps.Stream.read(events(9, 20)).map(doubled, "id bigint, twice double")
    finish(
        s.to(sink),
        s.to(ps.sinks.call(ask)),
        slots=ps.LocalSlots(max=3),
        policy=ps.Static(3),
        journal=str(journal),
    )
    bodies = [event.body for event in read(journal)]
    used = {
        body.observation.batch_id: body.observation.used_slots
        for body in bodies
        if isinstance(body, BatchFinished)
    }
    assert used == {0: 3, 1: 1, 2: 1, 3: 2, 4: 2, 5: 3, 6: 3, 7: 3, 8: 3}
    tasks = {
        body.observation.batch_id: operator.tasks
        for body in bodies
        if isinstance(body, BatchFinished)
        for operator in body.observation.operators
        if operator.name == "doubled"
    }
    assert tasks == used
    found = [body for body in bodies if isinstance(body, ControlTaken)]
    assert [
        Control(each.paused, each.min_slots, each.max_slots, each.forced_slots) for each in found
    ] == list(asked.values())
    for each, batch_id in zip(found, asked, strict=True):  # within the batch, or after it
        assert each.batch_id in (batch_id - 1, batch_id)
    held = [body.decision for body in bodies if isinstance(body, DecisionMade)]
    assert "64 slots forced, of which there can be 3: so 3" in held[3].reason
    assert held[-1].held_by == ()
    assert bag(sink.rows()) == bag(events.table.selectExpr("id", "2 * rate"))  # type: ignore[attr-defined]


def test_a_query_that_starts_again_is_still_held(
    events: Callable[..., DataFrame], finish: Callable[..., ps.Query], tmp_path: Path
) -> None:
    journal = tmp_path / "journal"
    for again in (False, True):
        s = ps.Stream.read(events(1, 10)).map(doubled, "id bigint, twice double")
        finish(s.to(ps.sinks.memory()), slots=ps.LocalSlots(max=3), journal=str(journal))
        if not again:
            write_control(journal, Control(forced_slots=2), by="anna")
    bodies = [event.body for event in read(journal)]
    used = [body.observation.used_slots for body in bodies if isinstance(body, BatchFinished)]
    assert used == [3, 2]
    (found,) = [body for body in bodies if isinstance(body, ControlTaken)]
    assert found.reason == "as the query starts: 2 slots forced, as anna asked"
