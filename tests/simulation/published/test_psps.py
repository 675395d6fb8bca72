from __future__ import annotations

import pytest

from penstock.elasticity.observation import Observation, OperatorObservation, SourceObservation
from penstock.errors import ConfigurationError
from penstock.simulation.published.psps import PublishedPsps
from penstock.simulation.topology_file import read_topology


def operator(
    name: str, parent: str, received: int, processed: int, waiting: int
) -> OperatorObservation:
    return OperatorObservation(
        name,
        processed,
        processed,
        0.0,
        1,
        0.0,
        0.0,
        inputs=(parent,),
        waiting_rows=waiting,
        received_rows=(received,),
    )


def seen(*operators: OperatorObservation, rows: int, seconds: float = 1.0) -> Observation:
    source = SourceObservation("input", rows)
    return Observation(0, seconds, seconds, seconds, len(operators), operators, (source,))


def test_table_2_of_the_paper() -> None:
    """100, 91 and 83 events are predicted, which take 2, 3 and 9 replicas."""
    policy = PublishedPsps({"1": 0.0166, "2": 0.025, "3": 0.1})
    observation = seen(
        operator("1", "input", received=100, processed=140, waiting=0),
        operator("2", "1", received=117, processed=120, waiting=7),
        operator("3", "2", received=90, processed=90, waiting=20),
        rows=100,
    )
    assert policy.plan(observation) == {"1": 2, "2": 3, "3": 9}


@pytest.mark.parametrize(
    ("execution_seconds", "replicas"), [(0.01, 1), (0.0101, 2), (0.02, 2), (0.035, 4)]
)
def test_equation_1_is_rounded_up(execution_seconds: float, replicas: int) -> None:
    policy = PublishedPsps({"1": execution_seconds})
    plan = policy.plan(seen(operator("1", "input", 100, 100, 0), rows=100))
    assert plan == {"1": replicas}


def test_a_share_is_held_while_the_parent_processes_nothing() -> None:
    policy = PublishedPsps({"1": 0.001, "2": 0.1})
    half = seen(operator("1", "input", 100, 100, 0), operator("2", "1", 50, 50, 0), rows=100)
    assert policy.plan(half)["2"] == 5
    stuck = seen(operator("1", "input", 100, 0, 100), operator("2", "1", 0, 0, 0), rows=100)
    assert policy.plan(stuck)["2"] == 5


def test_an_operator_without_rows_keeps_one_replica() -> None:
    policy = PublishedPsps({"1": 0.001})
    assert policy.plan(seen(operator("1", "input", 0, 0, 0), rows=0)) == {"1": 1}


def test_what_several_sources_send_counts_together() -> None:
    policy = PublishedPsps({"1": 0.01})
    both = OperatorObservation(
        "1", 300, 300, 3.0, 1, 3.0, 3.0, inputs=("a", "b"), received_rows=(100, 200)
    )
    sources = (SourceObservation("a", 100), SourceObservation("b", 200))
    assert policy.plan(Observation(0, 1.0, 1.0, 1.0, 1, (both,), sources)) == {"1": 3}


def test_times_are_those_of_the_topology_or_a_little_more() -> None:
    times = PublishedPsps.knowing(read_topology("tweets"), 1.1).execution_seconds
    assert times["parse"] == pytest.approx(1.1 / 761)


def test_an_operator_that_was_not_measured_is_named() -> None:
    with pytest.raises(ConfigurationError, match="doesn't know how long a row takes in '2'"):
        PublishedPsps({"1": 0.1}).plan(seen(operator("2", "input", 1, 1, 0), rows=1))
