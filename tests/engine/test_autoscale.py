"""Plain streaming queries that nobody wrote for Penstock, looked after by it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

import penstock as ps
from penstock import journal
from penstock.elasticity.control import Control
from penstock.engine import autoscaler, own_queries
from penstock.engine.autoscaler import Autoscaler
from penstock.engine.progress_listener import Reported
from penstock.engine.spark_queries import SparkQueries
from penstock.journal import (
    BatchFinished,
    ControlTaken,
    DecisionMade,
    FaultSeen,
    ForecastMade,
    QueryStarted,
    QueryStopped,
    SlotsChanged,
)
from penstock.journal.control_file import write_control
from replay.loads import progress

WAIT_SECONDS = 60


class Counts:
    """Wants a slot for every 10 rows; fails when told to."""

    def __init__(self) -> None:
        self.seen: list[ps.Observation] = []
        self.fails = False

    def decide(self, observation: ps.Observation) -> ps.Decision:
        self.seen.append(observation)
        if self.fails:
            raise ZeroDivisionError("no rows to divide by")
        wanted = 1 + observation.rows_in // 10
        tasks = {"query": len(self.seen)}  # another number each time
        return ps.Decision(
            wanted,
            f"{observation.rows_in} rows take {wanted} slots",
            tasks,
            horizon_seconds=30.0,
            expected_rows={"query": float(observation.rows_in)},
        )


class Locked(Counts):
    """Holds what can't be copied."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


@dataclass
class FewSlots:
    """Stands in for a cluster: gives at once what it is asked for."""

    most: int = 50
    slots: int = 2
    asked: list[int] = field(default_factory=list)
    attached: list[Any] = field(default_factory=list)

    def available(self, context: SparkContext) -> int:
        return self.slots

    def attach(self, spark: SparkSession, write: Callable[[Any], None]) -> None:
        self.attached.append(spark)
        write(SlotsChanged(self.slots, self.slots, self.slots, self.slots, "there from the start"))

    def ask(self, slots: int) -> None:
        self.asked.append(slots)
        self.slots = slots

    def detach(self) -> None:
        self.attached.append(None)


def until(true: Callable[[], Any]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not true():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.05)


def listeners(spark: SparkSession) -> int:
    return len(spark.streams._jsqm.listListeners())


@pytest.fixture
def plain(
    spark: SparkSession, feed: Callable[..., DataFrame], request: pytest.FixtureRequest
) -> Iterator[Callable[..., StreamingQuery]]:
    """Return a starter of queries: batches of so many rows, counted into a table in memory."""
    import pyarrow as pa

    started: list[StreamingQuery] = []

    def start(*rows: int, name: str, **options: Any) -> StreamingQuery:
        tables = [pa.table({"id": list(range(each))}) for each in rows]
        counts = feed(tables, name=name).groupBy((F.col("id") % 3).alias("k")).count()
        writer = counts.writeStream.format("memory").outputMode("complete").queryName(name)
        started.append(writer.trigger(**options or {"processingTime": "200 milliseconds"}).start())
        return started[-1]

    yield start
    for query in started:
        query.stop()


def test_a_dry_run_says_what_it_would_do_and_changes_nothing(
    spark: SparkSession, plain: Callable[..., StreamingQuery], tmp_path: Path
) -> None:
    before, pool = listeners(spark), FewSlots()
    rate = spark.readStream.format("rate").option("rowsPerSecond", 20).load()
    windows = rate.groupBy(F.window("timestamp", "1 second")).count()
    writer = windows.writeStream.format("memory").outputMode("complete").queryName("early")
    early = writer.trigger(processingTime="500 milliseconds").start()
    scaler = ps.autoscale(
        spark, policy=Counts(), slots=pool, dry_run=True, journal=tmp_path / "journal"
    )
    late = plain(70, name="late")
    until(lambda: len({made.query for made in scaler.decisions()}) == 2)
    until(lambda: any(made.decision.slots == 8 for made in scaler.decisions()))
    status = scaler.status()
    assert (status.state, status.dry_run, status.slots) == ("watching", True, 4)
    watched = {each.query: each for each in status.queries}
    assert watched["late"].trigger_seconds == 0.2
    assert watched["late"].state_rows == 3
    late.stop()
    until(lambda: [each.query for each in scaler.status().queries] == ["early"])
    scaler.stop()
    assert early.isActive
    assert (listeners(spark), scaler.status().state) == (before, "stopped")
    assert (pool.asked, pool.attached) == ([], [])
    early.stop()
    ours = ("penstock-autoscale", "penstock-journal")
    assert not [each for each in threading.enumerate() if each.name in ours]

    bodies = [event.body for event in journal.read(tmp_path / "journal")]
    started = [body for body in bodies if isinstance(body, QueryStarted)]
    assert {body.name for body in started} == {"early", "late"}
    batches = [b for b in bodies if isinstance(b, BatchFinished) and b.query == "late"]
    seen = batches[0].observation
    assert (seen.rows_in, seen.trigger_seconds) == (70, 0.2)
    assert seen.most_slots is not None
    assert seen.most_slots < 50  # the other query wants some of them
    assert seen.operators[-1].busy_seconds > 0
    # Measured by Spark: a job of at least two stages, not every slot for all of the time.
    assert seen.jobs >= 1
    assert seen.operators[-1].busy_seconds < 4 * seen.batch_seconds
    decided = [b for b in bodies if isinstance(b, DecisionMade) and b.query == "late"]
    assert all(made.decision.tasks == {} for made in decided)
    assert [made.decision.reason for made in decided][:2] == [
        "0 rows take 1 slots",
        "70 rows take 8 slots",
    ]
    forecasts = [b for b in bodies if isinstance(b, ForecastMade) and b.query == "late"]
    assert forecasts[1].rows == {"query": 70.0}
    changes = [body for body in bodies if isinstance(body, SlotsChanged)]
    assert max(change.planned for change in changes) >= 8
    assert {(change.requested, change.observed) for change in changes} == {(4, 4)}
    assert all(change.reason.startswith("dry run, nothing is changed:") for change in changes)


def test_live_the_pool_is_asked_for_what_all_queries_take_together(
    spark: SparkSession, plain: Callable[..., StreamingQuery]
) -> None:
    pool = FewSlots()
    with ps.autoscale(spark, policy=Counts(), slots=pool, queries=["one", "two"]) as scaler:
        one = plain(40, name="one")
        until(lambda: pool.asked and pool.asked[-1] == 5)
        plain(90, name="left_alone")
        plain(20, name="two")
        until(lambda: pool.asked[-1] == 5 + 3)
        assert {made.query for made in scaler.decisions()} == {"one", "two"}
        one.stop()
        until(lambda: pool.asked[-1] == 3)
    assert pool.attached == [spark, None]


def test_what_somebody_asks_for_holds_for_all_queries_together(
    spark: SparkSession, tmp_path: Path
) -> None:
    pool, directory = FewSlots(), tmp_path / "journal"
    with ps.autoscale(spark, policy=Counts(), slots=pool, journal=directory) as scaler:
        hear(scaler, 0, 40, run="one")
        until(lambda: pool.asked == [5])
        write_control(directory, Control(max_slots=6), by="anna")
        hear(scaler, 0, 90, run="two")
        until(lambda: pool.asked[-1] == 6)  # of 5 and 10
        write_control(directory, Control(forced_slots=60), by="anna")
        until(lambda: pool.asked[-1] == 50)  # though nobody reports
        write_control(directory, Control(), by="anna")
        until(lambda: pool.asked[-1] == 15)
        decided = [made.decision.slots for made in scaler.decisions()]
    assert decided[-2:] == [1, 10]  # the policies don't hear of it
    bodies = [event.body for event in journal.read(directory)]
    taken = [body for body in bodies if isinstance(body, ControlTaken)]
    assert [(each.max_slots, each.forced_slots, each.by) for each in taken] == [
        (6, None, "anna"),
        (None, 60, "anna"),
        (None, None, "anna"),
    ]


def test_a_query_without_new_rows_gives_its_slots_back(
    spark: SparkSession, plain: Callable[..., StreamingQuery]
) -> None:
    every = "spark.sql.streaming.noDataProgressEventInterval"
    before = spark.conf.get(every)
    spark.conf.set(every, "100")
    try:
        with ps.autoscale(spark, policy=Counts(), slots=(pool := FewSlots())) as scaler:
            plain(60, name="still")
            until(lambda: pool.asked[-2:] == [7, 1])
            assert scaler.decisions()[-1].decision.reason == "0 rows take 1 slots"
    finally:
        spark.conf.set(every, before)


def test_what_goes_wrong_is_journaled_and_no_query_hears_of_it(
    spark: SparkSession, plain: Callable[..., StreamingQuery], tmp_path: Path
) -> None:
    class FailsOnRows(Counts):
        def decide(self, observation: ps.Observation) -> ps.Decision:
            self.fails = observation.rows_in == 30
            return super().decide(observation)

    scaler = ps.autoscale(
        spark, policy=FailsOnRows(), dry_run=True, journal=tmp_path / "j", queries="odd"
    )
    query = plain(20, 30, 40, name="odd")
    until(lambda: scaler.decisions() and scaler.decisions()[-1].decision.slots == 5)
    assert query.exception() is None
    scaler.stop()
    bodies = [event.body for event in journal.read(tmp_path / "j")]
    (fault,) = [body for body in bodies if isinstance(body, FaultSeen)]
    assert (fault.batch_id, fault.what) == (1, "the policy of odd failed")
    assert fault.detail == "ZeroDivisionError: no rows to divide by"


def test_queries_of_penstock_look_after_themselves(
    spark: SparkSession, events: Callable[..., DataFrame], finish: Callable[..., ps.Query]
) -> None:
    with ps.autoscale(spark, policy=Counts(), dry_run=True) as scaler:
        query = finish(ps.Stream.read(events(2, 10)).to(ps.sinks.memory()))
    assert scaler.decisions() == []
    assert query._run_id not in own_queries._running


def hear(scaler: Autoscaler, batch_id: int, rows: int, run: str = "run of nobody") -> None:
    """Leave a report as Spark's thread does."""
    report = progress(batch_id, 10.0 * batch_id, 2.0, rows, run=run)
    scaler._heard.put(Reported(json.dumps(report)))


class Slow(Counts):
    """Thinks about its first micro-batch until it is told to go on."""

    thinks, go_on = threading.Event(), threading.Event()

    def decide(self, observation: ps.Observation) -> ps.Decision:
        if observation.batch_id == 0:
            self.thinks.set()
            assert self.go_on.wait(WAIT_SECONDS)
        return super().decide(observation)


@pytest.fixture
def slow() -> Iterator[Slow]:
    Slow.thinks.clear()
    Slow.go_on.clear()
    yield Slow()
    Slow.go_on.set()


def test_reports_that_piled_up_wait_once_for_sparks_bookkeeping(
    spark: SparkSession, slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled: list[int] = []
    monkeypatch.setattr(SparkQueries, "settle", lambda self: settled.append(1))
    with ps.autoscale(spark, policy=slow, slots=FewSlots()) as scaler:
        hear(scaler, 0, 10)
        until(slow.thinks.is_set)
        for batch_id in range(1, 6):
            hear(scaler, batch_id, 10 * (batch_id + 1))
        slow.go_on.set()
        until(lambda: scaler.decisions()[-1].batch_id == 5)
    assert len(settled) == 2
    # Each was decided on, in order, for a policy learns from all of them.
    assert [made.decision.slots for made in scaler.decisions()] == [1, 2, 3, 4, 5, 6, 7]


def test_a_policy_that_thinks_too_long_changes_nothing_after_the_end(
    spark: SparkSession, slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(autoscaler, "_STOP_SECONDS", 0.1)
    pool = FewSlots()
    scaler = ps.autoscale(spark, policy=slow, slots=pool)
    hear(scaler, 0, 40)
    hear(scaler, 1, 90)
    until(slow.thinks.is_set)
    scaler.stop()
    slow.go_on.set()
    scaler._thread.join(WAIT_SECONDS)
    assert not scaler._thread.is_alive()
    assert (pool.asked, pool.attached) == ([], [spark, None])
    assert [made.batch_id for made in scaler.decisions()] == [-1]


def test_a_query_that_turns_out_to_be_penstocks_own_is_left_alone(
    spark: SparkSession, tmp_path: Path
) -> None:
    pool = FewSlots()
    with ps.autoscale(spark, policy=Counts(), slots=pool, journal=tmp_path / "j") as scaler:
        hear(scaler, 0, 40, run="own after all")
        until(lambda: pool.asked == [5])
        own_queries.note_own("own after all")
        hear(scaler, 1, 90, run="own after all")
        until(lambda: scaler.status().queries == ())
        until(lambda: pool.asked == [5, 1])
    own_queries.note_ended("own after all")
    bodies = [event.body for event in journal.read(tmp_path / "j")]
    assert QueryStopped("left alone", None, "name of q1") in bodies


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"slots": None}, r"nothing to change: no slots were given\. Write slots=ps\.Exec"),
        ({"slots": ps.LocalSlots(2)}, r"LocalSlots\(max=2\) can't be changed\. .* dry_run=True"),
        ({"policy": ps.Static, "dry_run": True}, r"policy is the class Static\. Give an object"),
        ({"policy": 4, "dry_run": True}, r"policy is 4\. Give an object that decides"),
        (
            {"policy": Locked(), "dry_run": True},
            r"a Locked can't be copied \(.*lock.*\), and every query",
        ),
        ({"queries": [], "dry_run": True}, r"queries=\[\] names no queries\. Write queries="),
        ({"journal": 3, "dry_run": True}, r"journal=3 is no directory\. Write for example"),
    ],
)
def test_what_can_not_work_is_refused(
    spark: SparkSession, arguments: dict[str, Any], told: str
) -> None:
    before = listeners(spark)
    with pytest.raises(ps.ConfigurationError, match=told):
        ps.autoscale(spark, **{"policy": Counts(), **arguments})
    assert listeners(spark) == before


def test_a_session_is_needed() -> None:
    with pytest.raises(ps.ConfigurationError, match=r"takes a SparkSession, not a str\. Write ps"):
        ps.autoscale("spark", policy=Counts())  # type: ignore[arg-type]
