"""Which operators run together, and which of them cross to Python together."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given

from penstock.topology.adaptation import plan_problem
from penstock.topology.components import Component, Components
from penstock.topology.dag import Topology
from penstock.topology.operators import (
    DeadLetters,
    Join,
    Operator,
    Output,
    PythonOperator,
    Source,
    Union,
)
from topology.builders import (
    dead_letters,
    filter_,
    join,
    late_rows,
    map_,
    map_batches,
    process,
    select,
    sink,
    source,
    union,
)
from topology.strategies import topologies


def shape(*operators: Operator) -> dict[str, list[str]]:
    """Components by name, each with its steps written like ``m+n``."""
    return {
        component.name: ["+".join(op.name for op in step) for step in component.steps]
        for component in Components(Topology(operators))
    }


def test_a_chain_of_python_is_one_component_with_neighbours_in_one_step() -> None:
    # a --> m --> n --> s --> f --> p --> out
    assert shape(
        source("a"),
        map_("m", "a"),
        map_batches("n", "m"),
        select("s", "n"),
        filter_("f", "s"),
        map_("p", "f"),
        sink("out", "p"),
    ) == {"a": ["a"], "m": ["m+n", "s", "f", "p"]}


def test_a_process_starts_a_component_and_is_a_step_by_itself() -> None:
    # a --> m --> p --> n --> o --> q --> out
    assert shape(
        source("a"),
        map_("m", "a"),
        process("p", "m"),
        map_("n", "p"),
        map_("o", "n"),
        process("q", "o"),
        sink("out", "q"),
    ) == {"a": ["a"], "m": ["m"], "p": ["p", "n+o"], "q": ["q"]}


def test_a_fork_ends_a_step_and_not_a_component() -> None:
    # a --> m --> n --> out
    #       m --> p --> q --> out2
    assert shape(
        source("a"),
        map_("m", "a"),
        map_("n", "m"),
        map_("p", "m"),
        map_("q", "p"),
        sink("out", "n"),
        sink("out2", "q"),
    ) == {"a": ["a"], "m": ["m", "n", "p+q"]}


def test_a_sink_beside_a_reader_makes_a_fork() -> None:
    # a --> m --> n --> out
    #       m --> raw
    assert shape(
        source("a"), map_("m", "a"), map_("n", "m"), sink("out", "n"), sink("raw", "m")
    ) == {"a": ["a"], "m": ["m", "n"]}


def test_a_union_starts_a_component() -> None:
    # a --> m --\
    #            u --> n --> out
    # b --> p --/
    assert shape(
        source("a"),
        source("b"),
        map_("m", "a"),
        map_("p", "b"),
        union("u", "m", "p"),
        map_("n", "u"),
        sink("out", "n"),
    ) == {"a": ["a"], "b": ["b"], "m": ["m"], "p": ["p"], "u": ["u"], "n": ["n"]}


def test_dead_letters_stand_between_components_and_do_not_fork() -> None:
    # a --> m --> n --> out
    #       m ..failed..> letters --> s --> bad
    assert shape(
        source("a"),
        map_("m", "a", "dead_letter"),
        map_("n", "m"),
        dead_letters("letters", "m"),
        select("s", "letters"),
        sink("out", "n"),
        sink("bad", "s"),
    ) == {"a": ["a"], "m": ["m+n"], "s": ["s"]}


def test_late_rows_are_where_the_rows_are() -> None:
    # a --> m --> out
    # a --> late --> lates
    assert shape(
        source("a"), map_("m", "a"), late_rows("late", "a"), sink("out", "m"), sink("lates", "late")
    ) == {"a": ["a", "late"], "m": ["m"]}


def test_a_join_that_may_move_rows_begins_a_component() -> None:
    assert shape(source("a"), join("j", "a"), map_("m", "j"), sink("out", "m")) == {
        "a": ["a"],
        "j": ["j"],
        "m": ["m"],
    }


def test_says_whether_it_runs_python() -> None:
    assert Component("a", (source("a"), map_("m", "a"))).runs_python
    assert not Component("a", (source("a"), select("s", "a"))).runs_python


@given(topologies())
def test_every_operator_is_in_exactly_one_component(topology: Topology) -> None:
    grouped = [op.name for component in Components(topology) for op in component.operators]
    wanted = [op.name for op in topology if not isinstance(op, Output | DeadLetters)]
    assert sorted(grouped) == sorted(wanted)


@given(topologies())
def test_every_plan_can_run_and_has_one_entrance(topology: Topology) -> None:
    found = Components(topology)
    assert plan_problem(found) is None
    for component in found:
        inside = {op.name for op in component.operators}
        assert component.name == component.entrance.name
        for operator in component.operators[1:]:
            assert set(operator.inputs) <= inside
            assert not isinstance(operator, Source | Union | Join)


@given(topologies())
def test_a_component_is_as_large_as_it_can_be(topology: Topology) -> None:
    """Rows that come as they come are the only border between Python operators."""
    found = Components(topology)
    for component in found:
        entrance = component.entrance
        if isinstance(entrance, PythonOperator) and not isinstance(
            topology[entrance.inputs[0]], DeadLetters
        ):
            before = found.of(entrance.inputs[0]).entrance
            assert not isinstance(before, PythonOperator)


@given(topologies())
def test_steps_hold_every_operator_and_fuse_python_neighbours(topology: Topology) -> None:
    for component in Components(topology):
        names = [op.name for step in component.steps for op in step]
        assert sorted(names) == sorted(op.name for op in component.operators)
        for step in component.steps:
            assert len(step) == 1 or all(isinstance(op, PythonOperator) for op in step)
            for before, after in pairwise(step):
                assert topology.consumers[before.name] == (after,)
