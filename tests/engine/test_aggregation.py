from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from penstock.engine.aggregation import ROWS, SqlAggregation
from penstock.engine.schemas import prototype
from penstock.errors import TopologyError
from penstock.windows import aggregates as ps
from penstock.windows.aggregates import WindowAggregate
from window_oracle import COLUMNS, frame, random_rows, same

INVERTIBLE: dict[str, WindowAggregate] = {
    "n": ps.count(),
    "n_i": ps.count("i"),
    "i": ps.sum("i"),
    "l": ps.sum("l", where="b"),
    "d": ps.sum("d"),
    "mean": ps.avg("d"),
    "mean_i": ps.avg("i"),
}


def resolved(spark: SparkSession, **aggregates: WindowAggregate) -> SqlAggregation:
    return SqlAggregation.resolve("here", aggregates, prototype(spark, _schema(spark)), "ts")


def _schema(spark: SparkSession) -> Any:
    return spark.createDataFrame([], COLUMNS).schema


def results(df: DataFrame, key: str = "k") -> dict[Any, tuple[Any, ...]]:
    return {row[key]: tuple(row) for row in df.collect()}


def test_what_was_added_can_be_taken_away(spark: SparkSession) -> None:
    rows = random_rows(seed=5, count=300)
    dice = random.Random(1)
    parts = [dice.randrange(3) for _ in rows]
    # One key is in part 2 alone, and one has only nulls left without it.
    rows += [
        ("only", *rows[0][1:]),
        ("null", 1, 1, *rows[0][3:]),
        ("null", None, None, *([None] * 9)),
    ]
    parts += [2, 2, 0]
    aggregation = resolved(spark, **INVERTIBLE)
    assert aggregation.invertible

    def state(of: Sequence[int], sign: int) -> DataFrame:
        kept = [row for row, part in zip(rows, parts, strict=True) if part in of]
        partials = aggregation.partials(frame(spark, kept), ["k"])
        return partials.selectExpr("*", f"{sign} AS sign")

    together = state([0, 1, 2], 1).unionByName(state([2], -1))
    left = aggregation.finished(aggregation.subtracted(together, ["k"], "sign"), ["k"])
    direct = aggregation.finished(aggregation.merged(state([0, 1], 1), ["k"]), ["k"])
    got = results(left)
    assert got == results(direct)
    assert "only" not in got
    assert got["null"] == ("null", 1, 0, None, None, None, None, None)


@pytest.mark.parametrize(
    "aggregate",
    [ps.sum("v"), ps.min("i"), ps.avg("l"), ps.variance("i"), ps.first("i"), ps.top_k("i", 2)],
    ids=lambda each: each.describe(),
)
def test_the_rest_has_no_exact_inverse(spark: SparkSession, aggregate: WindowAggregate) -> None:
    aggregation = resolved(spark, n=ps.count(), x=aggregate)
    assert not aggregation.invertible
    assert ROWS not in aggregation.state.names


def test_equal_parts_are_kept_once(spark: SparkSession) -> None:
    aggregation = resolved(spark, mean=ps.avg("i"), total=ps.sum("i"), n=ps.count("i"))
    assert len(aggregation.state.names) == 3  # a sum, a count, and the count of rows
    apart = resolved(spark, total=ps.sum("i"), some=ps.sum("i", where="b"))
    assert len(apart.state.names) == 5


def test_the_state_comes_back_from_files_as_it_was(spark: SparkSession, tmp_path: Any) -> None:
    aggregates: dict[str, WindowAggregate] = {
        "variance": ps.variance("v"),
        "distinct": ps.count_distinct("s"),
        "exact": ps.count_distinct("d", exact=True),
        "median": ps.quantile("v", 0.5),
        "top": ps.top_k("s", 2, by="i"),
        "first": ps.first("v"),
        "all": ps.collect("w"),
        "total": ps.sum("w"),
    }
    aggregation = resolved(spark, **aggregates)
    df = frame(spark, random_rows(seed=2, count=200))
    partials = aggregation.partials(df, ["k", "b"])
    partials.write.parquet(str(tmp_path / "state"))
    stored = spark.read.parquet(str(tmp_path / "state"))
    assert stored.drop("k", "b").schema.simpleString() == aggregation.state.simpleString()
    for source in (stored, stored.unionByName(partials.limit(0))):
        again = aggregation.finished(aggregation.merged(source, ["k"]), ["k"])
        direct = aggregation.finished(aggregation.partials(df, ["k"]), ["k"])
        expected = results(direct)
        got = results(again)
        assert got.keys() == expected.keys()
        assert all(same(list(got[key]), list(expected[key])) for key in expected)


@given(cuts=st.lists(st.integers(0, 5), min_size=60, max_size=60), seed=st.integers(0, 1000))
@settings(max_examples=4)
def test_how_rows_are_cut_into_partials_does_not_matter(
    spark: SparkSession, cuts: list[int], seed: int
) -> None:
    rows = random_rows(seed, 60)
    aggregates: dict[str, WindowAggregate] = {
        "variance": ps.variance("v"),
        "distinct": ps.count_distinct("v"),
        "median": ps.quantile("i", 0.5),
        "top": ps.top_k("s", 3, by="i"),
        "last": ps.last("d"),
        "all": ps.collect("l"),
        "mean": ps.avg("w"),
    }
    aggregation = resolved(spark, **aggregates)
    whole = frame(spark, rows)
    listed = [(*row, cut) for row, cut in zip(rows, cuts, strict=True)]
    cut = spark.createDataFrame(listed, COLUMNS + ", cut int")
    pieces = aggregation.merged(aggregation.partials(cut, ["k", "cut"]), ["k"])
    got = results(aggregation.finished(pieces, ["k"]))
    expected = results(aggregation.finished(aggregation.partials(whole, ["k"]), ["k"]))
    assert got.keys() == expected.keys()
    for key, values in expected.items():
        assert same(list(got[key]), list(values)), key


def test_overflow_is_an_error_as_in_spark_and_null_where_spark_says_null(
    spark: SparkSession,
) -> None:
    df = spark.sql(
        "SELECT id AS k, 9223372036854775807L AS l, "
        "cast('9e35' AS decimal(38,2)) AS d FROM range(4)"
    )
    empty = df.limit(0)
    sums = {"l": ps.sum("l"), "d": ps.sum("d")}
    for name, aggregate in sums.items():
        one = SqlAggregation.resolve("here", {name: aggregate}, empty, None)
        merged = one.merged(one.partials(df, ["k"]).selectExpr("*", "1 AS g"), ["g"])
        with pytest.raises(Exception, match=r"ARITHMETIC_OVERFLOW|OUT_OF_RANGE"):
            one.finished(merged, ["g"]).collect()
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        one = SqlAggregation.resolve("here", sums, empty, None)
        merged = one.merged(one.partials(df, ["k"]).selectExpr("*", "1 AS g"), ["g"])
        theirs = df.selectExpr("sum(l)", "sum(d)").first()
        assert theirs is not None
        # Merged once more with what did not overflow: it stays null.
        more = one.merged(
            merged.unionByName(one.partials(df.selectExpr("1 AS g", "l", "d").limit(1), ["g"])),
            ["g"],
        )
        assert tuple(one.finished(merged, ["g"]).collect()[0])[1:] == tuple(theirs)
        assert one.finished(more, ["g"]).collect()[0].d is None
    finally:
        spark.conf.set("spark.sql.ansi.enabled", str(before))


def test_without_a_time_column_first_is_refused(spark: SparkSession) -> None:
    df = spark.range(1)
    with pytest.raises(TopologyError, match="goes by event time"):
        SqlAggregation.resolve("here", {"x": ps.first("id")}, df, None)
