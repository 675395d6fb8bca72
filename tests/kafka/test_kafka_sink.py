"""The Kafka sink on a real broker: killed, read once, with a password, with mistakes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from kafka_reading import WITHIN_SECONDS, stream, table
from killed_kafka_job import outlets
from pyspark.sql import SparkSession

import penstock as ps
from penstock.errors import SinkError, TopologyError
from penstock.testing import fail_at

if TYPE_CHECKING:
    from kafka_broker import KafkaBroker

pytestmark = pytest.mark.kafka

JOB = Path(__file__).with_name("killed_kafka_job.py")
WORDS = ["a", "b", "b", "c", "c", "c", "d", "e"]


def test_killed_between_write_and_commit_each_row_is_there_once_for_who_knows_ids(
    spark: SparkSession, broker: KafkaBroker, connector: list[str], tmp_path: Path
) -> None:
    topic, copied = broker.make_topic("words", 3), broker.make_topic("copied", 3)
    broker.send(topic, WORDS * 13)
    checkpoint = str(tmp_path / "checkpoint")
    names = [broker.servers, topic, copied, checkpoint, ",".join(connector)]
    killed = subprocess.run(
        [sys.executable, str(JOB), *names],
        start_new_session=True,
        capture_output=True,
        timeout=WITHIN_SECONDS,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr[-4_000:]
    before = sum(broker.end_offsets(copied).values())
    # Another plan than that of the try before: rows are in other tasks.
    broker.set_partitions(copied, 5)
    query = ps.run(
        *outlets(spark, broker.servers, topic, copied),
        checkpoint=checkpoint,
        available_now=True,
        slots=ps.LocalSlots(max=2),
    )
    assert query.await_termination(WITHIN_SECONDS)

    expected = Counter({word: times * 13 for word, times in Counter(WORDS).items()})
    records = broker.records(copied)
    assert len(records) > expected.total() >= before > 40  # a batch is there twice
    ids = {dict(record.headers())["penstock-id"]: record.value().decode() for record in records}
    assert Counter(ids.values()) == expected
    assert all(key.decode().startswith(f"{query.id}/") for key in ids)

    once = ps.sources.kafka_once(table(spark, broker, copied))
    found = once.selectExpr("string(value) AS word", "penstock_id").collect()
    assert Counter(row.word for row in found) == expected
    assert {row.penstock_id.encode() for row in found} == set(ids)
    assert Counter(row.word for row in _streamed_once(spark, broker, copied, tmp_path)) == expected


def _streamed_once(spark: SparkSession, broker: KafkaBroker, topic: str, where: Path) -> list[Any]:
    """Read the topic by a stream in many small batches, so that repeats come in later ones."""
    records = stream(spark, broker, topic, maxOffsetsPerTrigger=35)
    once = ps.sources.kafka_once(records, within="1 day").selectExpr("string(value) AS word")
    sink = ps.sinks.memory()
    query = ps.run(
        ps.Stream.read(once).to(sink), checkpoint=str(where / "reader"), available_now=True
    )
    assert query.await_termination(WITHIN_SECONDS)
    return sink.rows()


@contextmanager
def packed(spark: SparkSession) -> Iterator[None]:
    """Let Spark read small files in one task."""
    settings = ("spark.sql.files.minPartitionNum", "1"), ("spark.sql.files.openCostInBytes", "0")
    for name, value in settings:
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, _ in settings:
            spark.conf.unset(name)


def test_sums_of_floats_that_end_in_other_bits_are_there_once_for_who_knows_ids(
    spark: SparkSession, broker: KafkaBroker, tmp_path: Path
) -> None:
    topic, where = broker.make_topic("sums", 3), str(tmp_path / "in")
    for part in range(3):
        # Each window has rows in three files, that are in tasks of their own or all in one.
        rows = spark.range(part * 600, part * 600 + 600, numPartitions=1).repartition(3)
        timed = rows.selectExpr("id % 5 AS key", "timestamp_seconds(id) AS ts", "sqrt(id) AS x")
        timed.write.mode("append").parquet(where)

    def run(slots: int, **options: Any) -> None:
        files = spark.readStream.schema("key bigint, ts timestamp, x double")
        read = ps.Stream.read(
            files.option("maxFilesPerTrigger", 3).parquet(where), time="ts", watermark="1 second"
        )
        sums = read.group_by("key").window(ps.tumbling("100 seconds")).aggregate(x=ps.sum("x"))
        query = ps.run(
            sums.to(ps.sinks.kafka(broker.servers, topic)),
            checkpoint=tmp_path / "checkpoint",
            available_now=True,
            slots=ps.LocalSlots(max=slots),
            **options,
        )
        assert query.await_termination(WITHIN_SECONDS)

    with pytest.raises(ps.QueryError, match="broken off"):
        run(3, on_step=fail_at("sinks", batch=1))
    assert broker.records(topic)
    with packed(spark):
        run(1)
    records = broker.records(topic)
    tries = {dict(record.headers())["penstock-id"]: set[bytes]() for record in records}
    for record in records:
        tries[dict(record.headers())["penstock-id"]].add(record.value())
    windows = [json.loads(min(values)) for values in tries.values()]
    assert (
        len(records) > len(windows) == len({(each["key"], str(each["window"])) for each in windows})
    )
    assert any(len(values) == 2 for values in tries.values()), "no sum ended in other bits"


def test_records_of_others_are_all_kept(spark: SparkSession, broker: KafkaBroker) -> None:
    topic = broker.make_topic("mixed")
    broker.send(topic, ["x", "x", None])
    sink = ps.sinks.kafka(broker.servers, topic, value="v")
    sink.open("query-1")
    for _ in range(2):
        sink.write(spark.createDataFrame([("y",), ("y",)], "v string"), 0)
    found = ps.sources.kafka_once(table(spark, broker, topic)).selectExpr("string(value) AS v")
    assert Counter(row.v for row in found.collect()) == {"x": 2, None: 1, "y": 2}


def test_keys_values_and_headers_arrive_as_they_are(
    spark: SparkSession, broker: KafkaBroker
) -> None:
    topic = broker.make_topic("shapes", 1)
    sink = ps.sinks.kafka(
        broker.servers, topic, key="n", value="raw", headers=["tags", "note"], unique_by=["n"]
    )
    sink.open("query-1")
    rows = [(1, b"\x00\xff", ["a", "b"], None), (2, None, [], "é")]
    sink.write(spark.createDataFrame(rows, "n int, raw binary, tags array<string>, note string"), 3)
    found = {record.key(): record for record in broker.records(topic)}
    one, two = found[b"1"], found[b"2"]
    assert (one.value(), two.value()) == (b"\x00\xff", None)
    assert dict(one.headers()) | {"penstock-id": b""} == {
        "tags": b'["a","b"]',
        "note": None,
        "penstock-id": b"",
    }
    assert dict(two.headers())["note"] == "é".encode()
    assert dict(one.headers())["penstock-id"].startswith(b"query-1/3/")


@pytest.mark.parametrize("is_cached", [False, True])
def test_rows_that_only_go_to_kafka_are_counted_and_move_the_watermark(
    spark: SparkSession, broker: KafkaBroker, tmp_path: Path, is_cached: bool
) -> None:
    topic, copied = broker.make_topic("timed"), broker.make_topic("copied")
    broker.send(topic, WORDS)
    columns = ["string(value) AS word", "timestamp'2026-01-01 00:00:00Z' AS ts"]
    rows = ps.Stream.read(
        stream(spark, broker, topic).selectExpr(*columns), time="ts", watermark="10 seconds"
    )
    outlets = [rows.to(ps.sinks.kafka(broker.servers, copied, value="word"))]
    if is_cached:
        outlets.append(rows.to(ps.sinks.memory()))
    query = ps.run(*outlets, checkpoint=str(tmp_path / "checkpoint"), available_now=True)
    assert query.await_termination(WITHIN_SECONDS)
    assert sorted((record.value() or b"").decode() for record in broker.records(copied)) == WORDS
    status = query.status()
    assert status.rows_in == len(WORDS)
    assert status.watermarks_seconds == {"source": 1767225600 - 10}


def test_a_password_is_used_and_never_shown(
    spark: SparkSession, broker: KafkaBroker, tmp_path: Path
) -> None:
    from kafka_broker import JAAS, PASSWORD

    login = {"kafka.security.protocol": "SASL_PLAINTEXT", "kafka.sasl.mechanism": "PLAIN"}
    secret = {**login, "kafka.sasl.jaas.config": JAAS}
    topic, copied = broker.make_topic("guarded"), broker.make_topic("copied")
    broker.send(topic, ["1", "2", "3"])
    records = stream(
        spark, broker, topic, **{**secret, "kafka.bootstrap.servers": broker.guarded_servers}
    )
    sink = ps.sinks.kafka(broker.guarded_servers, copied, options=secret)
    outlet = ps.Stream.read(records.selectExpr("string(value) AS v")).to(sink)
    query = ps.run(outlet, checkpoint=str(tmp_path / "ck"), available_now=True)
    assert query.await_termination(WITHIN_SECONDS)
    assert len(broker.records(copied)) == 3
    shown = [sink.describe(), repr(sink), *(query.explain(form) for form in ("text", "html"))]
    written = [file.read_bytes() for file in Path(query.journal_dir).rglob("*") if file.is_file()]
    kept = [file.read_bytes() for file in (tmp_path / "ck").rglob("*") if file.is_file()]
    assert written
    assert not any(PASSWORD in text for text in shown)
    assert not any(PASSWORD.encode() in text for text in (*written, *kept))

    wrong = JAAS.replace(PASSWORD, "wrong-word-55")
    for config in (wrong, "no login at all: wrong-word-55"):
        refused = ps.sinks.kafka(
            broker.guarded_servers, copied, options={**login, "kafka.sasl.jaas.config": config}
        )
        with pytest.raises(SinkError) as caught:
            refused.open("query-1")
        assert "wrong-word-55" not in str(caught.value)
        assert caught.value.__suppress_context__
    with pytest.raises(SinkError, match=r"refused the login .*Check kafka\.sasl"):
        ps.sinks.kafka(
            broker.guarded_servers, copied, options={**login, "kafka.sasl.jaas.config": wrong}
        ).open("query-1")


def test_mistakes_are_told_in_a_sentence(spark: SparkSession, broker: KafkaBroker) -> None:
    with pytest.raises(SinkError, match=r"no topic 'nowhere'.* --create --topic nowhere"):
        ps.sinks.kafka(broker.servers, "nowhere").open("query-1")
    quick = {"kafka.default.api.timeout.ms": "3000", "kafka.request.timeout.ms": "2000"}
    with pytest.raises(SinkError, match=r"no broker answers at 127\.0\.0\.1:9\. Check the address"):
        ps.sinks.kafka("127.0.0.1:9", "clicks", options=quick).open("query-1")
    topic = broker.make_topic("clicks")
    read = ps.Stream.read(stream(spark, broker, topic).selectExpr("string(value) AS v"))
    with pytest.raises(TopologyError, match=r"key column 'user', which is not among the columns v"):
        read.to(ps.sinks.kafka(broker.servers, topic, key="user"))


def test_a_topic_that_goes_while_a_query_runs_is_an_error_of_the_sink(
    spark: SparkSession, broker: KafkaBroker
) -> None:
    sink = ps.sinks.kafka(
        broker.servers, broker.make_topic("short"), options={"kafka.max.block.ms": "2000"}
    )
    sink.open("query-1")
    broker.delete_topic(sink.topic)
    with pytest.raises(SinkError, match=f"no topic '{sink.topic}'"):
        sink.write(spark.range(3), 0)
