"""What comes in is carried down the whole topology."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.elasticity.capacity import replicas
from penstock.elasticity.propagation import Node, estimate_inputs, replica_inputs, thetas
from penstock.errors import ConfigurationError

#            0.7 -> 2 -> 0.4
#   1 (all)                   4        Fig. 5 of PSPS
#            0.3 -> 3 -> 1.0
FIG_5 = (
    Node("1"),
    Node("2", {"1": 0.7}),
    Node("3", {"1": 0.3}),
    Node("4", {"2": 0.4, "3": 1.0}),
)

#   1 --117/140--> 2 --90/120--> 3     Fig. 6 and Table II of PSPS
FIG_6 = (Node("1"), Node("2", {"1": 117 / 140}), Node("3", {"2": 90 / 120}))


def test_theta_of_fig_5() -> None:
    assert thetas(FIG_5) == pytest.approx({"1": 1.0, "2": 0.7, "3": 0.3, "4": 0.58})


def test_table_ii_of_psps() -> None:
    assert thetas(FIG_6)["2"] == pytest.approx(0.8357, abs=1e-4)
    rows = replica_inputs(FIG_6, received=100, queued={"1": 0, "2": 7, "3": 20})
    assert rows == {"1": 100, "2": 91, "3": 83}
    seconds = {"1": 0.0166, "2": 0.025, "3": 0.1}
    assert [replicas(rows[name], seconds[name], 1.0) for name in rows] == [2, 3, 9]


def test_predicted_rows_are_rounded_up_once_each_but_not_for_rounding_errors() -> None:
    nodes = [Node("a"), Node("b", {"a": 0.1}), Node("c", {"b": 3.0})]
    assert replica_inputs(nodes, received=10) == {"a": 10, "b": 1, "c": 3}
    assert replica_inputs(nodes, received=11, queued={"b": 0.5}) == {"a": 11, "b": 3, "c": 4}


def test_estimates_go_down_the_whole_topology_not_one_hop() -> None:
    own = {"1": 1_000.0, "2": 0.0, "3": 0.0, "4": 0.0}
    assert estimate_inputs(FIG_5, own) == pytest.approx(
        {"1": 1_000.0, "2": 700.0, "3": 300.0, "4": 580.0}
    )


@pytest.mark.parametrize(
    ("combine", "inputs"),
    [
        # what 2 expects from its own history is more than what comes from 1, that of 3 less
        ("max", {"1": 100.0, "2": 90.0, "3": 30.0, "4": 90.0 * 0.4 + 30.0}),
        ("min", {"1": 100.0, "2": 70.0, "3": 10.0, "4": 5.0}),
    ],
)
def test_own_history_and_parents_are_combined(combine: Any, inputs: dict[str, float]) -> None:
    own = {"1": 100.0, "2": 90.0, "3": 10.0, "4": 5.0}
    assert estimate_inputs(FIG_5, own, combine=combine) == pytest.approx(inputs)


def test_rows_that_wait_are_added_and_go_on_to_the_children() -> None:
    waiting = estimate_inputs(FIG_6, {"1": 100.0}, pending={"1": 40.0, "3": 20.0})
    assert waiting == pytest.approx({"1": 140.0, "2": 117.0, "3": 117 * 0.75 + 20})


@pytest.mark.parametrize("combine", ["max", "min"])
def test_rows_that_wait_at_a_source_reach_operators_with_a_history(combine: Any) -> None:
    nodes = [Node("clicks"), Node("parse", {"clicks": 1.0}), Node("score", {"parse": 0.5})]
    own = {"clicks": 100.0, "parse": 80.0, "score": 70.0}
    rows = estimate_inputs(nodes, own, pending={"clicks": 900.0}, combine=combine)
    assert rows == pytest.approx({"clicks": 1_000.0, "parse": 1_000.0, "score": 500.0})
    at_score = estimate_inputs(nodes, own, pending={"score": 900.0}, combine=combine)
    assert at_score["score"] == 900.0 + (70.0 if combine == "max" else 40.0)


def test_an_operator_without_parents_goes_by_its_own_whatever_the_combination() -> None:
    assert estimate_inputs([Node("a")], {"a": 7.0}, combine="min") == {"a": 7.0}
    assert estimate_inputs([Node("a")], {}) == {"a": 0.0}


def test_the_order_of_the_nodes_does_not_matter() -> None:
    own = {"1": 100.0, "3": 50.0}
    for order in permutations(FIG_5):
        assert estimate_inputs(order, own)["4"] == pytest.approx(28.0 + 50.0)
        assert thetas(order)["4"] == pytest.approx(0.58)


def test_a_circle_is_refused() -> None:
    circle = [Node("a"), Node("b", {"c": 1.0, "a": 1.0}), Node("c", {"b": 1.0})]
    with pytest.raises(ConfigurationError, match=r"in a circle: (b -> c -> b|c -> b -> c)"):
        thetas(circle)


def test_an_unknown_parent_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"'b' reads 'x', which is not among .* a, b"):
        estimate_inputs([Node("a"), Node("b", {"x": 1.0})], {})


def test_an_unknown_combination_is_refused() -> None:
    mean: Any = "mean"
    with pytest.raises(ConfigurationError, match="Write combine='max'"):
        estimate_inputs([Node("a")], {}, combine=mean)


@st.composite
def topologies(draw: st.DrawFn) -> list[Node]:
    count = draw(st.integers(1, 6))
    nodes = []
    for place in range(count):
        parents = draw(st.sets(st.integers(0, place - 1), max_size=3)) if place else set()
        shares = {str(parent): draw(st.floats(0, 3)) for parent in sorted(parents)}
        nodes.append(Node(str(place), shares))
    return draw(st.permutations(nodes))


@given(topologies(), st.dictionaries(st.sampled_from("012345"), st.floats(0, 1e9)))
def test_max_expects_no_less_than_min_of_any_operator(
    nodes: list[Node], own: dict[str, float]
) -> None:
    most, least = estimate_inputs(nodes, own), estimate_inputs(nodes, own, combine="min")
    assert set(most) == {node.name for node in nodes}
    assert all(most[name] >= least[name] >= 0 for name in most)


@given(topologies(), st.floats(0, 1e6))
def test_psps_is_autoscale_without_histories(nodes: list[Node], received: float) -> None:
    roots = {node.name: received for node in nodes if not node.shares}
    carried = estimate_inputs(nodes, roots)
    for name, theta in thetas(nodes).items():
        assert carried[name] == pytest.approx(received * theta)
