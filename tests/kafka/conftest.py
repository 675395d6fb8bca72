from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest
from kafka_jars import add_jars, broker_jars, connector_jars
from pyspark.sql import SparkSession

from lacking import lacking

if TYPE_CHECKING:
    from kafka_broker import KafkaBroker

# Looking it through for examples would import Kafka's client, which only these tests install.
collect_ignore = ["kafka_broker.py"]


@pytest.fixture(scope="session")
def connector(spark: SparkSession) -> list[str]:
    """Spark's Kafka connector, in the session of the tests; returns its jars."""
    jars = connector_jars(spark)
    add_jars(spark, jars)
    return jars


@pytest.fixture(scope="session")
def broker(spark: SparkSession, connector: list[str]) -> Iterator[KafkaBroker]:
    """One broker for a whole file: starting one takes seconds."""
    if find_spec("confluent_kafka") is None:
        lacking("Kafka's client is missing: pip install 'penstock[kafka-tests]'")
    from kafka_broker import running_broker

    with running_broker(broker_jars(spark)) as running:
        yield running
