"""Only jars that are not to be had let the tests of Kafka be skipped."""

from __future__ import annotations

import kafka_jars
import pytest
from kafka_jars import broker_jars, connector_jars
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

NOWHERE = "com.example.penstock:nothing:1.0"


@pytest.fixture
def _nothing_to_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_jars, "BROKER", NOWHERE)
    monkeypatch.setattr(kafka_jars, "CONNECTOR", NOWHERE.rpartition(":")[0])
    monkeypatch.setattr(kafka_jars, "_OLDER", (NOWHERE,))
    monkeypatch.setenv("CI", "true")


@pytest.mark.kafka
@pytest.mark.usefixtures("_nothing_to_be_had")
def test_jars_that_are_not_to_be_had_skip_and_say_why(spark: SparkSession) -> None:
    for jars in (broker_jars, connector_jars):
        with pytest.raises(
            pytest.skip.Exception, match=r"lacks com.example.penstock:nothing:.*unresolved"
        ):
            jars(spark)


@pytest.mark.parametrize("jars", [broker_jars, connector_jars])
def test_any_other_mistake_fails(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, jars: object
) -> None:
    assert callable(jars)
    monkeypatch.setattr(kafka_jars, "BROKER", "no coordinate")
    monkeypatch.setattr(kafka_jars, "CONNECTOR", "no coordinate")
    with pytest.raises(Py4JJavaError):
        jars(spark)
