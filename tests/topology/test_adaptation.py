"""Operations on a grouping: what they lead to, what they refuse, and how they may take effect."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import ConfigurationError
from penstock.topology.adaptation import (
    Combine,
    Migrate,
    Operation,
    RePartition,
    Split,
    Strategy,
    adapted,
    chosen_strategy,
    describe,
    plan_problem,
    strategies,
)
from penstock.topology.components import Components
from penstock.topology.dag import Topology
from penstock.topology.grouping import Grouping
from penstock.topology.operators import Operator
from penstock.topology.replanning import neighbours
from topology.builders import by_key, loans, rate, sink, windows


def lending(*keeps: str) -> Components:
    operators: list[Operator] = [
        loans("loans"),
        rate("op1", "loans", *keeps),
        *windows("op2", "op1", "area"),
        *windows("op3", "op1", "area"),
        sink("out2", "op2"),
        sink("out3", "op3"),
    ]
    return Components(Topology(operators))


def plain() -> Components:
    """Windows of rows that come as they come."""
    operators = [loans("loans"), *windows("w", "loans", "area"), sink("out", "w")]
    return Components(Topology(operators))


def after(components: Components, *operations: Operation) -> Components:
    return adapted(components, operations).components


def shape(components: Components) -> dict[str, str]:
    return {each.name: " ".join(op.name for op in each.operators) for each in components}


class TestSplitAndCombine:
    def test_split_takes_the_windows_out_of_a_component_as_in_fig_4(self) -> None:
        found = adapted(lending("area"), (Split("op2"), Split("op3")))
        assert [str(each) for each in found.operations] == [
            "Migrate(op2, op1, op2)",
            "Migrate(op3, op1, op3)",
        ]
        then = found.components
        assert shape(then) == {
            "loans": "loans",
            "op1": "op1 op2_partials op3_partials",
            "op2": "op2",
            "op3": "op3",
        }
        assert then["op1"].by == ()  # rows may now go anywhere

    def test_combine_undoes_it(self) -> None:
        now = lending("area")
        assert after(now, Split("op2"), Combine("op2")).grouping == now.grouping

    def test_one_of_two_windows_leaves_the_other_complete(self) -> None:
        then = after(lending("area"), Split("op2"))
        op2, op3 = then.topology.computes
        assert then["op1"].by == ("area",)
        assert then.is_complete(op3)
        # The rows are by area already, so that nothing of op2 is made twice either.
        assert then.is_complete(op2)

    def test_where_rows_come_as_they_come_partials_leave_instead(self) -> None:
        found = adapted(plain(), (Combine("w"),))
        assert [str(each) for each in found.operations] == [
            "Migrate(w_partials, loans, w_partials)",
            "Migrate(w, w, w_partials)",
        ]
        then = found.components
        assert shape(then) == {"loans": "loans", "w_partials": "w_partials w"}
        assert not then.is_split(then.topology.computes[0])
        assert shape(after(then, Split("w"))) == shape(plain())

    def test_windows_of_all_rows_are_combined_by_themselves(self) -> None:
        operators = [loans("loans"), *windows("w", "loans"), sink("out", "w")]
        then = after(Components(Topology(operators)), Combine("w"))
        assert shape(then) == {"loans": "loans", "w_partials": "w_partials w"}
        assert plan_problem(then) is None

    def test_what_is_so_already_is_no_change(self) -> None:
        assert adapted(plain(), (Split("w"),)).operations == ()
        assert adapted(lending("area"), (Combine("op2"),)).operations == ()


class TestWindowsOverWindows:
    """What reads windows in their component goes where they go."""

    def twice(self) -> Components:
        operators = [
            loans("loans"),
            *windows("w1", "loans", "area"),
            *windows("w2", "w1", "area"),
            sink("out", "w2"),
        ]
        return Components(Topology(operators))

    def test_the_inner_ones_are_combined_and_split_again(self) -> None:
        now = self.twice()
        assert shape(now) == {"loans": "loans w1_partials", "w1": "w1 w2_partials", "w2": "w2"}
        combined = adapted(now, (Combine("w1"),))
        assert shape(combined.components) == {
            "loans": "loans",
            "w1_partials": "w1_partials w1 w2_partials",
            "w2": "w2",
        }
        assert shape(after(combined.components, Split("w1"))) == shape(now)

    def test_so_are_the_outer_ones(self) -> None:
        now = self.twice()
        combined = after(now, Combine("w2"))
        assert plan_problem(combined) is None
        assert combined.together("w2_partials", "w2")
        assert shape(after(combined, Split("w2"))) == shape(now)

    def test_and_both_in_any_order(self) -> None:
        for names in (("w1", "w2"), ("w2", "w1")):
            both = after(self.twice(), *[Combine(name) for name in names])
            assert not any(both.is_split(compute) for compute in both.topology.computes)


def test_windows_find_another_name_where_theirs_is_given_to_a_component() -> None:
    operators = [
        loans("loans"),
        rate("m", "loans", "area", component="w"),
        sink("mapped", "m"),
        *windows("w", "loans", "area"),
        sink("out", "w"),
    ]
    now = Components(Topology(operators))
    combined = after(now, Combine("w"))
    then = after(combined, Split("w"))
    assert then.is_split(then.topology.computes[0])
    assert not then.together("w", "m")


class TestRefused:
    @pytest.mark.parametrize(
        ("operation", "problem"),
        [
            (Split("nothing"), "there are no such windows. There are: op2, op3."),
            (Migrate("nothing", "a", "b"), "there is no such operator"),
            (Migrate("op1", "loans", "b"), "'op1' is in component 'op1'"),
            (Migrate("op1", "op1", "loans"), "the rows of 'loans' come as they come"),
            (
                Migrate("op2_partials", "op1", "x"),
                "between 'op1' and 'op2' there is 'op2_partials'",
            ),
            (RePartition("nothing", 2), "there is no such component. There are: loans, op1."),
            (RePartition("loans", 2), "its rows come as they come"),
            (Migrate("op1", "op1", "no name"), "'no name' can't name a component"),
            (Migrate("op1", "op1", "op2"), "'op2' is an operator in component 'op1'"),
        ],
    )
    def test_with_what_is_wrong(self, operation: Operation, problem: str) -> None:
        with pytest.raises(ConfigurationError, match=problem.replace("(", r"\(")):
            adapted(lending("area"), (operation,))

    @pytest.mark.parametrize(
        "slots", [0, -1, True, 2.0, "2", None, pytest.param(10**5000, id="huge")]
    )
    def test_slots_that_are_none(self, slots: Any) -> None:
        with pytest.raises(ConfigurationError, match="a whole number of slots from 1 to 100,000"):
            RePartition("op1", slots)

    @pytest.mark.parametrize("name", [None, 7, [], {}])
    def test_names_that_are_none(self, name: Any) -> None:
        for make in (
            lambda: Split(name),
            lambda: Combine(name),
            lambda: RePartition(name, 2),
            lambda: Migrate(name, "op1", "x"),
            lambda: Migrate("op1", name, "x"),
            lambda: Migrate("op1", "op1", name),
        ):
            with pytest.raises(ConfigurationError, match="take names as text"):
                make()

    def test_an_operator_in_between_is_named(self) -> None:
        operators = [
            loans("loans"),
            rate("a", "loans", "area", component="c1"),
            rate("b", "a", "area", component="c2"),
            rate("c", "b", "area", component="c1"),
            sink("out", "c"),
        ]
        problem = plan_problem(Components(Topology(operators)))
        assert problem is not None
        assert "between 'a' and 'c' there is 'b'" in problem

    def test_operators_that_were_forced_together_stay_so(self) -> None:
        operators = [
            loans("loans"),
            rate("m", "loans", component="both"),
            rate("n", "m", component="both"),
            sink("out", "n"),
        ]
        now = Components(Topology(operators))
        with pytest.raises(ConfigurationError, match="is to be in component 'both' with others"):
            adapted(now, (Migrate("n", "both", "n"),))
        assert list(neighbours(now)) == []

    def test_operators_that_share_no_attribute(self) -> None:
        operators = [
            loans("loans"),
            by_key("p", "loans", "user"),
            by_key("q", "p", "area"),
            sink("out", "q"),
        ]
        now = Components(Topology(operators))
        with pytest.raises(ConfigurationError, match="they share no attribute to partition on"):
            adapted(now, (Migrate("q", "q", "p"),))


class TestPinned:
    def test_slots_are_kept_with_a_component_for_as_long_as_it_is_there(self) -> None:
        now = lending("area")
        assert adapted(now, (RePartition("op1", 3),)).pinned == {"op1": 3}
        assert adapted(now, (Split("op2"),), {"op1": 3}).pinned == {"op1": 3}
        assert adapted(now, (RePartition("op1", 3), RePartition("op1", 1))).pinned == {"op1": 1}


class TestStrategies:
    """The table of section 5, by what moves."""

    def how(
        self,
        components: Components,
        *operations: Operation,
        wanted: Strategy | None = None,
        preferred: Strategy | None = None,
    ) -> Strategy:
        return chosen_strategy(adapted(components, operations), wanted, preferred)

    def chain(self) -> Components:
        operators = [loans("a"), by_key("p", "a", "user"), by_key("q", "p", "user"), sink("s", "q")]
        return Components(Topology(operators))

    def test_a_row_function_moves_instantly(self) -> None:
        assert strategies(lending(), Migrate("op1", "op1", "x")) == ("instant",)

    def test_windows_have_the_choice(self) -> None:
        every = ("instant", "smooth", "disruptive")
        assert strategies(lending("area"), Migrate("op2", "op1", "op2")) == every
        assert strategies(lending("area"), Migrate("op2_partials", "op1", "x")) == every

    def test_slots_are_another_number_at_once_unless_state_has_to_follow(self) -> None:
        assert strategies(lending("area"), RePartition("op1", 2)) == ("instant",)
        assert strategies(self.chain(), RePartition("p", 2)) == ("disruptive",)

    @pytest.mark.parametrize(
        ("spans", "expected"),
        [
            ("start", ("instant", "smooth", "disruptive")),
            ("end", ("instant", "smooth", "disruptive")),
            ("each", ("instant", "disruptive")),
            ("split", ("instant", "disruptive")),
        ],
    )
    def test_rows_of_older_and_newer_windows_at_once_can_not_change_smoothly(
        self, spans: Any, expected: tuple[Strategy, ...]
    ) -> None:
        compute, consolidate = windows("w", "loans", "area")
        compute = replace(compute, until="until", spans=spans)
        now = Components(Topology([loans("loans"), compute, consolidate, sink("out", "w")]))
        assert strategies(now, Migrate("w", "w", "x")) == expected

    def test_the_state_of_keys_has_to_be_handed_over(self) -> None:
        moved = Migrate("q", "p", "q")
        assert strategies(self.chain(), moved) == ("disruptive",)
        assert self.how(self.chain(), moved) == "disruptive"
        assert self.how(self.chain(), moved, preferred="smooth") == "disruptive"
        with pytest.raises(ConfigurationError, match="can't be instant: only disruptive"):
            self.how(self.chain(), moved, wanted="instant")

    def test_what_was_asked_for_is_taken_where_it_can_be(self) -> None:
        now, moved = lending("area"), Migrate("op2", "op1", "op2")
        assert self.how(now, moved, wanted="smooth") == "smooth"
        assert self.how(now, moved, preferred="disruptive") == "disruptive"
        assert self.how(now, moved, wanted="instant", preferred="disruptive") == "instant"
        assert self.how(now, moved) == "instant"
        assert self.how(now, wanted="smooth") == "instant"

    def test_the_composite_of_the_paper_goes_by_the_plan_at_each_step(self) -> None:
        """Section 4.5: migrate an operator, then give its new component slots."""
        now = self.chain()
        found = adapted(now, (Migrate("q", "p", "x"), RePartition("x", 2)))
        assert found.pinned == {"x": 2}
        assert found.allowed == (("disruptive",), ("disruptive",))
        again = adapted(lending("area"), (Split("op2"), Combine("op2")))
        assert [str(each) for each in again.operations] == [
            "Migrate(op2, op1, op2)",
            "Migrate(op2, op2, op1)",
        ]

    def test_kinds_of_components_in_the_words_of_the_paper(self) -> None:
        split = after(lending("area"), Split("op2"), Split("op3"))
        assert describe(split["loans"]) == "flexible and stateless"
        assert describe(split["op1"]) == "flexible and stateful"
        assert describe(split["op2"]) == "rigid and stateless"
        assert describe(lending("area")["op1"]) == "rigid and stateful"


@given(st.lists(st.tuples(st.sampled_from(["op2", "op3"]), st.booleans()), max_size=8))
def test_every_plan_that_is_reached_can_run(steps: list[tuple[str, bool]]) -> None:
    """Conditions 1 and 2 of section 4.4.1 hold after any operations."""
    now = lending("area")
    for name, is_split in steps:
        now = after(now, Split(name) if is_split else Combine(name))
        assert plan_problem(now) is None
        homes = [op.name for component in now for op in component.operators]
        assert sorted(homes) == sorted(now.job.leaders)


def test_a_grouping_is_the_same_after_it_was_written() -> None:
    grouping = lending("area").grouping
    assert Grouping.from_json(grouping.to_json()) == grouping
