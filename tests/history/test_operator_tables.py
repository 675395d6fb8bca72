"""Numbers of operators over time."""

from __future__ import annotations

from math import inf, isnan

import pytest

from penstock.history import operator_tables
from penstock.history.growing_table import MOST_ROWS
from penstock.history.operator_tables import OperatorTables
from penstock.history.quick_lines import OperatorNumbers


def tasks(slowest: float, mean: float, name: str = "score") -> OperatorNumbers:
    return OperatorNumbers(name, 1, 1, 2, 2 * mean, slowest, mean)


def test_batches_of_different_size_that_are_all_even_are_even_together() -> None:
    tables = OperatorTables()
    for second in range(1_000):
        tables.append(float(second), 1.0, [tasks(*((1.0, 1.0) if second % 2 else (0.1, 0.1)))])
    found = tables.balance("score", -inf, inf, 10)
    assert len(found) == 10
    assert found["balance"].tolist() == pytest.approx([1.0] * 10)


def test_balance_is_the_mean_of_what_each_batch_was() -> None:
    tables = OperatorTables()
    for second, (slowest, mean) in enumerate([(2.0, 1.0), (0.4, 0.1), (0.0, 0.0)]):
        tables.append(float(second), 1.0, [tasks(slowest, mean)])
    assert tables.balance("score", -inf, inf, 1)["balance"].tolist() == pytest.approx([3.0])
    each = tables.balance("score", -inf, inf, 3)["balance"].tolist()
    assert each[:2] == pytest.approx([2.0, 4.0])
    assert isnan(each[2])
    assert len(tables.balance("nobody", -inf, inf, 3)) == 0


def test_balance_is_that_of_each_batch_also_where_they_were_put_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(operator_tables, "_MOST_CELLS", 200)
    tables = OperatorTables()
    for second in range(200):
        tables.append(float(second), 1.0, [tasks(2.0 if second % 2 else 1.0, 1.0)])
    assert len(tables.buckets("score", -inf, inf, 1_000)) < 30
    found = tables.balance("score", -inf, inf, 1)
    assert found["balance"].tolist() == pytest.approx([1.5])


def test_a_row_says_how_many_batches_it_stands_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator_tables, "_MOST_CELLS", 200)
    tables = OperatorTables()
    for second in range(200):
        tables.append(float(second), 1.0, [tasks(1.0, 1.0)])
    assert tables.buckets("score", -inf, inf, 1_000)["count"].sum() == 200
    assert tables.last("score")["count"] == 1


def test_many_operators_take_no_more_memory_than_some() -> None:
    tables = OperatorTables()
    tables.append(0.0, 1.0, [tasks(1.0, 1.0, f"op{n}") for n in range(500)])
    ((_, wide),) = tables._blocks
    few = OperatorTables()
    few.append(0.0, 1.0, [tasks(1.0, 1.0, f"op{n}") for n in range(12)])
    ((_, narrow),) = few._blocks
    assert wide._most * 8 < 120e6
    assert narrow._most == MOST_ROWS * narrow._width


def test_operators_that_come_and_go_keep_all_their_batches() -> None:
    tables = OperatorTables()
    for second in range(300):
        there = [tasks(1.0, 1.0), tasks(1.0, 1.0, "rank")][: 1 + second % 2]
        tables.append(float(second), 1.0, there)
    score = tables.buckets("score", -inf, inf, 1_000)
    assert score["at"].tolist() == list(range(300))
    assert len(tables.buckets("rank", -inf, inf, 1_000)) == 150
    assert tables.names == ["score", "rank"]
    assert tables.last("score")["at"] == 299.0
