"""Preference queries of batch DataFrames, beside plain Python and Spark SQL on the same rows."""

from __future__ import annotations

import datetime
import math
import random
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, Row, SparkSession

import penstock as ps
from penstock.engine.preference_tree import partitions_of

MINIMIZE, MAXIMIZE = ["price", "days"], ["rating"]
SCHEMA = (
    "number int, price double, days int, rating decimal(6,2), team string, weight double, "
    "at timestamp, tags array<struct<a: int, b: string>>, more map<string, int>, raw binary"
)


def random_rows(count: int, seed: int) -> list[tuple[Any, ...]]:
    drawn = random.Random(seed)
    start = datetime.datetime(2024, 3, 1, tzinfo=datetime.UTC)
    rows = []
    for number in range(count):
        # On a plane through the cube many rows are best, and numbers of few values are often equal.
        price, days = drawn.randint(0, 40) / 4, drawn.randint(0, 12)
        rating = Decimal(drawn.randint(0, 60) + int(4 * price) + 3 * days) / 4
        rows.append(
            (
                number // 2,
                price,
                days,
                rating,
                drawn.choice(["red", "blue", None]),
                drawn.choice([0.0, -0.0, math.nan]),
                start + datetime.timedelta(microseconds=number),
                None if number % 3 else [(number, "x"), (None, None)],
                {"n": number} if number % 5 else None,
                bytes([number % 256]),
            )
        )
    return [*rows, *rows[:20]]


@pytest.fixture(scope="module")
def offers(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(random_rows(500, seed=3), SCHEMA).repartition(3)


def counted(rows: Sequence[Any]) -> Counter[str]:
    """Count rows by all they hold: -0.0 is not 0.0 here, and equal rows are several."""
    return Counter(repr(tuple(row)) for row in rows)


def as_good(one: Row, other: Row) -> int:
    pairs = [(one[name], other[name]) for name in MINIMIZE]
    pairs += [(-one[name], -other[name]) for name in MAXIMIZE]
    return sum(a <= b for a, b in pairs)


def k_dominates(one: Row, other: Row, k: int) -> bool:
    return as_good(one, other) >= k and as_good(other, one) < 3


def group_of(row: Row, by: Sequence[str]) -> str:
    normal = [0.0 if row[name] == 0 else row[name] for name in by]
    return repr(normal)


def groups_of(rows: Sequence[Row], by: Sequence[str]) -> list[list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(group_of(row, by), []).append(row)
    return list(groups.values())


def best(rows: Sequence[Row], k: int = 3) -> list[Row]:
    return [row for row in rows if not any(k_dominates(other, row, k) for other in rows)]


def native(df: DataFrame, by: Sequence[str] = ()) -> DataFrame:
    """Return the skyline as Spark SQL finds it: rows for which no better one exists."""
    df.createOrReplaceTempView("offers")
    same = "".join(f" AND a.{name} <=> b.{name}" for name in by)
    return df.sparkSession.sql(
        "SELECT * FROM offers b WHERE NOT EXISTS (SELECT 1 FROM offers a WHERE "
        "a.price <= b.price AND a.days <= b.days AND a.rating >= b.rating AND "
        f"(a.price < b.price OR a.days < b.days OR a.rating > b.rating){same})"
    )


@pytest.mark.parametrize("by", [(), ("team", "weight")], ids=len)
def test_skyline_rows_are_those_of_spark_sql(offers: DataFrame, by: tuple[str, ...]) -> None:
    found = ps.skyline(offers, minimize=MINIMIZE, maximize=MAXIMIZE, by=by)
    assert found.schema.simpleString() == offers.schema.simpleString()
    expected = native(offers, by).collect()
    assert len(expected) > 20
    assert counted(found.collect()) == counted(expected)


@pytest.mark.parametrize("by", [(), ("team", "weight")], ids=len)
def test_counts_are_of_all_rows_that_a_row_dominates(
    offers: DataFrame, by: tuple[str, ...]
) -> None:
    found = ps.skyline(offers, minimize=MINIMIZE, maximize=MAXIMIZE, by=by, counts="beats")
    assert found.columns == [*offers.columns, "beats"]
    expected = [
        (*row, sum(k_dominates(row, other, 3) for other in rows))
        for rows in groups_of(offers.collect(), by)
        for row in best(rows)
    ]
    assert len({row[-1] for row in expected}) > 5
    assert counted(found.collect()) == counted(expected)


@pytest.mark.parametrize(("by", "delta"), [((), 2), ((), 1000), (("team", "weight"), 4)])
def test_top_dominant_takes_the_smallest_k_with_enough_rows(
    offers: DataFrame, by: tuple[str, ...], delta: int
) -> None:
    expected = []
    for rows in groups_of(offers.collect(), by):
        k = next((k for k in (1, 2, 3) if len(best(rows, k)) >= delta), 3)
        expected += [(*row, k) for row in best(rows, k)]
    found = ps.top_dominant(
        offers, delta, minimize=MINIMIZE, maximize=MAXIMIZE, by=by, k_column="k"
    )
    assert counted(found.collect()) == counted(expected)
    if delta == 2:
        without = ps.top_dominant(offers, delta, minimize=MINIMIZE, maximize=MAXIMIZE)
        assert counted(without.collect()) == counted([row[:-1] for row in expected])
        assert without.columns == offers.columns


def test_columns_may_have_any_name(offers: DataFrame) -> None:
    named = offers.select("number", "price", "days", "rating").toDF("a.b", "c`d", "D.e", "f g")
    found = ps.skyline(
        named.coalesce(1), minimize=["c`d", "D.e"], maximize=["f g"], by="a.b", counts="x.y"
    )
    assert found.columns == ["a.b", "c`d", "D.e", "f g", "x.y"]
    plain = ps.skyline(
        offers.coalesce(1), minimize=MINIMIZE, maximize=MAXIMIZE, by="number", counts="n"
    )
    expected = plain.select("number", "price", "days", "rating", "n").collect()
    assert counted(found.collect()) == counted(expected)


def test_a_preference_of_ones_own(offers: DataFrame) -> None:
    margin = 1.5

    def clearly_cheaper(one: Any, other: Any) -> bool:
        return bool(one[0] < other[0] - margin and one[2] >= other[2])

    df = offers.coalesce(2)  # each process compiles it
    found = ps.skyline(
        df, minimize=MINIMIZE, maximize=MAXIMIZE, dominates=clearly_cheaper, counts="beats"
    )
    rows = df.collect()

    def beats(one: Row, other: Row) -> bool:
        return bool(one.price < other.price - margin and one.rating >= other.rating)

    expected = [
        (*row, sum(beats(row, other) for other in rows))
        for row in rows
        if not any(beats(other, row) for other in rows)
    ]
    assert 5 < len(expected) < len(rows)
    assert counted(found.collect()) == counted(expected)


def test_partitions_are_merged_in_a_tree_and_nothing_runs_before(spark: SparkSession) -> None:
    context: Any = spark.sparkContext
    tracker = context.statusTracker()
    before = set(tracker.getJobIdsForGroup(None))
    df = spark.range(900, numPartitions=9).selectExpr("id % 97 AS x", "100 - id % 89 AS y", "id")
    found = ps.skyline(df, minimize=["x", "y"])
    ps.skyline(df.orderBy("id"), minimize=["x", "y"], counts="beats")
    assert set(tracker.getJobIdsForGroup(None)) == before
    java: Any = found._jdf
    plan = str(java.queryExecution().executedPlan())
    assert plan.count("MapInArrow ") // (2 if "Initial Plan" in plan else 1) == 3
    points = [(row.x, row.y) for row in df.collect()]
    expected = {
        (x, y)
        for x, y in points
        if not any((a, b) != (x, y) and a <= x and b <= y for a, b in points)
    }
    assert {(row.x, row.y) for row in found.collect()} == expected


def test_partitions_are_counted_without_running_anything(spark: SparkSession) -> None:
    rows = spark.range(50, numPartitions=7)
    assert partitions_of(rows.where("id > 3")) == 7
    assert partitions_of(rows.union(rows)) == 14
    assert partitions_of(rows.repartition(9)) == 9
    assert partitions_of(rows.groupBy((rows.id % 5).alias("rest")).count()) == 4


def test_no_rows_have_no_best_rows(spark: SparkSession, offers: DataFrame) -> None:
    none = offers.where("price < 0")
    assert ps.skyline(none, minimize="price").collect() == []
    assert ps.skyline(none, minimize="price", counts="beats").collect() == []
    assert ps.top_dominant(none, 3, minimize="price", by="team").collect() == []


def test_missing_numbers_are_refused_with_a_row_or_put_last(spark: SparkSession) -> None:
    df = spark.createDataFrame(
        [(1.0, 5, "a"), (None, 4, "b"), (math.nan, 4, "c"), (math.inf, 6, "d"), (None, 7, "e")],
        "price double, days int, name string",
    )
    with pytest.raises(PythonException, match=r"operator 'skyline': column 'price' has no number"):
        ps.skyline(df.coalesce(1), minimize=["price", "days"]).collect()
    last = ps.skyline(df, minimize=["price", "days"], missing="last")
    assert sorted(row.name for row in last.collect()) == ["a", "b", "c"]


def test_what_can_not_be_asked_is_refused_before_anything_runs(
    spark: SparkSession, offers: DataFrame
) -> None:
    stream = spark.readStream.format("rate").load()
    cases: list[tuple[Any, str]] = [
        (lambda: ps.skyline(stream, minimize="value"), r"Stream\.read\(df, time=\.\.\.\)\.window"),
        (lambda: ps.skyline(offers), "operator 'skyline': no column says what is better"),
        (lambda: ps.skyline(offers, minimize="prize"), "'prize' is no column"),
        (lambda: ps.skyline(offers, minimize="team"), "column 'team' is string"),
        (lambda: ps.skyline(offers, minimize="days", by="days"), "rows are grouped by 'days'"),
        (lambda: ps.skyline(offers, minimize="days", by="club"), "no column 'club' to group by"),
        (lambda: ps.skyline(offers, minimize="days", by="more"), r"such as map_entries\(more\)"),
        (lambda: ps.skyline(offers, minimize="days", counts="Price"), "'Price' is there twice"),
        (lambda: ps.skyline(offers, minimize="days", counts=3), "counts is 3"),
        (lambda: ps.top_dominant(offers, 0, minimize="days"), "delta is 0"),
        (
            lambda: ps.top_dominant(offers, 5, minimize="days", k_column="at"),
            "'at' is there twice",
        ),
        (
            lambda: ps.skyline(offers, minimize="days", dominates=lambda a, b: hash(a) < 3),
            "dominates can't be compiled",
        ),
    ]
    for ask, problem in cases:
        with pytest.raises(ps.TopologyError, match=problem):
            ask()
