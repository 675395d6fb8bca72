from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from kafka_reading import wait_until
from pyspark.sql import SparkSession

import penstock as ps
from documentation.blocks import DOCS, pages_that_need
from documentation.page_python import run_page

if TYPE_CHECKING:
    from kafka_broker import KafkaBroker

pytestmark = pytest.mark.kafka

PAGE = DOCS / "how-to" / "kafka.md"
TOPICS = ("clicks", "hot-clicks")


@pytest.fixture
def _topics(broker: KafkaBroker) -> Iterator[None]:
    """Make the topics that the page names."""
    for topic in TOPICS:
        broker.make_topic(topic, exact=True)
    yield
    for topic in TOPICS:
        broker.delete_topic(topic)


@pytest.mark.usefixtures("_topics")
def test_code_of_the_page_runs(spark: SparkSession, broker: KafkaBroker, tmp_path: Path) -> None:
    assert pages_that_need("a Kafka broker") == [PAGE]
    places = {
        "broker-1:9092,broker-2:9092": broker.servers,
        "broker-1:9092": broker.servers,
        "hdfs:///": f"{tmp_path}/",
    }
    ran = run_page(PAGE, tmp_path, "a Kafka broker", places)
    assert ran.blocks == 3
    writing, sink = ran.names["query"], ps.sinks.memory()
    reading = ps.run(ran.names["read"].to(sink), checkpoint=str(tmp_path / "read"))
    try:
        # Both take what comes after their first micro-batches.
        wait_until(lambda: writing.status().last is not None, writing)
        wait_until(lambda: reading.status().last is not None, reading)
        pages = enumerate(["home", "checkout", "cart", "checkout"])
        clicks = [{"user": f"u{n}", "ts": "2026-01-01 00:00:00", "page": page} for n, page in pages]
        broker.send("clicks", map(json.dumps, clicks))
        wait_until(lambda: len(sink.rows()) == 2, reading)
        assert writing.is_active, writing.exception()
    finally:
        writing.stop()
        reading.stop()
    found = {row.penstock_id: json.loads(row.click)["user"] for row in sink.rows()}
    assert sorted(found.values()) == ["u1", "u3"]
