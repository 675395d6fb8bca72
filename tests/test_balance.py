"""Balance: the rows of any DataFrame in partitions that cost equally much, none lost or doubled."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import penstock as ps
from penstock.placement.hashing import key_hashes

ROWS, K = 600, 8
COST = "IF(id % 30 = 0, 300D, 4D)"  # every key with one cost: 20 dear rows


@pytest.fixture
def rows(spark: SparkSession) -> DataFrame:
    return spark.range(0, ROWS, 1, 3).selectExpr("id", f"{COST} AS cost", "id % 30 AS k")


def loads(df: DataFrame) -> list[float]:
    """Return what each partition costs; every row is there once."""
    parts = df.select("id", "cost", F.spark_partition_id().alias("at")).collect()
    assert sorted(row.id for row in parts) == list(range(ROWS))
    return [sum(row.cost for row in parts if row.at == at) for at in range(K)]


def spread(df: DataFrame) -> float:
    found = loads(df)
    return max(found) * K / sum(found)


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_partitions_cost_equally_much_and_are_as_many_as_asked_for(
    spark: SparkSession, rows: DataFrame, adaptive: str
) -> None:
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    try:
        balanced = ps.balance(rows, K, cost="cost")
        assert balanced.columns == rows.columns
        assert balanced.rdd.getNumPartitions() == K
        # 8,320 in all: 1,040 each; 20 dear rows are 2 or 3 in each.
        assert spread(balanced) < 1.1
        assert spread(rows.repartition(K)) > 1.2
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")


@pytest.mark.parametrize(
    "change",
    [
        lambda df: df.repartition(3),
        lambda df: df.repartition(3).withColumn("m", F.expr("map('a', id)")),
        lambda df: df.withColumn("x.y", F.col("id")).repartition(2),
        lambda df: df.withColumn("cost", F.col("cost").cast("decimal(12,2)")),
        lambda df: df.withColumn("cost", (F.col("cost") * 2**50).cast("bigint")),
        lambda df: df.withColumn("cost", F.col("cost") * 1e-12),
        lambda df: df.groupBy("id", "cost", "k").count(),
    ],
)
def test_whatever_the_rows_and_their_costs_are(rows: DataFrame, change: Any) -> None:
    assert spread(ps.balance(change(rows), K, cost="cost")) < 1.15


def test_a_partition_that_is_computed_again_gives_its_rows_to_the_same_tasks(
    rows: DataFrame,
) -> None:
    def placed(df: DataFrame) -> dict[int, int]:
        balanced = ps.balance(df, K, cost="cost")
        found = balanced.select("id", F.spark_partition_id().alias("at")).collect()
        return {row.id: row.at for row in found}

    mixed = rows.repartition(1)
    assert placed(mixed.sortWithinPartitions("id")) == placed(
        mixed.sortWithinPartitions(F.desc("id"))
    )


def test_costs_that_are_none_count_as_nothing(spark: SparkSession) -> None:
    odd = "CASE id % 4 WHEN 0 THEN NULL WHEN 1 THEN double('NaN') WHEN 2 THEN -5D ELSE 1D END"
    df = spark.range(0, ROWS, 1, 2).selectExpr("id", f"{odd} AS cost")
    found = ps.balance(df, K, cost="cost").select("id", "cost", F.spark_partition_id().alias("at"))
    rows = found.collect()
    assert sorted(row.id for row in rows) == list(range(ROWS))
    ones = [sum(row.cost == 1.0 and row.at == at for row in rows) for at in range(K)]
    assert max(ones) <= 1.2 * 150 / K


def test_costs_of_keys_are_learnt_from_rows_that_tell(rows: DataFrame) -> None:
    costs = ps.KeyCosts("k")
    before = spread(ps.balance(rows, K, cost=costs))  # dealt in turn
    costs.learn(rows, "cost")
    assert spread(ps.balance(rows, K, cost=costs)) < 1.1 < before


def test_one_row_for_each_key_is_enough_to_learn_from(spark: SparkSession, rows: DataFrame) -> None:
    costs = ps.KeyCosts(["k"])
    costs.learn(rows.select("k", "cost").distinct(), "cost")
    assert spread(ps.balance(rows, K, cost=costs)) < 1.1


def test_costs_of_keys_are_learnt_from_calls(rows: DataFrame) -> None:
    """Calls that wait for their rows; the function sees all batches of a task as one iterator."""

    def wait(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            time.sleep(sum(batch.column("cost").to_pylist()) / 1e5)
            yield batch

    costs = ps.KeyCosts("k")
    for _ in range(3):
        work = ps.balance(rows, K, cost=costs).mapInArrow(
            costs.timed(wait), "id bigint, cost double, k bigint"
        )
        assert work.count() == ROWS
    costs._collect()
    assert costs._model.sketch is not None
    dear, cheap = costs._model.sketch.estimate(key_hashes([0, 1]))
    assert dear > 3 * cheap


@pytest.mark.parametrize(
    ("k", "cost", "words"),
    [
        (0, "cost", "balance can't make 0 partitions"),
        (2.5, "cost", "balance can't make 2.5 partitions"),
        (8, "nope", "'nope' is no column"),
        (8, 3, "cost is a int"),
        (8, ps.KeyCosts("user"), "'user' is no column"),
    ],
)
def test_mistakes_are_told(rows: DataFrame, k: Any, cost: Any, words: str) -> None:
    with pytest.raises(ps.PenstockError, match=words):
        ps.balance(rows, k, cost=cost)


def test_a_column_that_is_no_number_or_there_twice_is_told(rows: DataFrame) -> None:
    with pytest.raises(ps.TopologyError, match="'name' is string"):
        ps.balance(rows.withColumn("name", F.lit("x")), K, cost="name")
    twice = rows.join(rows.withColumnRenamed("cost", "other"), rows.k == rows.k)
    with pytest.raises(ps.TopologyError, match="id"):
        ps.balance(twice, K, cost="cost")
    with pytest.raises(ps.ConfigurationError, match="both the key and what a row cost"):
        ps.KeyCosts("k").learn(rows, "k")
    with pytest.raises(ps.ConfigurationError, match="names no columns"):
        ps.KeyCosts(())
