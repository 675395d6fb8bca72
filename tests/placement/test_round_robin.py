"""Round robin, evaluated by Spark."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from penstock.placement.placement import Border
from penstock.placement.round_robin import RoundRobin

TASKS = (1, 2, 3, 5, 8, 16)


def placed(
    df: DataFrame, partitions: int | None, tasks: tuple[int, ...] = TASKS
) -> list[list[int]]:
    """Return the task of every row, for each number of tasks."""
    expressions = []
    for each in tasks:
        expression = RoundRobin().expression(Border(partitions, each))
        assert expression is not None
        expressions.append(f"CAST({expression} AS INT) AS task_{each}")
    rows = df.selectExpr(*expressions).collect()
    return [[row[f"task_{each}"] for row in rows] for each in tasks]


def uneven(spark: SparkSession, partitions: int) -> DataFrame:
    """Partitions of very different sizes, one of them empty."""
    size = 40
    df = spark.range(0, partitions * size, 1, partitions)
    return df.filter(f"id >= {size} AND id % {size} < 3 + 7 * (id DIV {size})")


@pytest.mark.parametrize("partitions", [2, 5, 7])
@pytest.mark.parametrize("is_known", [True, False])
def test_deals_evenly(spark: SparkSession, partitions: int, is_known: bool) -> None:
    df = uneven(spark, partitions)
    for tasks, chosen in zip(TASKS, placed(df, partitions if is_known else None), strict=True):
        assert set(chosen) <= set(range(tasks))
        loads = [Counter(chosen)[task] for task in range(tasks)]
        # Each partition is uneven by one row at most, so all together by as many as there are.
        assert max(loads) - min(loads) <= partitions
        assert sum(loads) == len(chosen) > 0


def test_rows_of_one_partition_take_turns(spark: SparkSession) -> None:
    (chosen,) = placed(spark.range(0, 7, 1, 1), 1, (3,))
    assert chosen == [0, 1, 2, 0, 1, 2, 0]


@pytest.mark.parametrize(
    ("partitions", "tasks", "starts"),
    [
        (2, 8, [0, 4]),
        (4, 8, [0, 2, 4, 6]),
        (3, 8, [0, 2, 4]),
        (5, 8, [0, 1, 2, 3, 4]),
        (10, 4, [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]),
    ],
)
def test_partitions_start_at_tasks_spread_evenly(
    spark: SparkSession, partitions: int, tasks: int, starts: list[int]
) -> None:
    one_row_each = spark.range(0, partitions, 1, partitions)
    assert placed(one_row_each, partitions, (tasks,)) == [starts]


def test_a_row_has_the_same_task_when_it_is_computed_again(spark: SparkSession) -> None:
    df = uneven(spark, 5)
    assert placed(df, 5) == placed(df, 5)


def test_every_row_lands_in_the_task_that_was_chosen(spark: SparkSession) -> None:
    expression = RoundRobin().expression(Border(3, 5))
    assert expression is not None
    marked = spark.range(0, 50, 1, 3).selectExpr("id", f"CAST({expression} AS INT) AS task")
    landed = marked.repartitionById(5, marked.task).selectExpr("task", "spark_partition_id()")
    assert all(task == partition for task, partition in landed.collect())


@given(st.integers(0, 100) | st.none(), st.integers(1, 100))
def test_rows_stay_exactly_when_there_are_as_many_partitions_as_tasks(
    partitions: int | None, tasks: int
) -> None:
    assert RoundRobin().fits(Border(partitions, tasks)) == (partitions == tasks)


def test_leaves_rows_whose_order_may_change_to_spark() -> None:
    assert RoundRobin().expression(Border(2, 8, ordered=False)) is None


def test_no_partitions_at_all_are_placed_too(spark: SparkSession) -> None:
    assert placed(spark.range(0).repartition(1), 0, (4,)) == [[]]
