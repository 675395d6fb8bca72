"""Counts taken in a few places tell the rows everywhere. A simulation knows the truth."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from penstock.topology.dag import Topology
from penstock.topology.operators import (
    DeadLetters,
    Filter,
    Join,
    LateRows,
    Operator,
    PythonOperator,
    Select,
    Source,
    Union,
)
from penstock.topology.row_counts import (
    PythonCount,
    counted_by_spark,
    rows_in,
    rows_out,
    rows_received,
)
from topology.builders import (
    dead_letters,
    filter_,
    join,
    late_rows,
    map_,
    select,
    sink,
    source,
    union,
)
from topology.strategies import topologies


@dataclass
class Simulation:
    """Runs rows through a topology, every operator with a selectivity drawn for it."""

    topology: Topology
    random: Random
    took: dict[str, int] = field(default_factory=dict)
    gave: dict[str, int] = field(default_factory=dict)
    failed: dict[str, int] = field(default_factory=dict)

    def run(self) -> Simulation:
        for operator in self.topology:
            if isinstance(operator, DeadLetters):
                rows = sum(self.failed[name] for name in operator.inputs)
            else:
                rows = sum(self.gave[name] for name in operator.inputs)
            gave = self._gave(operator, rows)
            self.gave[operator.name] = gave
            self.took[operator.name] = gave if isinstance(operator, Source) else rows
        return self

    def _gave(self, operator: Operator, rows: int) -> int:
        pick = self.random.randint
        if isinstance(operator, Source):
            return pick(0, 1_000)
        if isinstance(operator, PythonOperator):
            failed = pick(0, rows) if operator.on_error == "dead_letter" else 0
            self.failed[operator.name] = failed
            return pick(0, 2 * (rows - failed))
        if isinstance(operator, Filter | LateRows):
            return pick(0, rows)
        if isinstance(operator, Join) or (isinstance(operator, Select) and not operator.row_by_row):
            return pick(0, 3 * rows)
        return rows

    def python_counts(self) -> dict[str, PythonCount]:
        return {
            op.name: PythonCount(self.took[op.name], self.gave[op.name], self.failed[op.name])
            for op in self.topology
            if isinstance(op, PythonOperator)
        }


@given(topologies(), st.integers(0, 2**32))
def test_counts_are_the_true_ones_everywhere(topology: Topology, seed: int) -> None:
    truth = Simulation(topology, Random(seed)).run()
    spark = {name: truth.gave[name] for name in counted_by_spark(topology)}
    out = rows_out(topology, truth.python_counts(), spark)
    assert out == truth.gave
    assert {op.name: rows_in(topology, out, op.name) for op in topology} == truth.took


@given(topologies(kinds=("map", "map_batches", "select", "union", "letters"), python_first=True))
def test_spark_counts_nothing_where_python_tells_all(topology: Topology) -> None:
    assert counted_by_spark(topology) == frozenset()


@given(topologies())
def test_spark_counts_only_what_nothing_else_tells(topology: Topology) -> None:
    for name in counted_by_spark(topology):
        operator = topology[name]
        assert not operator.keeps_rows
        assert not isinstance(operator, PythonOperator | DeadLetters | Union)
        assert not any(isinstance(each, PythonOperator) for each in topology.consumers[name])


def test_a_python_reader_tells_what_came_before_it_through_projections() -> None:
    # a --> f --> s --> t --> m --> out
    topology = Topology(
        [
            source("a"),
            filter_("f", "a"),
            select("s", "f"),
            select("t", "s"),
            map_("m", "t"),
            sink("out", "m"),
        ]
    )
    assert counted_by_spark(topology) == {"a"}
    out = rows_out(topology, {"m": PythonCount(40, 7)}, {"a": 100})
    assert out == {"a": 100, "f": 40, "s": 40, "t": 40, "m": 7, "out": 7}


def test_an_exploding_select_does_not_keep_rows() -> None:
    # a --> e --> m --> out
    topology = Topology(
        [
            source("a"),
            select("e", "a", "explode(x)", row_by_row=False),
            map_("m", "e"),
            sink("out", "m"),
        ]
    )
    assert counted_by_spark(topology) == {"a"}


def test_each_sql_operator_that_drops_or_adds_rows_is_counted() -> None:
    # a --> f --> j --> out
    #       f --> late --> lates
    topology = Topology(
        [
            source("a"),
            filter_("f", "a"),
            join("j", "f"),
            late_rows("late", "f"),
            sink("out", "j"),
            sink("lates", "late"),
        ]
    )
    assert counted_by_spark(topology) == {"a", "f", "j", "late"}


def test_a_union_is_the_sum_of_its_inputs() -> None:
    # a --\
    #      u --> out        b is read twice
    # b ==/
    topology = Topology([source("a"), source("b"), union("u", "a", "b", "b"), sink("out", "u")])
    assert counted_by_spark(topology) == {"a", "b"}
    out = rows_out(topology, {}, {"a": 5, "b": 100})
    assert (out["u"], out["out"], rows_in(topology, out, "u")) == (205, 205, 205)


def test_dead_letters_are_the_failed_rows_of_those_they_name() -> None:
    # a --> m --> n --> out
    #   m, n ..failed..> letters --> bad
    topology = Topology(
        [
            source("a"),
            map_("m", "a", "dead_letter"),
            map_("n", "m", "dead_letter"),
            dead_letters("letters", "m", "n"),
            sink("out", "n"),
            sink("bad", "letters"),
        ]
    )
    counts = {"m": PythonCount(10, 8, 2), "n": PythonCount(8, 5, 3)}
    out = rows_out(topology, counts, {})
    assert out == {"a": 10, "m": 8, "n": 5, "letters": 5, "out": 5, "bad": 5}
    assert rows_in(topology, out, "letters") == 5
    received = {op.name: rows_received(topology, counts, op.name) for op in topology}
    assert received == {"a": (), "m": (), "n": (), "letters": (2, 3), "out": (), "bad": ()}


def test_a_count_that_is_missing_is_none_at_all() -> None:
    topology = Topology([source("a"), filter_("f", "a"), map_("m", "f"), sink("out", "m")])
    assert rows_out(topology, {}, {}) == {"a": 0, "f": 0, "m": 0, "out": 0}
