"""That a public name which nobody fuzzes is noticed."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import is_dataclass
from types import UnionType
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock.testing
from fuzz.public_calls import CALLS
from fuzz.spark_calls import spark_calls
from penstock import catalogue, journal, secrets, sinks, sources

# Made by Penstock itself and handed to users, who have no arguments to give.
MADE_BY_US = {
    "Autoscaler",
    "Grouped",
    "OperatorError",
    "Outlet",
    "Query",
    "Stream",
    "Windowed",
    "testing.BatchesRun",
}
# What users write for Penstock to call: their code, not ours.
WRITTEN_BY_USERS = {
    "Aggregate",
    "Placement",
    "Policy",
    "Watermark",
    "WindowAggregate",
    "sinks.Sink",
    "sources.Pattern",
    "testing.BrokenOff",
}
# Called by the engine with what it made: borders, states of groups, settings of an aggregation.
CALLED_BY_THE_ENGINE = {
    "CostAware.expression",
    "CostAware.fits",
    "ExecutorSlots.attach",
    "ExecutorSlots.available",
    "KeyGroups.expression",
    "KeyGroups.fits",
    "KeyGroups.observe",
    "KeyGroups.rebalanced",
    "KeyGroups.resized",
    "LeastLoaded.expression",
    "LeastLoaded.fits",
    "RoundRobin.expression",
    "RoundRobin.fits",
}
# Asked of a query that runs: tests/engine/test_regrouping.py has its wrong arguments.
OF_A_RUNNING_QUERY = {"Query.adapt"}
# Needs a sink that stands, and writes to it: tests/testing has its mistakes.
ELSEWHERE = {"Topology.is_fork", "Topology.upstream", "testing.check_sink"}


def takes_arguments(function: Any) -> bool:
    try:
        named = inspect.signature(function).parameters
    except ValueError:
        return True
    return any(name not in ("self", "cls") for name in named)


def is_record(found: Any) -> bool:
    """Whether it only says what a journal's line does: made by the engine, and by readers."""
    return isinstance(found, int | UnionType) or is_dataclass(found) or found is journal.Cursor


def public_names() -> Iterator[str]:
    """Give every public function, class and method that can be given an argument."""
    places = (
        ("", catalogue),
        ("sinks.", sinks),
        ("sources.", sources),
        ("testing.", penstock.testing),
        ("journal.", journal),
    )
    for prefix, place in places:
        for name in place.__all__:
            found = getattr(place, name)
            if inspect.ismodule(found) or (place is journal and is_record(found)):
                continue
            if takes_arguments(found):
                yield f"{prefix}{name}"
            if inspect.isclass(found):
                yield from (f"{prefix}{name}.{each}" for each in methods(found))


def methods(kind: type) -> Iterator[str]:
    for name, found in inspect.getmembers(kind, callable):
        ours = str(getattr(found, "__module__", "")).startswith("penstock")
        if not name.startswith("_") and ours and takes_arguments(found):
            yield name


@pytest.fixture(scope="module")
def fuzzed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    return {*CALLS, *spark_calls(spark, tmp_path_factory.mktemp("names"))}


def test_every_public_name_is_fuzzed_or_said_why_not(fuzzed: set[str]) -> None:
    left = {
        name
        for name in public_names()
        if name.split(".")[0] not in WRITTEN_BY_USERS
        and name not in WRITTEN_BY_USERS | MADE_BY_US | CALLED_BY_THE_ENGINE
        and name not in OF_A_RUNNING_QUERY | ELSEWHERE
        and not name.startswith(("sinks.Sink.", "sources.Pattern."))
    }
    assert left <= fuzzed, sorted(left - fuzzed)


def is_there(name: str) -> bool:
    """Whether a name that is written here is still one of Penstock's."""
    first, *rest = name.split(".")
    beside = {"testing": penstock.testing, "journal": journal, "secrets": secrets}
    found: Any = beside.get(first) or getattr(catalogue, first, None)
    for each in rest:
        found = getattr(found, each, None)
    return found is not None


def test_no_name_is_left_out_that_is_gone(fuzzed: set[str]) -> None:
    said = MADE_BY_US | WRITTEN_BY_USERS | CALLED_BY_THE_ENGINE | OF_A_RUNNING_QUERY | ELSEWHERE
    assert [name for name in sorted(said | fuzzed) if not is_there(name)] == []
