"""What is told of components: what moves rows at their entrances, why they are apart, windows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.topology.adaptation import Combine, Split, adapted
from penstock.topology.components import Components
from penstock.topology.dag import Topology
from penstock.topology.explain_components import Entrance, entrance_of, facts_of
from penstock.topology.explain_why import SharedWindows, borders, shared_windows
from penstock.topology.fusion_rules import TopologyJob, single_grouping
from penstock.topology.operators import Compute, Consolidate, Operator
from penstock.windows.panes import paned
from penstock.windows.specs import WindowSpec, sliding, tumbling
from topology.builders import (
    by_key,
    dead_letters,
    filter_,
    join,
    loans,
    map_,
    rate,
    select,
    sink,
    source,
    union,
    windows,
)


def grouped(*operators: Operator, moving: frozenset[str] = frozenset()) -> Components:
    return Components(Topology(operators), moving=moving)


def told(components: Components) -> dict[tuple[str, str], str]:
    """Why components are apart, by their names."""
    return {(each.upstream, each.downstream): each.reason for each in borders(components)}


class TestEntrance:
    def of(self, name: str, components: Components) -> Entrance:
        return entrance_of(components[name], components)

    def test_rows_of_sources_unions_joins_and_windows_come_as_they_come(self) -> None:
        found = grouped(
            loans("a"),
            loans("b"),
            union("u", "a", "b"),
            join("j", "u"),
            *windows("w", "a", "area"),
            sink("out", "j"),
            sink("out2", "w"),
        )
        for name in ("a", "b", "u", "j", "w"):
            assert self.of(name, found) == Entrance("rows come as they come")

    def test_rows_before_sql_of_dead_letters_come_as_they_come(self) -> None:
        found = grouped(
            source("a"),
            map_("m", "a", "dead_letter"),
            dead_letters("letters", "m"),
            select("s", "letters"),
            sink("out", "m"),
            sink("bad", "s"),
        )
        assert self.of("s", found) == Entrance("rows come as they come")
        assert told(found).keys() == {("a", "m")}

    def test_python_that_takes_any_row_is_placed(self) -> None:
        found = grouped(source("a"), map_("m", "a"), sink("out", "m"))
        assert self.of("m", found) == Entrance("rows are placed by the placement", "placed")

    def test_a_process_has_key_groups_also_behind_another_operator(self) -> None:
        found = grouped(
            loans("a"),
            rate("m", "a", "user"),
            by_key("p", "m", "user", groups=32),
            sink("out", "p"),
        )
        assert self.of("m", found) == Entrance(
            "rows are exchanged by 32 key groups", "key groups of user"
        )

    def test_python_before_windows_of_the_same_component_is_exchanged_on_columns(self) -> None:
        found = grouped(
            loans("a", area=7, user=11),
            rate("m", "a", "area", "user"),
            *windows("w", "m", "user", "area"),
            sink("out", "w"),
        )
        assert self.of("m", found) == Entrance("rows are exchanged on area, user", "on area, user")
        facts = facts_of(found["m"], found)
        assert facts.partitioned == "partitioned on area, user"
        assert facts.most_tasks == 77

    @pytest.mark.parametrize(("keys", "on"), [(("area",), "area and pane"), ((), "pane")])
    def test_combined_windows_have_spark_s_own_exchange(
        self, keys: tuple[str, ...], on: str
    ) -> None:
        found = grouped(loans("a"), *windows("w", "a", *keys, fuse=False), sink("out", "w"))
        facts = facts_of(found["w_partials"], found)
        assert facts.entrance == Entrance(
            "rows are exchanged by Spark's own aggregate", "Spark's exchange"
        )
        assert facts.partitioned == f"partitioned on {on}"

    def test_windows_that_are_formed_by_themselves_are_of_a_key(self) -> None:
        found = grouped(loans("a"), *windows("w", "a", "area", "user"), sink("out", "w"))
        facts = facts_of(found["w"], found)
        assert (facts.kind, facts.partitioned) == (
            "rigid and stateless",
            "partitioned on area, user and window",
        )

    def test_preference_queries_place_panes_and_run_in_python(self) -> None:
        found = grouped(loans("a"), *windows("best", "a", moves_rows=True), sink("out", "best"))
        facts = facts_of(found["best_partials"], found)
        assert facts.entrance == Entrance("rows are placed by pane", "by pane")
        assert facts.steps == "Python(best_partials) -> JVM(best)"
        assert facts.partitioned == "partitioned on pane, and panes may be split"
        (shared,) = shared_windows(found)
        assert shared.partials == "split by pane: a pane has as many tasks as it needs"

    def test_windows_with_rules_of_their_own_have_key_groups(self) -> None:
        found = grouped(
            loans("a"),
            *windows("w", "a", "area", "user"),
            sink("out", "w"),
            moving=frozenset({"w_partials"}),
        )
        assert self.of("w_partials", found) == Entrance(
            "rows are exchanged by key groups", "key groups of area, user"
        )
        assert told(found) == {
            ("a", "w_partials"): "'w_partials' moves its rows by rules of its own"
        }


class TestWhy:
    def test_a_union_of_two_branches_of_one_component_is_told_once(self) -> None:
        # a --> f --\
        #            u --> out
        # a --> g --/
        found = grouped(
            source("a"),
            filter_("f", "a"),
            filter_("g", "a"),
            union("u", "f", "g"),
            sink("out", "u"),
        )
        assert told(found) == {("a", "u"): "the rows of 'u' come as they come"}

    def test_a_union_of_two_sources_is_told_for_each(self) -> None:
        found = grouped(source("a"), source("b"), union("u", "a", "b"), sink("out", "u"))
        why = "the rows of 'u' come as they come"
        assert told(found) == {("a", "u"): why, ("b", "u"): why}

    def test_what_the_user_wants_is_a_reason(self) -> None:
        found = grouped(loans("a"), rate("m", "a"), rate("n", "m", fuse=False), sink("out", "n"))
        assert told(found)["m", "n"] == "'n' is to run by itself (fuse=False)"
        found = grouped(
            loans("a"), rate("m", "a", component="x"), rate("n", "m", component="y"), sink("o", "n")
        )
        assert told(found)["x", "y"] == "'m' and 'n' are to be in components of their own"
        found = grouped(loans("a"), rate("m", "a", component="x"), rate("n", "m"), sink("o", "n"))
        assert told(found)["x", "n"] == "'m' is to be in component 'x', 'n' is not"
        assert told(found)["a", "x"] == (
            "the rows of 'a' come as they come, and 'm' has tasks of its own"
        )

    def test_keys_that_have_nothing_in_common_are_a_reason(self) -> None:
        found = grouped(
            loans("a"), by_key("p", "a", "user"), by_key("q", "p", "area"), sink("out", "q")
        )
        assert told(found)["p", "q"] == "they share no attribute to partition on"

    def test_what_could_be_one_was_not_worth_it(self) -> None:
        topology = Topology([loans("a"), rate("m", "a"), rate("n", "m"), sink("out", "n")])
        found = Components(topology, single_grouping(TopologyJob(topology)))
        assert told(found)["m", "n"] == "fusing them was not worth it"


class TestWindows:
    def test_split_combined_and_complete(self) -> None:
        # a --> windows by area, whose partials are made where rows are, until they are combined
        found = grouped(loans("a"), *windows("w", "a", "area"), sink("out", "w"))
        assert self.partials(found) == "split: partials of one key may be made in several tasks"
        combined = adapted(found, [Combine("w")]).components
        assert self.partials(combined) == "combined: partials of one key are brought together first"
        split = adapted(combined, [Split("w")]).components
        assert self.partials(split) == self.partials(found)
        kept = grouped(
            loans("a"), rate("m", "a", "area"), *windows("w", "m", "area"), sink("out", "w")
        )
        assert self.partials(kept) == "complete: all rows of a key are where its partials are made"

    def partials(self, components: Components) -> str:
        (found,) = shared_windows(components)
        return found.partials

    @pytest.mark.parametrize(
        ("specs", "said"),
        [
            ([tumbling(600)], "panes of 10 minutes, for windows of 10 minutes"),
            (
                [sliding("1 hour", "10 minutes")],
                "panes of 10 minutes, shared by windows of 1 hour every 10 minutes",
            ),
            (
                [tumbling("1 hour", name="hourly"), tumbling("1 day")],
                "panes of 1 hour, shared by windows of 1 hour (hourly) and 1 day",
            ),
        ],
    )
    def test_windows_share_panes(self, specs: list[WindowSpec], said: str) -> None:
        panes = paned(specs)
        made = [
            replace(each, panes=panes) if isinstance(each, Compute | Consolidate) else each
            for each in windows("w", "a", "area")
        ]
        (found,) = shared_windows(grouped(loans("a"), *made, sink("out", "w")))
        assert (found.operator, found.panes()) == ("w", said)

    def test_of_many_windows_a_few_are_named(self) -> None:
        many = SharedWindows("w", "1 minute", ("1", "2", "3", "4", "5"), True, "")
        assert many.panes(most=3).endswith("windows of 1, 2, 3 and 2 more")
        assert many.panes().endswith("windows of 1, 2, 3, 4 and 5")
