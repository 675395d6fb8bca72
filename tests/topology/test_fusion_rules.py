"""Which operators of a topology run together, and on what their rows are partitioned."""

from __future__ import annotations

import pytest

from penstock.topology.adaptation import plan_problem
from penstock.topology.attributes import Lineage
from penstock.topology.components import Components
from penstock.topology.dag import Topology
from penstock.topology.fusion import by_attributes
from penstock.topology.fusion_rules import TopologyJob, first_grouping, single_grouping
from penstock.topology.operators import Operator
from topology.builders import (
    by_key,
    filter_,
    loans,
    map_,
    rate,
    renamed,
    select,
    sink,
    source,
    union,
    windows,
)


def grouped(*operators: Operator) -> dict[str, str]:
    """Components by name, with the operators of each in one line."""
    found = Components(Topology(operators))
    return {each.name: " ".join(op.name for op in each.operators) for each in found}


def lending(*keeps: str) -> list[Operator]:
    """Enorm's Fig. 1: the global operators read what is known of areas."""
    return [
        loans("loans"),
        rate("op1", "loans", *keeps),
        *windows("op2", "op1", "area"),
        *windows("op3", "op1", "area"),
        *windows("op4", "op2"),
        *windows("op5", "op3"),
        sink("out4", "op4"),
        sink("out5", "op5"),
    ]


def test_fig_2_comes_out_of_fig_1() -> None:
    found = Components(Topology(lending("area", "user")))
    assert {each.name: " ".join(op.name for op in each.operators) for each in found} == {
        "loans": "loans",
        "op1": "op1 op2_partials op3_partials op2 op3",
        "op4_partials": "op4_partials op4",
        "op5_partials": "op5_partials op5",
    }
    assert found["op1"].by == ("area",)
    assert found["op1"].is_rigid
    assert found["op1"].is_stateful
    assert all(found.is_complete(compute) for compute in found.topology.computes[:2])


def test_the_other_score_brings_the_same_rows_together() -> None:
    """Windows of windows may then be made where those come out, which leaves them split."""
    topology = Topology(lending("area"))
    found = Components(topology, first_grouping(TopologyJob(topology), by_attributes))
    assert plan_problem(found) is None
    assert found.together("op1", "op2_partials")
    assert found.together("op1", "op3_partials")
    assert not found.together("op1", "op4_partials")


def test_what_is_not_said_to_be_kept_can_not_be_partitioned_on() -> None:
    found = Components(Topology(lending("user")))
    assert found["op1"].attributes == frozenset()
    assert not any(found.is_complete(compute) for compute in found.topology.computes)
    assert all(found.is_split(compute) for compute in found.topology.computes[:2])
    assert "op2" in found  # windows are formed by themselves


def test_windows_of_rows_that_come_as_they_come_are_split() -> None:
    # loans --> s --> by area
    assert grouped(
        loans("loans"),
        renamed("s", "loans", place="area"),
        *windows("w", "s", "place"),
        sink("out", "w"),
    ) == {"loans": "loans s w_partials", "w": "w"}


def test_an_attribute_is_the_same_one_under_another_name() -> None:
    topology = Topology(
        [
            loans("loans"),
            rate("m", "loans", "area"),
            renamed("s", "m", place="area"),
            *windows("w", "s", "place"),
            sink("out", "w"),
        ]
    )
    found = Components(topology)
    assert found["m"].by == ("area",)
    assert found.is_complete(topology.computes[0])
    lineage = Lineage(topology)
    assert str(lineage.outputs("s")["place"]) == "area"


def test_a_column_made_anew_is_another_attribute() -> None:
    topology = Topology(
        [loans("loans"), rate("m", "loans"), *windows("w", "m", "area"), sink("out", "w")]
    )
    assert TopologyJob(topology).key_attributes("w_partials") == {
        Lineage(topology).outputs("m")["area"]
    }
    assert Components(topology)["m"].by == ()


def test_two_keys_share_what_they_have_in_common() -> None:
    topology = Topology(
        [
            loans("loans"),
            rate("m", "loans", "area", "user"),
            *windows("v", "m", "area", "user"),
            *windows("w", "m", "area"),
            sink("o", "v"),
            sink("out", "w"),
        ]
    )
    assert Components(topology)["m"].by == ("area",)


def test_keys_with_nothing_in_common_are_not_brought_together() -> None:
    topology = Topology(
        [
            loans("loans"),
            rate("m", "loans", "area", "user"),
            *windows("v", "m", "user"),
            *windows("w", "m", "area"),
            sink("o", "v"),
            sink("out", "w"),
        ]
    )
    found = Components(topology)
    assert found["m"].by == ("user",)  # the first of equal rates
    assert found.is_complete(topology.computes[0])
    assert found.is_split(topology.computes[1])


def test_a_cardinality_bounds_the_tasks() -> None:
    operators = lending("area")
    operators[0] = loans("loans", area=12)
    assert Components(Topology(operators))["op1"].most_tasks == 12
    assert Components(Topology(lending("area")))["op1"].most_tasks is None


class TestProcesses:
    def test_the_same_kept_keys_run_in_one_step(self) -> None:
        found = Components(
            Topology(
                [
                    loans("loans"),
                    by_key("p", "loans", "user"),
                    by_key("q", "p", "user"),
                    sink("out", "q"),
                ]
            )
        )
        assert [[op.name for op in step] for step in found["p"].steps] == [["p", "q"]]
        assert found["p"].by == ("user",)

    def test_other_keys_do_not(self) -> None:
        assert grouped(
            loans("loans"),
            by_key("p", "loans", "user"),
            by_key("q", "p", "area"),
            sink("out", "q"),
        ) == {"loans": "loans", "p": "p", "q": "q"}

    @pytest.mark.parametrize("other", [{"keeps": False}, {"groups": 16}])
    def test_keys_that_may_change_or_other_groups_do_not(self, other: dict[str, int]) -> None:
        first = by_key("p", "loans", "user", **other)  # type: ignore[arg-type]
        second = by_key("q", "p", "user")
        found = grouped(loans("loans"), first, second, sink("out", "q"))
        assert found == {"loans": "loans", "p": "p", "q": "q"}

    def test_keys_in_another_order_have_other_groups(self) -> None:
        """Key groups are of a hash that depends on the order of the columns."""
        assert grouped(
            loans("loans"),
            by_key("p", "loans", "user", "area"),
            by_key("q", "p", "area", "user"),
            sink("out", "q"),
        ) == {"loans": "loans", "p": "p", "q": "q"}

    def test_a_column_that_is_there_twice_makes_another_key(self) -> None:
        assert grouped(
            loans("loans"),
            by_key("p", "loans", "area"),
            renamed("s", "p", area="area", user="area"),
            by_key("q", "s", "area", "user"),
            sink("out", "q"),
        ) == {"loans": "loans", "p": "p s", "q": "q"}

    def test_sql_between_makes_two_steps_of_one_component(self) -> None:
        found = Components(
            Topology(
                [
                    loans("loans"),
                    by_key("p", "loans", "user"),
                    renamed("f", "p", user="user", area="area"),
                    by_key("q", "f", "user"),
                    *windows("w", "q", "area", "user"),
                    sink("out", "w"),
                ]
            )
        )
        names = [[op.name for op in step] for step in found["p"].steps]
        assert names == [["p"], ["f"], ["q"], ["w_partials"], ["w"]]

    def test_a_map_before_goes_by_the_key_too(self) -> None:
        found = Components(
            Topology(
                [
                    loans("loans"),
                    rate("m", "loans", "user"),
                    by_key("p", "m", "user"),
                    sink("out", "p"),
                ]
            )
        )
        assert found["m"].by == ("user",)
        assert [op.name for op in found["m"].operators] == ["m", "p"]


class TestUnions:
    """Behind a union Spark counts tasks anew, and one that got no rows would not know its keys."""

    def test_a_keyed_operator_before_one_has_rows_moved_to_it(self) -> None:
        found = grouped(
            loans("loans"),
            rate("m", "loans", "user"),
            by_key("p", "m", "user"),
            filter_("f", "p"),
            union("u", "loans", "f"),
            sink("out", "u"),
        )
        assert found == {"loans": "loans", "m": "m", "p": "p f", "u": "u"}

    def test_a_chain_of_them_moves_rows_once_all_the_same(self) -> None:
        found = grouped(
            loans("loans"),
            by_key("p", "loans", "user"),
            by_key("q", "p", "user"),
            union("u", "loans", "q"),
            sink("out", "u"),
        )
        assert found == {"loans": "loans", "p": "p q", "u": "u"}

    def test_a_fork_before_them_ends_the_chain(self) -> None:
        found = grouped(
            loans("loans"),
            by_key("p", "loans", "user"),
            by_key("q", "p", "user"),
            by_key("r", "p", "user"),
            union("u", "q", "r"),
            sink("out", "u"),
        )
        assert found == {"loans": "loans", "p": "p", "q": "q", "r": "r", "u": "u"}

    def test_windows_between_are_of_another_job(self) -> None:
        found = grouped(
            loans("loans"),
            rate("m", "loans", "user"),
            by_key("p", "m", "user"),
            *windows("w", "p", "user"),
            *windows("v", "loans", "user"),
            union("u", "w", "v"),
            sink("out", "u"),
        )
        assert found["m"] == "m p w_partials w"


class TestWishes:
    def test_an_operator_may_be_kept_apart(self) -> None:
        assert grouped(
            source("a"), map_("m", "a"), rate("n", "m", fuse=False), map_("o", "n"), sink("s", "o")
        ) == {"a": "a", "m": "m", "n": "n", "o": "o"}

    def test_windows_may_be_kept_apart(self) -> None:
        assert grouped(
            loans("loans"),
            rate("m", "loans", "area"),
            *windows("w", "m", "area", fuse=False),
            sink("out", "w"),
        ) == {"loans": "loans", "m": "m", "w_partials": "w_partials w"}

    def test_windows_of_windows_may_be_kept_apart_too(self) -> None:
        assert grouped(
            loans("loans"),
            *windows("v", "loans", "area", fuse=False),
            *windows("w", "v", "area", fuse=False),
            sink("out", "w"),
        ) == {"loans": "loans", "v_partials": "v_partials v", "w_partials": "w_partials w"}

    def test_a_name_that_the_user_gave_is_nobody_elses(self) -> None:
        assert grouped(
            loans("loans"), rate("m", "loans"), rate("n", "m", component="m"), sink("out", "n")
        ) == {"loans": "loans", "m_2": "m", "m": "n"}

    def test_windows_with_a_way_of_their_own_are_apart(self) -> None:
        assert grouped(
            loans("loans"), *windows("w", "loans", "area", moves_rows=True), sink("out", "w")
        ) == {"loans": "loans", "w_partials": "w_partials w"}

    def test_a_name_of_its_own_keeps_an_operator_apart(self) -> None:
        assert grouped(
            loans("loans"),
            rate("m", "loans", "area"),
            rate("n", "m", "area", component="alone"),
            rate("o", "n", "area"),
            *windows("w", "o", "area"),
            sink("out", "w"),
        ) == {"loans": "loans", "m": "m", "alone": "n", "o": "o w_partials w"}

    def test_a_component_may_be_named(self) -> None:
        assert grouped(
            loans("loans"),
            rate("m", "loans", component="enriched"),
            rate("n", "m", component="enriched"),
            rate("o", "n", component="scored"),
            sink("out", "o"),
        ) == {"loans": "loans", "enriched": "m n", "scored": "o"}


class TestReasons:
    def problem(self, *names: str, topology: Topology) -> str | None:
        return TopologyJob(topology).problem(frozenset(names))

    def test_rows_that_come_as_they_come(self) -> None:
        topology = Topology(
            [source("a"), source("b"), union("u", "a", "b"), map_("m", "u"), sink("s", "m")]
        )
        assert self.problem("a", "u", topology=topology) == ("'u' does not read what 'a' leads to")
        assert self.problem("u", "m", topology=topology) == (
            "the rows of 'u' come as they come, and 'm' has tasks of its own"
        )

    def test_windows_come_out_where_they_are_formed(self) -> None:
        topology = Topology(
            [
                loans("loans"),
                rate("m", "loans", "area"),
                *windows("w", "m", "area"),
                *windows("v", "w", "area"),
                sink("out", "v"),
            ]
        )
        members = ("m", "w_partials", "w", "v_partials")
        assert self.problem(*members, topology=topology) == (
            "the windows of 'w' come out wherever they are formed"
        )


def test_by_themselves_windows_stay_with_their_partials() -> None:
    grouping = single_grouping(TopologyJob(Topology(lending("area"))))
    assert grouping.members("op2_partials") == ("op2_partials", "op2")
    assert grouping.members("op1") == ("op1",)
    assert len(list(grouping)) == 6


def test_rates_that_were_measured_decide() -> None:
    topology = Topology(
        [
            loans("loans"),
            rate("m", "loans", "area", "user"),
            *windows("v", "m", "user"),
            *windows("w", "m", "area"),
            sink("o", "v"),
            sink("out", "w"),
        ]
    )
    measured = {"loans": 100.0, "m": 100.0, "v_partials": 5.0, "w_partials": 50.0}
    job = TopologyJob(topology, measured)
    found = Components(topology, first_grouping(job))
    assert found["m"].by == ("area",)


def test_sql_goes_with_what_it_reads() -> None:
    assert grouped(
        source("a"),
        map_("m", "a"),
        select("s", "m"),
        filter_("f", "s"),
        map_("n", "f"),
        sink("out", "n"),
    ) == {"a": "a", "m": "m s f n"}
