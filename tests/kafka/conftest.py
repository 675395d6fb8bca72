from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from kafka_jars import add_jars, broker_jars, connector_jars
from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from kafka_broker import KafkaBroker


@pytest.fixture(scope="session")
def connector(spark: SparkSession) -> list[str]:
    """Spark's Kafka connector, in the session of the tests; returns its jars."""
    jars = connector_jars(spark)
    add_jars(spark, jars)
    return jars


@pytest.fixture(scope="session")
def broker(spark: SparkSession, connector: list[str]) -> Iterator[KafkaBroker]:
    """One broker for a whole file: starting one takes seconds."""
    pytest.importorskip("confluent_kafka", reason="install the extra 'kafka-tests'")
    from kafka_broker import running_broker

    with running_broker(broker_jars(spark)) as running:
        yield running
