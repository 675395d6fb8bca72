"""Streams and tables of a topic, and waiting until something is so."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession

import penstock as ps
from penstock import journal

if TYPE_CHECKING:
    from kafka_broker import KafkaBroker

WITHIN_SECONDS = 300


def stream(spark: SparkSession, broker: KafkaBroker, topic: str, **options: Any) -> DataFrame:
    """The topic from its beginning, as Spark's source gives it."""
    return spark.readStream.format("kafka").options(**_options(broker, topic, options)).load()


def table(spark: SparkSession, broker: KafkaBroker, topic: str) -> DataFrame:
    """All that the topic holds now."""
    return spark.read.format("kafka").options(**_options(broker, topic, {})).load()


def _options(broker: KafkaBroker, topic: str, more: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "kafka.bootstrap.servers": broker.servers,
        "subscribe": topic,
        "startingOffsets": "earliest",
        "includeHeaders": "true",
        **more,
    }


def wait_until(is_so: Callable[[], object], query: ps.Query) -> None:
    """Look until something is so, as long as the query runs and no deadline has passed."""
    deadline, pause = time.monotonic() + WITHIN_SECONDS, threading.Event()
    while not is_so():
        assert query.is_active, query.exception()
        assert time.monotonic() < deadline
        pause.wait(0.1)


def bodies(query: ps.Query, kind: type) -> list[Any]:
    """What a query's journal says of one kind."""
    return [event.body for event in journal.read(query.journal_dir) if isinstance(event.body, kind)]
