"""Which operators run together, and which of them cross to Python together."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given

from penstock.topology.components import Component, components
from penstock.topology.dag import Topology
from penstock.topology.operators import DeadLetters, Operator, Output, PythonOperator, Union
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
        component.name: ["+".join(op.name for op in step) for step in component.steps()]
        for component in components(Topology(operators))
    }


def test_a_chain_is_one_component_with_python_neighbours_fused() -> None:
    # a --> m --> n --> s --> f --> p --> out
    assert shape(
        source("a"),
        map_("m", "a"),
        map_batches("n", "m"),
        select("s", "n"),
        filter_("f", "s"),
        map_("p", "f"),
        sink("out", "p"),
    ) == {"a": ["a", "m+n", "s", "f", "p"]}


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
    ) == {"a": ["a", "m"], "p": ["p", "n+o"], "q": ["q"]}


def test_a_fork_ends_a_component() -> None:
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
    ) == {"a": ["a", "m"], "n": ["n"], "p": ["p+q"]}


def test_a_sink_beside_a_reader_makes_a_fork() -> None:
    # a --> m --> n --> out
    #       m --> raw
    assert shape(
        source("a"), map_("m", "a"), map_("n", "m"), sink("out", "n"), sink("raw", "m")
    ) == {"a": ["a", "m"], "n": ["n"]}


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
    ) == {"a": ["a", "m"], "b": ["b", "p"], "u": ["u", "n"]}


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
    ) == {"a": ["a", "m+n"], "s": ["s"]}


def test_late_rows_fork_like_any_reader() -> None:
    # a --> m --> out
    # a --> late --> lates
    assert shape(
        source("a"), map_("m", "a"), late_rows("late", "a"), sink("out", "m"), sink("lates", "late")
    ) == {"a": ["a"], "m": ["m"], "late": ["late"]}


def test_a_join_with_a_table_stays_in_its_component() -> None:
    assert shape(source("a"), join("j", "a"), map_("m", "j"), sink("out", "m")) == {
        "a": ["a", "j", "m"]
    }


def test_says_whether_it_runs_python() -> None:
    assert Component("a", (source("a"), map_("m", "a"))).runs_python
    assert not Component("a", (source("a"), select("s", "a"))).runs_python


@given(topologies())
def test_every_operator_is_in_exactly_one_component(topology: Topology) -> None:
    grouped = [op.name for component in components(topology) for op in component.operators]
    wanted = [op.name for op in topology if not isinstance(op, Output | DeadLetters)]
    assert sorted(grouped) == sorted(wanted)


@given(topologies())
def test_a_component_is_a_chain_that_crosses_no_fork_and_no_union(topology: Topology) -> None:
    for component in components(topology):
        assert component.name == component.operators[0].name
        for before, after in pairwise(component.operators):
            assert after.inputs == (before.name,)
            assert not isinstance(after, Union)
            assert topology.consumers[before.name] == (after,)


@given(topologies())
def test_a_component_is_as_long_as_it_can_be(topology: Topology) -> None:
    for component in components(topology):
        readers = topology.consumers[component.operators[-1].name]
        assert len(readers) > 1 or isinstance(readers[0], Output | Union)


@given(topologies())
def test_steps_keep_the_order_and_fuse_all_python_neighbours(topology: Topology) -> None:
    for component in components(topology):
        steps = list(component.steps())
        assert tuple(op for step in steps for op in step) == component.operators
        in_python = [isinstance(step[0], PythonOperator) for step in steps]
        assert not any(before and after for before, after in pairwise(in_python))
        for step, python in zip(steps, in_python, strict=True):
            assert len(step) == 1 or python
            assert all(isinstance(op, PythonOperator) == python for op in step)
