from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.engine.slots import ElasticSlots


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"min": 0, "max": 2}, "min=0, max=2"),
        ({"min": 1.5, "max": 2}, "min=1.5"),
        ({"min": True, "max": 2}, "min=True"),
        ({"min": 3, "max": 2}, "min is not above max"),
        ({"max": 2, "cores_per_executor": 0}, "cores_per_executor=0 is no number"),
        ({"max": 2, "patience_seconds": 0}, "patience_seconds=0 is no time"),
        ({"max": 2, "patience_seconds": float("nan")}, "patience_seconds=nan is no time"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, int], message: str) -> None:
    with pytest.raises(ps.ConfigurationError, match=message):
        ps.ExecutorSlots(**settings)


def test_it_is_what_the_engine_looks_for() -> None:
    slots = ps.ExecutorSlots(min=2, max=8)
    assert isinstance(slots, ElasticSlots)
    assert slots.most == 8
    assert repr(slots) == "ExecutorSlots(min=2, max=8)"


def test_local_spark_has_no_executors_to_ask_for(spark: SparkSession) -> None:
    slots = ps.ExecutorSlots(max=8)
    for _ in range(2):  # a refusal leaves no claim behind
        with pytest.raises(ps.ConfigurationError, match=r"local\[4\]\. Use LocalSlots here"):
            slots.attach(spark, print)
    assert slots.counts is None


def test_slots_that_no_query_has_are_one_and_take_no_orders(spark: SparkSession) -> None:
    slots = ps.ExecutorSlots(max=8)
    slots.ask(5)
    assert slots.available(spark.sparkContext) == 1
    slots.detach()
