"""Public functions that need Spark, called with what nobody should give them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from fuzz.calling import Call, judge
from fuzz.spark_calls import spark_calls


@pytest.fixture(scope="module")
def calls(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Call]:
    return spark_calls(spark, tmp_path_factory.mktemp("fuzz"))


def mistakes_of(call: Call, name: str) -> list[str]:
    """Return every mistake that was not told in a sentence, all at once: Spark is slow to start."""
    told = []
    for parameter in call.parameters:
        for value in call.values:
            try:
                judge(call, {parameter: value})
            except AssertionError as error:
                told.append(f"{name}: {error}")
    return told


@pytest.mark.slow
def test_the_arguments_to_begin_with_are_right(calls: dict[str, Call]) -> None:
    errors = {name: judge(call, {}) for name, call in calls.items()}
    assert {name: error for name, error in errors.items() if error is not None} == {}


def test_building_a_stream_tells_every_mistake(calls: dict[str, Call]) -> None:
    chosen = {name: call for name, call in calls.items() if name.startswith(("Stream", "Outlet"))}
    assert [each for name, call in chosen.items() for each in mistakes_of(call, name)] == []


@pytest.mark.slow
def test_everything_else_tells_every_mistake(calls: dict[str, Call], tmp_path: Path) -> None:
    chosen = {name: c for name, c in calls.items() if not name.startswith(("Stream", "Outlet"))}
    assert [each for name, call in chosen.items() for each in mistakes_of(call, name)] == []
