"""Where rows go before a component: the same way again when they are computed again."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.engine.compiled_batch import Rows
from penstock.engine.placing import ComponentCosts
from penstock.engine.python_step import Tally
from penstock.engine.row_hash import row_hash
from penstock.placement.cost_aware import CostAware
from penstock.placement.cost_model import TaskCosts
from penstock.topology.operators import Map
from penstock.topology.schema import Schema

TASKS = 4
PLACEMENT = CostAware(least_gain_seconds=0.0)
OPERATOR = Map(name="slow", schema=Schema(()), function=print, returns=None, cost_key=("k",))


def measured(seconds: tuple[float, ...], rows: int = 300) -> dict[str, list[Tally]]:
    """What a task tells of rows with the keys 0, 1, ... by turns."""
    keys = np.arange(rows) % len(seconds)
    costs = np.array(seconds)[keys]
    sketch = PLACEMENT.sketch()
    sketch.update(keys.astype(np.uint64), costs)
    return {"slow": [Tally(rows_in=rows, costs=TaskCosts(sketch, float(costs @ costs)))]}


def known_costs(seconds: tuple[float, ...] = (9.0, 3.0, 1.0), rows: int = 300) -> ComponentCosts:
    """Costs as one batch has shown them."""
    found = ComponentCosts(PLACEMENT, [OPERATOR])
    found.learn(measured(seconds, rows), TASKS)
    return found


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    """Rows that share their values, in different columns: a hash that skips nulls mixes them up."""
    return spark.range(0, 360, 1, 3).selectExpr(
        "id % 3 AS k",
        "IF(id % 2 = 0, id DIV 6, NULL) AS `x.y`",
        "IF(id % 2 = 0, NULL, id DIV 6) AS b",
        "IF(id % 2 = 0, array(id DIV 6, NULL), array(NULL, id DIV 6)) AS list",
        "array(map('a', id DIV 6)) AS m",
    )


def tasks_of(costs: ComponentCosts, df: DataFrame, *, ordered: bool) -> Counter[str]:
    """Every row with the task in which it arrives."""
    placed = costs.place(Rows(df, 3, ordered), TASKS)
    assert placed is not None
    assert placed.partitions == TASKS
    marked = placed.df.withColumn("at", F.spark_partition_id())
    return Counter(repr(tuple(row)) for row in marked.collect())


def test_the_same_rows_go_the_same_way_again(df: DataFrame) -> None:
    costs = known_costs()
    assert tasks_of(costs, df, ordered=True) == tasks_of(costs, df, ordered=True)


def test_rows_in_another_order_go_the_same_way_where_order_is_not_known(df: DataFrame) -> None:
    costs = known_costs()
    backwards = df.sortWithinPartitions(F.monotonically_increasing_id().desc())
    assert [tuple(row) for row in backwards.collect()] != [tuple(row) for row in df.collect()]
    assert tasks_of(costs, backwards, ordered=False) == tasks_of(costs, df, ordered=False)


@pytest.mark.parametrize("columns", [("k", "`x.y`", "b"), ("k", "list")])
def test_rows_that_differ_have_different_numbers(df: DataFrame, columns: tuple[str, ...]) -> None:
    """Spark's own hash passes over nulls, so that (1, null) and (null, 1) would be one."""
    some = df.select(*columns)
    assert some.select(row_hash(some.schema)).distinct().count() == some.distinct().count() == 360


def test_tasks_are_even_by_cost(df: DataFrame) -> None:
    placed = known_costs().place(Rows(df, 3, ordered=True), TASKS)
    assert placed is not None
    cost = F.sum(F.expr("element_at(array(9, 3, 1), int(k + 1))")).alias("cost")
    loads = placed.df.groupBy(F.spark_partition_id()).agg(cost).collect()
    assert sorted(row.cost for row in loads) == pytest.approx([390] * TASKS, rel=0.03)


def test_rows_are_dealt_in_turn_until_costs_are_known_and_where_they_are_even(
    df: DataFrame,
) -> None:
    rows = Rows(df, 3, ordered=True)
    assert ComponentCosts(PLACEMENT, [OPERATOR]).place(rows, TASKS) is None
    assert known_costs((2.0, 2.0)).place(rows, TASKS) is None
    assert known_costs(rows=100).place(rows, TASKS) is None
    assert known_costs().place(rows, 1) is None


def test_what_changes_is_told_once_with_its_reason() -> None:
    costs = ComponentCosts(CostAware(), [OPERATOR])
    for _ in range(5):
        costs.learn(measured((0.09, 0.03, 0.01)), TASKS)
    ((placement, reason),) = costs.news
    assert placement == "by cost"
    assert reason.startswith("placed by what they cost, of 300 rows on 4 slots a batch should end ")
    costs.news.clear()
    for _ in range(60):
        costs.learn(measured((0.05, 0.05, 0.05)), TASKS)
    (change, reason), (placement, why) = costs.news
    assert change == "by cost"
    assert reason.startswith("'slow': costs changed: ")
    assert placement == "in turn"
    assert why.startswith("costs are even: ")


def test_a_narrow_miss_does_not_make_it_go_back_and_forth() -> None:
    """Deviations of 3.85 ms are worth 35 ms with 300 rows, 25 with 150 and 16 with 60."""
    costs = ComponentCosts(CostAware(least_gain_seconds=0.03), [OPERATOR])
    said = []
    for rows in (300, 150, 60, 150, 300):
        costs.learn(measured((0.01385, 0.00615), rows), TASKS)
        said.append([placement for placement, _ in costs.news])
        costs.news.clear()
    assert said == [["by cost"], [], ["in turn"], [], ["by cost"]]


def test_rows_that_could_stay_move_only_for_a_greater_gain(df: DataFrame) -> None:
    """35 ms are enough to deal rows otherwise, but not to move rows that need not move at all."""
    costs = ComponentCosts(CostAware(least_gain_seconds=0.03), [OPERATOR])
    costs.learn(measured((0.01385, 0.00615)), TASKS)
    assert costs.place(Rows(df, 3, ordered=True), TASKS) is not None
    assert costs.place(Rows(df, TASKS, ordered=True), TASKS) is None
    costs.learn(measured((0.1385, 0.0615)), TASKS)
    assert costs.place(Rows(df, TASKS, ordered=True), TASKS) is not None


def test_a_number_of_one_task_in_between_is_no_change() -> None:
    costs = known_costs()
    costs.news.clear()
    for tasks in (1, TASKS, 1, TASKS):
        costs.learn(measured((9.0, 3.0, 1.0)), tasks)
    assert costs.news == []


def test_it_goes_on_with_what_it_knew(df: DataFrame) -> None:
    costs, again = known_costs(), ComponentCosts(PLACEMENT, [OPERATOR])
    again.restore(costs.to_json())
    assert again.to_json() == costs.to_json()
    assert tasks_of(again, df, ordered=True) == tasks_of(costs, df, ordered=True)


def damaged(path: tuple[str, ...], value: Any) -> Any:
    document: Any = known_costs().to_json()
    inner = document
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    return document


MODEL = ("models", "slow")


@pytest.mark.parametrize(
    "document",
    [
        {},
        [],
        "text",
        None,
        3,
        damaged(("models",), None),
        damaged(("models",), []),
        damaged(MODEL, {}),
        damaged(MODEL, "x"),
        damaged((*MODEL, "sketch"), {}),
        damaged((*MODEL, "sketch"), "x"),
        damaged((*MODEL, "sketch", "counts"), "no matrix"),
        damaged((*MODEL, "sketch", "costs"), None),
        damaged((*MODEL, "speeds"), {"one": 0.0}),
        damaged((*MODEL, "speeds"), {"one": "fast"}),
        damaged((*MODEL, "usual_error"), "x"),
        damaged((*MODEL, "explained_seconds"), None),
    ],
)
def test_what_is_damaged_is_learnt_anew(df: DataFrame, document: Any) -> None:
    costs = ComponentCosts(PLACEMENT, [OPERATOR])
    costs.restore(document)
    assert costs.place(Rows(df, 3, ordered=True), TASKS) is None
