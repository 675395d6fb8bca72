from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame

import penstock as ps
from oracle import bag
from penstock import journal
from penstock.engine import control_loop, runner
from penstock.journal.events import DecisionMade, FaultSeen

Events = Callable[..., DataFrame]
Finish = Callable[..., ps.Query]


class Restless:
    """A policy that asks for another number of tasks after every batch."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.seen: list[tuple[int, int]] = []

    def decide(self, observation: ps.Observation) -> ps.Decision:
        used = {op.name: op.tasks for op in observation.operators}
        self.seen.append((observation.batch_id, used.get("same", 0)))
        slots = self._random.randint(1, 9)
        return ps.Decision(slots, f"a roll of the dice: {slots}")


def test_parallelism_changes_at_every_batch_without_a_restart_and_nothing_is_lost(
    events: Events, finish: Finish
) -> None:
    sink, policy = ps.sinks.memory(), Restless(7)
    s = ps.Stream.read(events(6, 40))
    s = s.map(
        lambda row: {"id": row["id"], "user": row["user"]}, "id bigint, user string", name="same"
    )
    query = finish(s.to(sink), policy=policy)
    assert bag(sink.rows()) == bag(events.table.select("id", "user"))
    wanted = [decision.slots for decision in query.decisions()]
    used = [tasks for batch_id, tasks in policy.seen if batch_id >= 0]
    # There are 4 slots, so no plan gets more; each batch ran as the decision before it said.
    chosen = [min(4, random_slots) for random_slots in _rolls(7, len(used))]
    assert used == chosen
    assert len(set(used)) > 1
    assert max(wanted) > 4


def _rolls(seed: int, count: int) -> list[int]:
    dice = random.Random(seed)
    return [dice.randint(1, 9) for _ in range(count)]


def test_tasks_may_be_set_for_one_component(events: Events, finish: Finish) -> None:
    class Uneven:
        def decide(self, observation: ps.Observation) -> ps.Decision:
            return ps.Decision(2, "a for three, the rest for two", {"a": 3})

    s = ps.Stream.read(events(2, 40))
    a = s.map(lambda row: {"id": row["id"]}, "id bigint", name="a")
    b = s.map(lambda row: {"id": row["id"]}, "id bigint", name="b")
    one, two = ps.sinks.memory(), ps.sinks.memory()
    query = finish(a.to(one), b.to(two), policy=Uneven())
    tasks = {op.name: op.tasks for op in query.status().last.operators}
    assert (tasks["a"], tasks["b"]) == (3, 2)
    assert len(one.rows()) == len(two.rows()) == 80


def test_rows_stay_where_they_are_when_the_partitions_fit(events: Events, finish: Finish) -> None:
    """One file is one partition: with one slot nothing moves, and nothing may be shuffled."""
    s = ps.Stream.read(events(2, 40)).map(lambda row: {"id": row["id"]}, "id bigint")
    plans: list[str] = []

    def look(df: DataFrame, batch_id: int) -> None:
        plans.append(df._jdf.queryExecution().executedPlan().toString())
        df.collect()

    finish(s.to(look), slots=ps.LocalSlots(max=1), checkpoint="one")
    assert all("Exchange" not in plan for plan in plans)
    plans.clear()
    finish(s.to(look), slots=ps.LocalSlots(max=3), checkpoint="three")
    assert all("Exchange shufflepartitionidpassthrough" in plan for plan in plans)


def test_rows_that_a_users_shuffle_has_mixed_are_dealt_by_spark_itself(
    events: Events, finish: Finish
) -> None:
    """A number by position would deal some rows twice if a shuffled partition came again."""
    plans: list[str] = []

    def look(df: DataFrame, batch_id: int) -> None:
        plans.append(df._jdf.queryExecution().executedPlan().toString())
        df.collect()

    mixed = events(1, 40).repartition(2)
    s = ps.Stream.read(mixed).map(lambda row: {"id": row["id"]}, "id bigint")
    finish(s.to(look), slots=ps.LocalSlots(max=3))
    assert "RoundRobinPartitioning(3)" in plans[0]
    assert "shufflepartitionidpassthrough" not in plans[0]


def test_neighbouring_python_operators_cross_to_python_once(events: Events, finish: Finish) -> None:
    plans: list[str] = []

    def look(df: DataFrame, batch_id: int) -> None:
        plans.append(df._jdf.queryExecution().executedPlan().toString())
        df.collect()

    def same(row: dict[str, Any]) -> dict[str, Any]:
        return row

    s = ps.Stream.read(events(1, 4)).select("id")
    for _ in range(3):
        s = s.map(same, "id bigint")
    s = s.filter("id > 0").map(same, "id bigint")
    finish(s.to(look))
    assert plans[0].count("MapInArrow") == 2


def test_a_policy_that_raises_is_journaled_and_the_last_plan_stays(
    events: Events, finish: Finish
) -> None:
    class Moody:
        def decide(self, observation: ps.Observation) -> ps.Decision:
            if observation.batch_id == 1:
                raise RuntimeError("not today")
            return ps.Decision(2, "two")

    sink = ps.sinks.memory()
    s = ps.Stream.read(events(3, 10)).map(lambda row: {"id": row["id"]}, "id bigint")
    query = finish(s.to(sink), policy=Moody())
    assert len(sink.rows()) == 30
    bodies = [event.body for event in journal.read(query.journal_dir)]
    faults = [body for body in bodies if isinstance(body, FaultSeen)]
    assert [(f.batch_id, f.what, f.detail) for f in faults] == [
        (1, "policy failed", "RuntimeError: not today")
    ]
    decided = [body.decision.reason for body in bodies if isinstance(body, DecisionMade)]
    assert decided == ["two"]
    assert query.decisions() == [ps.Decision(2, "two")]


class Learning:
    """Wants as many slots as batches it has seen, in this run and in those before."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    def decide(self, observation: ps.Observation) -> ps.Decision:
        self.batches.append(observation.batch_id)
        return ps.Decision(len(self.batches), f"{len(self.batches)} batches seen")

    def save(self) -> dict[str, Any]:
        return {"batches": self.batches}

    def load(self, state: dict[str, Any]) -> None:
        self.batches = list(state["batches"])


def test_a_restart_takes_up_the_plan_and_what_the_policy_learnt(
    events: Events, finish: Finish
) -> None:
    def mapped(stream: DataFrame) -> ps.Stream:
        return ps.Stream.read(stream).map(lambda row: {"id": row["id"]}, "id bigint", name="same")

    finish(mapped(events(2, 10)).to(ps.sinks.memory()), policy=Learning())
    again = Learning()
    query = finish(mapped(events(1, 10)).to(ps.sinks.memory()), policy=again)
    # The commit of batch 1 holds what was known before it was measured: the start, and batch 0.
    assert again.batches == [-1, 0, 2]
    assert [decision.slots for decision in query.decisions()] == [2, 3]
    assert {op.name: op.tasks for op in query.status().last.operators}["same"] == 2


class Fading:
    """One slot fewer at every look from the third on, as when executors are lost."""

    def __init__(self) -> None:
        self.looks = 0

    def available(self, context: object) -> int:
        self.looks += 1
        return max(1, min(4, 6 - self.looks))


def test_slots_that_are_lost_are_missed_in_the_very_next_batch(
    events: Events, finish: Finish
) -> None:
    seen: list[tuple[int | None, int]] = []

    class Greedy:
        def decide(self, observation: ps.Observation) -> ps.Decision:
            tasks = {op.name: op.tasks for op in observation.operators}
            seen.append((observation.used_slots, tasks.get("same", 0)))
            return ps.Decision(4, "four, whatever there are")

    sink = ps.sinks.memory()
    s = ps.Stream.read(events(3, 20)).map(lambda row: {"id": row["id"]}, "id bigint", name="same")
    finish(s.to(sink), policy=Greedy(), slots=Fading())
    assert len(sink.rows()) == 60
    assert seen[0] == (None, 0)
    used = [slots for slots, _ in seen[1:]]
    assert used == [tasks for _, tasks in seen[1:]]
    assert used == sorted(used, reverse=True)
    assert used[-1] == 1


def test_a_policy_is_told_who_reads_whom_and_who_waits_rather_than_works(
    events: Events, finish: Finish
) -> None:
    def wait(row: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0.01)
        return row

    def work(row: dict[str, Any]) -> dict[str, Any]:
        start = time.thread_time()
        while time.thread_time() - start < 0.005:
            pass
        return row

    s = ps.Stream.read(events(1, 20), name="users").select("id", name="ids")
    s = s.map(wait, "id bigint", name="wait").map(work, "id bigint", name="work")
    query = finish(s.to(ps.sinks.memory(), name="out"))
    last = query.status().last
    told = {op.name: op for op in last.operators}
    inputs = {name: op.inputs for name, op in told.items()}
    assert inputs == {
        "users": (),
        "ids": ("users",),
        "wait": ("ids",),
        "work": ("wait",),
        "out": ("work",),
    }
    assert told["wait"].cpu_seconds < told["wait"].busy_seconds / 2
    assert told["work"].cpu_seconds >= 20 * 0.005
    assert last.used_slots == 4
    assert last.cores is not None


def test_a_source_that_falls_silent_lets_slots_go(
    events: Events, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control_loop, "IDLE_SECONDS", 0.1)
    monkeypatch.setattr(runner, "IDLE_SECONDS", 0.1)
    silent = threading.Event()

    class Listening:
        def decide(self, observation: ps.Observation) -> ps.Decision:
            if observation.batch_id < 0 or observation.rows_in:
                return ps.Decision(4, "rows came")
            silent.set()
            return ps.Decision(1, "silence")

    sink = ps.sinks.memory()
    s = ps.Stream.read(events(1, 10)).map(lambda row: {"id": row["id"]}, "id bigint")
    query = ps.run(s.to(sink), checkpoint=str(tmp_path / "checkpoint"), policy=Listening())
    try:
        assert silent.wait(60)
    finally:
        query.stop()
    assert len(sink.rows()) == 10
    assert [decision.slots for decision in query.decisions()] == [4, 1]
