"""When another grouping is adopted: what it saves must pay for the change."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from penstock.topology.adaptation import Split, adapted
from penstock.topology.components import Components
from penstock.topology.dag import Topology
from penstock.topology.fusion_rules import TopologyJob, single_grouping
from penstock.topology.operators import Operator
from penstock.topology.optimiser import Optimiser
from penstock.topology.plan_costs import Load, Prices, component_costs, plan_cost, skew_name
from penstock.topology.replanning import Votes, operations_between, weighed
from topology.builders import by_key, loans, rate, sink, windows

FREE = Prices(0.0, 0.0, 0.0, 0.0, 0.0)


def lending(**cardinalities: int) -> Components:
    operators: list[Operator] = [
        loans("loans", **cardinalities),
        rate("op1", "loans", "area"),
        *windows("op2", "op1", "area"),
        sink("out", "op2"),
    ]
    return Components(Topology(operators))


def chain() -> Components:
    operators = [
        loans("loans"),
        by_key("p", "loans", "user"),
        by_key("q", "p", "user"),
        by_key("r", "q", "user"),
        sink("out", "r"),
    ]
    return Components(Topology(operators))


def load(
    rows: float = 1e6, busy: Mapping[str, float] | None = None, slots: int = 4, **more: object
) -> Load:
    names = ("loans", "op1", "p", "q", "r")
    return Load(dict.fromkeys(names, rows), busy or {}, slots, **more)  # type: ignore[arg-type]


def by_themselves(components: Components) -> Components:
    return Components(components.topology, single_grouping(TopologyJob(components.topology)))


class TestCosts:
    def test_every_row_that_moves_and_every_crossing_counts(self) -> None:
        # p is entered by an exchange of 1,000,000 rows, and they cross to Python once for all.
        costs = component_costs(chain(), load(), chain())
        assert costs == {"loans": 0.0, "p": pytest.approx(1.0 + 0.036 + 1.0)}
        apart = by_themselves(chain())
        assert plan_cost(apart, load(), chain()) == pytest.approx(3 * 2.036)

    def test_work_takes_longer_where_a_key_has_few_values(self) -> None:
        busy = {"op1": 8.0}
        wide, narrow = lending(), lending(area=2)
        assert component_costs(wide, load(busy=busy), wide, FREE)["op1"] == 8.0
        assert component_costs(narrow, load(busy=busy), narrow, FREE)["op1"] == 16.0

    def test_and_where_keys_are_uneven(self) -> None:
        now = lending()
        skew = {skew_name(now["op1"]): 3.0}
        assert skew_name(now["op1"]) == "op1 by area"
        found = component_costs(now, load(busy={"op1": 2.0}, skew=skew), now, FREE)
        assert found["op1"] == 6.0

    def test_partials_of_split_windows_are_made_in_every_task(self) -> None:
        now = lending()
        split = adapted(now, (Split("op2"),)).components
        only = Prices(0.0, 0.0, 0.0, 1.0, 1.0)
        seen = load(partials={"op2_partials": 100.0}, reads={"op2_partials": 2.0})
        assert plan_cost(now, seen, now, only) == 300.0
        assert plan_cost(split, seen, now, only) == 4 * 300.0
        # Seen from split: a task met 100 keys in 250,000 rows, so there are hardly more.
        seen = load(partials={"op2_partials": 400.0}, reads={"op2_partials": 2.0})
        assert plan_cost(now, seen, split, only) == pytest.approx(300.0)


class TestWeighing:
    def weigh(
        self, now: Components, seen: Load, votes: Votes | None = None, **options: object
    ) -> tuple[bool, tuple[str, ...], Votes]:
        found, votes = weighed(
            now,
            seen,
            Optimiser(**options),  # type: ignore[arg-type]
            batch_seconds=1.0,
            votes=votes,
        )
        return found.is_adopted, tuple(str(each) for each in found.operations), votes

    def test_operators_that_could_be_fused_are_when_it_pays_twice_in_a_row(self) -> None:
        now = by_themselves(chain())
        adopted, operations, votes = self.weigh(now, load())
        assert operations == ("Migrate(q, q, p)", "Migrate(r, r, p)")
        assert not adopted
        assert self.weigh(now, load(), votes)[0]

    def test_not_where_it_would_not_pay_in_time(self) -> None:
        now = by_themselves(chain())
        _, _, votes = self.weigh(now, load(), horizon="10 milliseconds")
        assert votes == Votes()

    def test_each_change_makes_the_next_one_harder(self) -> None:
        now = by_themselves(chain())
        votes = Votes().after_a_change()
        for adopted in (False, False, True):
            found, _, votes = self.weigh(now, load(), votes)
            assert found == adopted
        assert votes == Votes(needed=4)

    def test_a_plan_that_is_best_stays(self) -> None:
        found, votes = weighed(chain(), load(), Optimiser(), batch_seconds=1.0)
        assert (found.operations, found.is_adopted, votes) == ((), False, Votes())
        assert found.cost_seconds == found.other_cost_seconds == pytest.approx(2.036)

    def test_heavy_work_is_parted_from_a_key_of_few_values(self) -> None:
        """Enorm, section 4.5: migrate where the cardinality is too small to scale out."""
        now = lending(area=2)
        busy = load(busy={"op1": 60.0}, slots=16)
        _, operations, votes = self.weigh(now, busy)
        assert operations == ("Migrate(op2, op1, op2)",)
        adopted, _, _ = self.weigh(now, busy, votes)
        assert adopted

    def test_a_lasting_skew_parts_them_too_and_is_not_forgotten(self) -> None:
        now = lending()
        skew = {"op1 by area": 3.0}
        seen = load(busy={"op1": 30.0}, skew=skew)
        _, operations, _ = self.weigh(now, seen)
        assert operations == ("Migrate(op2, op1, op2)",)
        split = adapted(now, (Split("op2"),)).components
        assert self.weigh(split, seen)[1] == ()

    def test_a_cheaper_plan_is_found_again_when_rates_change(self) -> None:
        """Few rows: any may go anywhere. Many, of many keys, windows read often: by key."""
        now = lending()
        split = adapted(now, (Split("op2"),)).components
        reads = {"op2_partials": 60.0}
        quiet = load(rows=1e3, slots=64, partials={"op2_partials": 500.0}, reads=reads)
        assert self.weigh(split, quiet)[1] == ()
        busy = load(rows=1e6, slots=64, partials={"op2_partials": 9e5}, reads=reads)
        assert self.weigh(split, busy)[1] == ("Migrate(op2, op2, op1)",)


def test_only_the_state_that_moves_is_waited_for_and_by_all_slots() -> None:
    now = by_themselves(chain())
    sizes = {"p": 10**9, "q": 10**8, "r": 10**8}
    found, _ = weighed(now, load(slots=4), Optimiser(), batch_seconds=1.0, state_bytes=sizes)
    assert found.change_seconds == pytest.approx(4 * (0.2 + 2 * 10**8 * 2e-8))
    of_windows = lending(area=2)
    busy = load(busy={"op1": 60.0}, slots=16)
    found, _ = weighed(of_windows, busy, Optimiser(), batch_seconds=1.0, state_bytes=sizes)
    assert found.change_seconds == pytest.approx(16 * 0.2)


def test_the_way_between_two_groupings_is_said_in_migrations() -> None:
    now, then = by_themselves(chain()), chain()
    assert [str(each) for each in operations_between(now, then)] == [
        "Migrate(q, q, p)",
        "Migrate(r, r, p)",
    ]
    assert operations_between(now, now) == ()
