"""The graph: what it refuses, and in what order it stands."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import TopologyError
from penstock.topology.dag import Topology, check_name, sinkless
from penstock.topology.operators import DeadLetters, Operator, Output, Source
from topology.builders import (
    dead_letters,
    filter_,
    late_rows,
    map_,
    select,
    sink,
    source,
    union,
)
from topology.strategies import topologies


def refused(operators: Sequence[Operator]) -> TopologyError:
    with pytest.raises(TopologyError) as caught:
        Topology(operators)
    return caught.value


class TestRefusals:
    def test_two_operators_of_one_name(self) -> None:
        error = refused([source("a"), map_("b", "a"), filter_("b", "a"), sink("out", "b")])
        assert str(error) == (
            "operator 'b': a map and a filter have the same name. "
            "Give one of them another, for example name='b_2'."
        )

    def test_one_operator_given_twice_is_one(self) -> None:
        a = source("a")
        assert len(Topology([a, a, sink("out", "a")])) == 2

    @pytest.mark.parametrize("name", ["2nd", "a b", "", "a-b", "class", "None", "a.b", "²"])
    def test_a_name_that_is_no_identifier(self, name: str) -> None:
        error = refused([source(name), sink("out", name)])
        assert error.operator == name
        assert error.problem == "the name is not a valid identifier"
        assert "letters, digits and underscores" in error.remedy

    @given(st.text(max_size=8))
    def test_the_name_that_is_offered_instead_is_a_good_one(self, name: str) -> None:
        try:
            check_name(name)
        except TopologyError as error:
            offered = re.search(r"for example '(.*)'\.$", error.remedy, re.DOTALL)
            assert offered is not None
            check_name(offered.group(1))

    def test_a_name_that_is_no_text(self) -> None:
        with pytest.raises(TopologyError, match=r"operator '7'.*'op_7'"):
            check_name(7)  # type: ignore[arg-type]

    def test_an_unknown_input(self) -> None:
        error = refused([source("a"), map_("b", "clicks"), sink("out", "b")])
        assert str(error) == (
            "operator 'b': it reads from 'clicks', which is not in the topology. "
            "Operators here: a, b, out."
        )

    def test_a_cycle_is_shown_the_way_the_rows_go(self) -> None:
        # a --> u --> b --> c --> out
        #       ^-----------|
        operators = [source("a"), union("u", "a", "c"), map_("b", "u"), map_("c", "b")]
        error = refused([*operators, sink("out", "c")])
        loops = ["u -> b -> c -> u", "b -> c -> u -> b", "c -> u -> b -> c"]
        assert error.problem in [f"it reads its own output: {loop}" for loop in loops]
        assert error.problem.endswith(f"-> {error.operator}")
        assert error.remedy.startswith("Break the cycle")

    def test_an_operator_that_reads_itself(self) -> None:
        error = refused([source("a"), union("u", "a", "u"), sink("out", "u")])
        assert (error.operator, error.problem) == ("u", "it reads its own output: u -> u")

    def test_no_sink_at_all(self) -> None:
        error = refused([source("a"), map_("b", "a")])
        assert str(error) == (
            "operator 'b': the topology has no sink. "
            "Add .to(sink) to a stream and give the result to run."
        )

    def test_nothing_at_all(self) -> None:
        assert refused([]).problem == "the topology has no sink"

    def test_a_branch_without_a_sink(self) -> None:
        # a --> out
        # a --> b
        error = refused([source("a"), map_("b", "a"), sink("out", "a")])
        assert error.operator == "b"
        assert error.problem == "this map leads to no sink, so its rows would go nowhere"
        assert ".to(sink)" in error.remedy
        assert "unused='ignore'" in error.remedy

    def test_dead_letters_alone_do_not_use_an_operators_rows(self) -> None:
        # a --> b ..failed..> letters --> out
        operators = [source("a"), map_("b", "a", "dead_letter"), dead_letters("letters", "b")]
        assert refused([*operators, sink("out", "letters")]).operator == "b"

    def test_sinkless_says_what_kind_of_operator_it_was(self) -> None:
        assert "this filter leads to no sink" in str(sinkless(filter_("f", "a")))

    @pytest.mark.parametrize("time", [None, "gone"])
    def test_late_rows_without_a_time_column(self, time: str | None) -> None:
        error = refused([source("a"), late_rows("late", "a", time), sink("out", "late")])
        assert error.operator == "late"
        assert error.problem == "'a' has no event-time column"
        assert "Stream.read(df, time='ts', watermark='10 seconds')" in error.remedy

    def test_sources_whose_names_differ_in_case_only(self) -> None:
        a, b = source("clicks"), source("Clicks")
        error = refused([a, b, union("u", "clicks", "Clicks"), sink("out", "u")])
        assert str(error) == (
            "operator 'Clicks': Spark can't tell its name from that of the source 'clicks'. "
            "Give one of them another, for example name='Clicks_2'."
        )

    def test_other_operators_may_differ_in_case_only(self) -> None:
        assert len(Topology([source("a"), map_("f", "a"), map_("F", "f"), sink("o", "F")])) == 4


class TestOrder:
    @given(topologies())
    def test_every_operator_comes_after_its_inputs(self, topology: Topology) -> None:
        seen: set[str] = set()
        for operator in topology:
            assert seen.issuperset(operator.inputs)
            seen.add(operator.name)
        assert len(seen) == len(topology)

    def test_sources_keep_the_order_in_which_they_were_given(self) -> None:
        rest = [union("u", "c", "a", "b"), sink("out", "u")]
        topology = Topology([source("b"), source("c"), source("a"), *rest])
        assert [each.name for each in topology.sources] == ["b", "c", "a"]

    @given(topologies())
    def test_an_order_once_found_stays(self, topology: Topology) -> None:
        assert [op.name for op in Topology(topology)] == [op.name for op in topology]


class TestLookingUp:
    # a --> m --> f --> out
    #       m --> late --> lates
    #       m ..failed..> letters --> bad
    topology = Topology(
        [
            source("a"),
            map_("m", "a", "dead_letter"),
            filter_("f", "m"),
            late_rows("late", "m"),
            dead_letters("letters", "m"),
            sink("out", "f"),
            sink("lates", "late"),
            sink("bad", "letters"),
        ]
    )

    def test_finds_operators_by_name(self) -> None:
        assert self.topology["f"].kind == "filter"
        assert "f" in self.topology
        assert "g" not in self.topology

    def test_sources_and_outputs(self) -> None:
        assert [op.name for op in self.topology.sources] == ["a"]
        assert {op.name for op in self.topology.outputs} == {"out", "lates", "bad"}

    def test_dead_letters_do_not_read_an_operators_rows(self) -> None:
        assert {op.name for op in self.topology.consumers["m"]} == {"f", "late"}
        assert [op.name for op in self.topology.consumers["letters"]] == ["bad"]

    def test_forks(self) -> None:
        assert [op.name for op in self.topology if self.topology.is_fork(op.name)] == ["m"]

    def test_one_reader_that_reads_twice_is_a_fork(self) -> None:
        topology = Topology([source("a"), union("u", "a", "a"), sink("out", "u")])
        assert topology.is_fork("a")

    def test_upstream_goes_through_failed_rows_too(self) -> None:
        assert [op.name for op in self.topology.upstream("bad")] == ["a", "m", "letters", "bad"]

    def test_upstream_of_a_source_is_the_source(self) -> None:
        assert [op.name for op in self.topology.upstream("a")] == ["a"]

    @given(topologies())
    def test_readers_and_inputs_tell_the_same(self, topology: Topology) -> None:
        read = [
            (name, op.name)
            for op in topology
            if not isinstance(op, DeadLetters)
            for name in op.inputs
        ]
        told = [(name, op.name) for name, ops in topology.consumers.items() for op in ops]
        assert sorted(told) == sorted(read)

    @given(topologies())
    def test_upstream_is_closed_and_starts_at_sources(self, topology: Topology) -> None:
        for output in topology.outputs:
            found = topology.upstream(output.name)
            names = {op.name for op in found}
            assert found[-1] is output
            assert all(names.issuperset(op.inputs) for op in found)
            assert all(isinstance(op, Source) for op in found if not op.inputs)
            # Everything but the output itself is there because something in it reads it.
            read = {name for op in found for name in op.inputs}
            assert names - read == {output.name}

    @given(topologies())
    def test_only_outputs_end_a_branch(self, topology: Topology) -> None:
        for operator in topology:
            assert isinstance(operator, Output) == (not topology.consumers[operator.name])


def test_select_between_does_not_hide_a_sinkless_branch() -> None:
    # a --> s --> t
    # a --> out
    error = refused([source("a"), select("s", "a"), select("t", "s"), sink("out", "a")])
    assert error.operator == "t"
