"""What every placement promises: each row has one task, the same again when it is asked again."""

from __future__ import annotations

import copy

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.placement.cost_aware import CostAware
from penstock.placement.key_groups import KeyGroups
from penstock.placement.least_loaded import LeastLoaded
from penstock.placement.placement import Border, Placement
from penstock.placement.round_robin import RoundRobin

PLACEMENTS: dict[str, Placement] = {
    "RoundRobin": RoundRobin(),
    "CostAware": CostAware(),
    "KeyGroups": KeyGroups(),
    "LeastLoaded, at first": LeastLoaded(),
    "LeastLoaded, uneven": LeastLoaded(1.0, (0.9, 0.2, 0.5, 0.2), 0.01),
    "LeastLoaded, all full": LeastLoaded(1.0, (1.5, 2.0, 1.0), 0.01),
}

every_placement = pytest.mark.parametrize("placement", PLACEMENTS.values(), ids=PLACEMENTS.keys())
ROWS, PARTITIONS = 60, 3
TASKS = (1, 2, 4, 7)


def rows(spark: SparkSession) -> DataFrame:
    return spark.range(0, ROWS, 1, PARTITIONS)


def task_of_each_row(df: DataFrame, expressions: list[str]) -> dict[int, list[int]]:
    """Return, for every row's id, its task by each expression."""
    marked = df.selectExpr("id", *expressions)
    return {row[0]: list(row[1:]) for row in marked.collect()}


def expressions_of(placement: Placement, partitions: int | None, *, ordered: bool) -> list[str]:
    answers = [placement.expression(Border(partitions, tasks, ordered)) for tasks in TASKS]
    return [answer for answer in answers if answer is not None]


@every_placement
def test_it_is_a_placement(placement: Placement) -> None:
    assert isinstance(placement, Placement)


@every_placement
@pytest.mark.parametrize("partitions", [PARTITIONS, None])
def test_every_row_has_one_of_the_tasks(
    spark: SparkSession, placement: Placement, partitions: int | None
) -> None:
    expressions = expressions_of(placement, partitions, ordered=True)
    chosen = task_of_each_row(rows(spark), expressions)
    assert len(chosen) == ROWS
    for tasks_of_row in chosen.values():
        for tasks, task in zip(TASKS, tasks_of_row, strict=len(expressions) == len(TASKS)):
            assert task in range(tasks)


@every_placement
def test_the_same_rows_go_the_same_way_again(spark: SparkSession, placement: Placement) -> None:
    expressions = expressions_of(placement, PARTITIONS, ordered=True)
    first = task_of_each_row(rows(spark), expressions)
    assert task_of_each_row(rows(spark), expressions) == first


@every_placement
def test_where_the_order_may_change_it_does_not_matter(
    spark: SparkSession, placement: Placement
) -> None:
    expressions = expressions_of(placement, PARTITIONS, ordered=False)
    backwards = rows(spark).sortWithinPartitions("id", ascending=False)
    assert task_of_each_row(backwards, expressions) == task_of_each_row(rows(spark), expressions)


@every_placement
@pytest.mark.parametrize("ordered", [True, False])
def test_rows_stay_only_where_no_task_would_be_without_any(
    placement: Placement, ordered: bool
) -> None:
    assert not placement.fits(Border(2, 4, ordered))
    assert not placement.fits(Border(None, 4, ordered))


@every_placement
def test_it_can_be_written_down_and_compared(placement: Placement) -> None:
    """A placement is a choice, not a thing that remembers: what is learnt is kept elsewhere."""
    again = copy.deepcopy(placement)
    assert again == placement
    assert hash(again) == hash(placement)
    assert repr(placement).startswith(f"{type(placement).__name__}(")
