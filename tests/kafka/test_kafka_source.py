"""Jobs that read a real broker: what waits, limits, restarts, faults."""

from __future__ import annotations

import json
import signal
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from kafka_reading import WITHIN_SECONDS, bodies, stream, wait_until
from pyspark.sql import SparkSession

import penstock as ps
from penstock.journal.events import BatchFinished, FaultSeen, LimitSet

if TYPE_CHECKING:
    from kafka_broker import KafkaBroker

pytestmark = pytest.mark.kafka


class Watching:
    """A policy that keeps what it sees and changes nothing."""

    def __init__(self) -> None:
        self.seen: dict[int, int | None] = {}

    def decide(self, observation: ps.Observation) -> ps.Decision:
        self.seen.setdefault(observation.batch_id, observation.waiting_rows)
        return ps.Decision(slots=2, reason="only watching")


def numbers(sink: Any) -> list[int]:
    return sorted(int(row.n) for row in sink.rows())


def test_what_waits_is_the_lag_and_a_restart_goes_on(
    spark: SparkSession, broker: KafkaBroker, tmp_path: Path
) -> None:
    topic = broker.make_topic("clicks", partitions=3)
    broker.send(topic, map(str, range(60)), partition=0)
    broker.send(topic, map(str, range(60, 90)), partition=1)  # and nothing in partition 2

    def run(sink: Any, policy: Watching) -> ps.Query:
        read = stream(spark, broker, topic, maxOffsetsPerTrigger=20)
        query = ps.run(
            ps.Stream.read(read.selectExpr("string(value) AS n")).to(sink),
            checkpoint=str(tmp_path / "checkpoint"),
            policy=policy,
            slots=ps.LocalSlots(max=2),
            available_now=True,
        )
        assert query.await_termination(WITHIN_SECONDS)
        return query

    first, watching = ps.sinks.memory(), Watching()
    query = run(first, watching)
    assert numbers(first) == list(range(90))
    rows = [body.observation.rows_in for body in bodies(query, BatchFinished)]
    lags = [90 - sum(rows[: at + 1]) for at in range(len(rows))]
    assert len(rows) >= 5
    assert lags[-1] == 0
    told = [body.observation.waiting_rows for body in bodies(query, BatchFinished)]
    # Spark reports a batch after it ended, so the very first is not known.
    assert told == [None, *lags[1:]]
    assert {at: lag for at, lag in watching.seen.items() if at > 0}.items() <= dict(
        enumerate(lags)
    ).items()
    assert max(watching.seen) > 0
    assert query.status().waiting_rows == 0

    broker.send(topic, map(str, range(90, 130)), partition=2)
    again = ps.sinks.memory()
    run(again, Watching())
    assert numbers(again) == list(range(90, 130))


def test_the_status_of_a_running_query_tells_the_lag(
    spark: SparkSession, broker: KafkaBroker, tmp_path: Path
) -> None:
    topic = broker.make_topic("clicks", partitions=2)
    broker.send(topic, map(str, range(50)))
    lags: dict[int, int | None] = {}
    queries: list[ps.Query] = []

    def look(step: Any, batch_id: int) -> None:
        # In a batch, the last report is that of the batch before.
        if step == "load" and queries:
            lags[batch_id - 1] = queries[0].status().waiting_rows

    read = stream(spark, broker, topic, maxOffsetsPerTrigger=10)
    sink = ps.sinks.memory()
    query = ps.run(
        ps.Stream.read(read.selectExpr("string(value) AS n")).to(sink),
        checkpoint=str(tmp_path / "checkpoint"),
        on_step=look,
    )
    queries.append(query)
    try:
        wait_until(lambda: len(sink.rows()) == 50, query)
        broker.send(topic, map(str, range(50, 65)))
        wait_until(lambda: len(sink.rows()) == 65, query)
        wait_until(lambda: query.status().waiting_rows == 0, query)
    finally:
        query.stop()
    assert numbers(sink) == list(range(65))
    first = {at: lag for at, lag in lags.items() if 0 < at < 4}
    assert first
    assert first.items() <= {0: 40, 1: 30, 2: 20, 3: 10}.items()


def test_admission_lowers_what_a_batch_takes(
    spark: SparkSession, broker: KafkaBroker, tmp_path: Path
) -> None:
    topic = broker.make_topic("clicks", partitions=2)
    broker.send(topic, map(str, range(200)))
    read = stream(spark, broker, topic, maxOffsetsPerTrigger=100)
    sink = ps.sinks.memory()
    query = ps.run(
        ps.Stream.read(read.selectExpr("string(value) AS n")).to(sink),
        checkpoint=str(tmp_path / "checkpoint"),
        admission=ps.Admission(batch="1 hour", min_rows=30, max_rows=30),
        available_now=True,
    )
    assert query.await_termination(WITHIN_SECONDS)
    rows = [body.observation.rows_in for body in bodies(query, BatchFinished)]
    assert numbers(sink) == list(range(200))
    # The first batch was planned by the source's own limit.
    assert rows[0] == 100
    assert rows[1:] == [30, 30, 30, 10]
    assert [body.rows for body in bodies(query, LimitSet)] == [30]
    assert not bodies(query, FaultSeen)


def test_a_partition_is_added_while_the_query_runs(
    spark: SparkSession, broker: KafkaBroker, tmp_path: Path
) -> None:
    topic = broker.make_topic("clicks", partitions=1)
    broker.send(topic, map(str, range(20)))
    sink = ps.sinks.memory()
    query = ps.run(
        ps.Stream.read(stream(spark, broker, topic).selectExpr("string(value) AS n")).to(sink),
        checkpoint=str(tmp_path / "checkpoint"),
    )
    try:
        wait_until(lambda: len(sink.rows()) == 20, query)
        broker.set_partitions(topic, 3)
        broker.send(topic, map(str, range(20, 35)), partition=2)
        broker.send(topic, map(str, range(35, 50)), partition=0)
        wait_until(lambda: len(sink.rows()) >= 50, query)
    finally:
        query.stop()
    assert numbers(sink) == list(range(50))


def test_the_broker_is_killed_and_comes_back_while_the_query_runs(
    spark: SparkSession, broker: KafkaBroker, tmp_path: Path
) -> None:
    topic, copied = broker.make_topic("clicks"), broker.make_topic("copied")
    broker.send(topic, map(str, range(20)))
    read = stream(spark, broker, topic).selectExpr("string(value) AS n")
    query = ps.run(
        ps.Stream.read(read).to(ps.sinks.kafka(broker.servers, copied, value="n")),
        checkpoint=str(tmp_path / "checkpoint"),
    )

    def there() -> int:
        return sum(broker.end_offsets(copied).values())

    try:
        wait_until(lambda: there() >= 20, query)
        broker.stop(signal.SIGKILL)
        broker.start()
        broker.send(topic, map(str, range(20, 45)))
        wait_until(lambda: there() >= 45, query)
    finally:
        query.stop()
    records = {dict(record.headers())["penstock-id"]: record for record in broker.records(copied)}
    assert sorted(int(record.value()) for record in records.values()) == list(range(45))


def read_click(row: dict[str, Any]) -> dict[str, Any]:
    click = json.loads(row["value"].decode())
    return {"user": click["user"], "page": click["page"]}


def test_records_that_nobody_can_read_go_to_the_dead_letters(
    spark: SparkSession, broker: KafkaBroker, tmp_path: Path
) -> None:
    topic, failed = broker.make_topic("clicks"), broker.make_topic("failed")
    good = [json.dumps({"user": f"u{n}", "page": "home"}) for n in range(30)]
    poison = [b"\xff\xfe\x00", "no JSON", None, '{"user": "u1"}', '["a", "list"]']
    broker.send(topic, [*good[:15], *poison, *good[15:]])
    clicks = ps.Stream.read(stream(spark, broker, topic).select("value", "partition", "offset"))
    read = clicks.map(read_click, "user string, page string", on_error="dead_letter")
    sink = ps.sinks.memory()
    query = ps.run(
        read.to(sink),
        read.dead_letters().to(ps.sinks.kafka(broker.servers, failed)),
        checkpoint=str(tmp_path / "checkpoint"),
        available_now=True,
    )
    assert query.await_termination(WITHIN_SECONDS)
    assert sorted(row.user for row in sink.rows()) == sorted(f"u{n}" for n in range(30))
    letters = [json.loads(record.value()) for record in broker.records(failed)]
    assert Counter(letter["error"] for letter in letters) == {
        "UnicodeDecodeError": 1,
        "JSONDecodeError": 1,
        "AttributeError": 1,
        "KeyError": 1,
        "TypeError": 1,
    }
    # A letter says where its record is, so that it can be looked at.
    assert all({"partition", "offset"} <= set(json.loads(each["row"])) for each in letters)
