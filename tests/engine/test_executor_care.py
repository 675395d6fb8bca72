"""The rules of care, turn by turn, over a list of executors in place of a cluster manager."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Set
from dataclasses import replace

from penstock.engine.executor_care import ExecutorCare
from penstock.engine.executors import Executor, ExecutorBounds, ExecutorLedger
from penstock.journal.events import FaultSeen, KnownEvent, SlotsChanged

PATIENCE = 60


class Listed:
    """A cluster whose executors are a list, and which notes what it is asked for."""

    is_stopped = False

    def __init__(self, *names: str) -> None:
        self.there = {name: Executor(name, "host", 1) for name in names}
        self.cached: dict[str, set[str]] = {}
        self.is_busy = False
        self.requested: list[int] = []
        self.released: list[str] = []

    def executors(self) -> Mapping[str, Executor]:
        return self.there

    def cached_blocks(self) -> Mapping[str, Set[str]]:
        return self.cached

    def runs_jobs(self) -> bool:
        return self.is_busy

    def request(self, executors: int) -> bool:
        self.requested.append(executors)
        return True

    def release(self, executor_ids: Iterable[str]) -> tuple[str, ...]:
        going = tuple(executor_ids)
        self.released += going
        return going

    def come(self, *names: str) -> None:
        self.there = self.there | {name: Executor(name, "host", 1) for name in names}

    def lose(self, *names: str) -> None:
        self.there = {name: each for name, each in self.there.items() if name not in names}

    def run_task_on(self, name: str) -> None:
        self.there = self.there | {name: replace(self.there[name], running_tasks=1)}


def care_for(
    cluster: Listed, said: list[KnownEvent], *, least: int = 1, most: int = 8
) -> ExecutorCare:
    books = ExecutorLedger(ExecutorBounds(least, most, slots_each=1))
    return ExecutorCare(cluster, books, said.append, PATIENCE)


def reasons(said: list[KnownEvent]) -> str:
    return "; ".join(each.reason for each in said if isinstance(each, SlotsChanged))


def faults(said: list[KnownEvent]) -> list[str]:
    return [each.detail for each in said if isinstance(each, FaultSeen)]


def test_an_executor_that_cannot_leave_takes_the_pause_from_no_other() -> None:
    cluster, said = Listed("0", "1", "2"), list[KnownEvent]()
    cluster.is_busy = True
    cluster.cached = {"rdd_1_0": {"2"}}
    care = care_for(cluster, said)
    care.take_stock(initial_executors=3)
    care.ask(2)  # 2 leaves, and can't
    care.turn(now=0)
    care.turn(now=PATIENCE)
    assert cluster.released == []
    care.ask(1)  # 1 leaves too, and a job runs that may need what it shuffled
    care.turn(now=PATIENCE + 1)
    assert cluster.released == []
    care.turn(now=2 * PATIENCE + 1)
    assert cluster.released == ["1"]
    assert "executor 1 is let go while a job runs: it found no pause for 60 s" in reasons(said)


def test_why_an_executor_stays_is_said_once_and_truly() -> None:
    cluster, said = Listed("0", "1", "2"), list[KnownEvent]()
    cluster.cached = {"rdd_1_0": {"1"}}
    care = care_for(cluster, said)
    care.take_stock(initial_executors=3)
    care.ask(1)
    cluster.run_task_on("2")
    care.turn(now=0)
    assert "executor 1 can't leave: it holds the only copy of cached data" in reasons(said)
    assert "executor 2 can't leave" not in reasons(said)  # a task may end any moment
    for later in range(3):
        care.turn(now=PATIENCE + later)
    assert reasons(said).count("executor 1 can't leave") == 1
    assert reasons(said).count("executor 2 can't leave: it runs a task") == 1


def test_one_that_is_lost_is_journaled_as_a_fault_once() -> None:
    cluster, said = Listed("0", "1"), list[KnownEvent]()
    care = care_for(cluster, said)
    care.take_stock(initial_executors=2)
    care.ask(2)
    care.turn(now=0)
    assert faults(said) == []
    cluster.lose("1")
    care.turn(now=1)
    care.turn(now=2)
    assert [each for each in said if isinstance(each, FaultSeen)] == [
        FaultSeen(None, "executor lost", "executor 1 ended unasked; asking for another")
    ]


def test_one_that_ends_while_leaving_is_not_replaced() -> None:
    cluster, said = Listed("0", "1"), list[KnownEvent]()
    care = care_for(cluster, said)
    care.take_stock(initial_executors=2)
    care.ask(1)
    cluster.run_task_on("1")
    care.turn(now=0)
    cluster.lose("1")
    care.turn(now=1)
    assert faults(said) == [
        "executor 1 ended before it was let go; it was to leave, so none follows"
    ]
    assert cluster.requested == [1]
    cluster.lose("0")
    care.turn(now=2)
    assert faults(said)[1:] == ["executor 0 ended unasked; asking for another"]
    assert cluster.requested == [1, 1]


def test_nothing_is_requested_before_somebody_asks() -> None:
    cluster, said = Listed(), list[KnownEvent]()
    care = care_for(cluster, said, most=2)
    care.take_stock(initial_executors=None)
    cluster.come("0", "1", "2", "3")
    for now in (0, 2 * PATIENCE):
        care.turn(now)
    assert (cluster.requested, cluster.released, faults(said)) == ([], [], [])
    assert care.available() == 2  # of those that came by themselves, as many as max allows
    care.end()
    assert cluster.requested == []


def test_executors_that_come_before_anybody_asks_are_the_session_s_own() -> None:
    cluster, said = Listed("0"), list[KnownEvent]()
    care = care_for(cluster, said)
    care.take_stock(initial_executors=0)
    cluster.come("1", "2")
    care.turn(now=0)
    care.ask(1)
    care.turn(now=1)
    care.end()
    assert cluster.requested == [1, 3]


def test_an_application_without_a_limit_has_none_at_the_end() -> None:
    cluster, said = Listed("0", "1"), list[KnownEvent]()
    care = care_for(cluster, said)
    care.take_stock(initial_executors=None)
    care.ask(2)
    care.turn(now=0)
    cluster.come("2")
    cluster.is_busy = True
    care.turn(now=1)
    cluster.is_busy = False
    care.end()
    assert cluster.requested == [2, 2**31 - 1]
    assert cluster.released == []  # each would start again at once


def test_executors_beyond_max_are_no_surplus_of_a_session_that_had_them() -> None:
    cluster, said = Listed("0", "1", "2", "3"), list[KnownEvent]()
    cluster.is_busy = True
    care = care_for(cluster, said, most=2)
    care.take_stock(initial_executors=4)
    care.ask(2)
    care.turn(now=0)
    assert care.available() == 2
    cluster.is_busy = False
    care.end()
    assert (cluster.requested, cluster.released) == ([2, 4], [])


def test_a_surplus_is_given_back_at_the_end() -> None:
    cluster, said = Listed("0", "1"), list[KnownEvent]()
    care = care_for(cluster, said)
    care.take_stock(initial_executors=2)
    care.ask(4)
    care.turn(now=0)
    cluster.come("2", "3")
    care.turn(now=1)
    care.end()
    assert (cluster.requested, cluster.released) == ([4, 2], ["2", "3"])


class Slow(Listed):
    """A cluster that takes a request and does not answer until it is let."""

    def __init__(self, *names: str) -> None:
        super().__init__(*names)
        self.is_asked, self.may_answer = threading.Event(), threading.Event()

    def request(self, executors: int) -> bool:
        self.is_asked.set()
        assert self.may_answer.wait(30)
        return super().request(executors)


def test_a_care_that_was_given_up_does_nothing_more() -> None:
    cluster, said = Slow("0", "1"), list[KnownEvent]()
    care = care_for(cluster, said)
    care.start(initial_executors=2)
    care.ask(1)
    assert cluster.is_asked.wait(30)
    care.stop(within_seconds=0)
    cluster.may_answer.set()
    for thread in threading.enumerate():
        if thread.name == "penstock-executors":
            thread.join(30)
    assert (cluster.requested, cluster.released) == ([1], [])
    assert faults(said) == ["Spark did not answer within 0 s; the session keeps those it has"]
