from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import penstock as ps


@pytest.fixture
def ticks(spark: SparkSession) -> DataFrame:
    """A stream with the columns timestamp and value."""
    return spark.readStream.format("rate").load()


@pytest.fixture
def stream(ticks: DataFrame) -> ps.Stream:
    return ps.Stream.read(ticks, name="ticks")


def test_joins_that_a_stream_cannot_make_are_refused(
    spark: SparkSession, ticks: DataFrame, stream: ps.Stream
) -> None:
    table = spark.createDataFrame([(1, "a")], "value bigint, name string")
    with pytest.raises(ps.TopologyError, match=r"'user' on the side of the stream.*timestamp"):
        stream.join(table, on="user")
    with pytest.raises(ps.TopologyError, match=r"'timestamp' on the side of the table.*name"):
        stream.join(table, on=["value", "timestamp"])
    with pytest.raises(ps.TopologyError, match="itself a stream"):
        stream.join(ticks, on="value")
    clash = table.withColumn("timestamp", F.current_timestamp())
    with pytest.raises(ps.TopologyError, match="'timestamp' is there twice"):
        stream.join(clash, on="value")
    with pytest.raises(ps.TopologyError, match="no columns to join on"):
        stream.join(table, on=[])
    for on, found in ((5, "a int"), (F.col("value"), "a Column"), (["value", 5], "a list")):
        with pytest.raises(ps.TopologyError, match=rf"'join': on is {found}.*on='user'"):
            stream.join(table, on=on)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("how", "problem"),
    [
        ("right", "joined 'right' with a table: that gives the table's rows without a match"),
        ("FULL_OUTER", "joined 'FULL_OUTER' with a table"),
        ("cross", "a cross join has no columns to join on"),
        ("lefty", "there is no join of the kind 'lefty'"),
        (None, "there is no join of the kind None"),
    ],
)
def test_a_join_of_another_kind_is_refused_with_its_own_reason(
    spark: SparkSession, stream: ps.Stream, how: Any, problem: str
) -> None:
    with pytest.raises(ps.TopologyError) as raised:
        stream.join(spark.range(3).toDF("value"), on="value", how=how)
    assert problem in raised.value.problem
    assert raised.value.remedy == "Write how= one of inner, left, left_semi, left_anti."


@pytest.mark.parametrize(
    ("how", "kind"),
    [
        ("INNER", "inner on"),
        ("leftouter", "left on"),
        ("left_outer", "left on"),
        ("semi", "left_semi on"),
        ("leftsemi", "left_semi on"),
        ("anti", "left_anti on"),
        ("leftanti", "left_anti on"),
    ],
)
def test_a_kind_of_join_may_be_written_as_spark_lets_one_write_it(
    spark: SparkSession, stream: ps.Stream, how: Any, kind: str
) -> None:
    joined = stream.join(spark.range(3).toDF("value"), on=["value", "value"], how=how)
    assert f"{kind} value" in joined.explain()
    assert joined.columns == ("value", "timestamp")


def test_what_is_no_table_is_refused(stream: ps.Stream) -> None:
    def broken() -> DataFrame:
        raise OSError("the disk is gone.")

    with pytest.raises(ps.TopologyError, match=r"raised OSError: the disk is gone\. It is") as told:
        stream.join(broken, on="value")
    assert isinstance(told.value.__cause__, OSError)
    with pytest.raises(ps.TopologyError, match="its table function returned None where a table"):
        stream.join(lambda: None, on="value")  # type: ignore[arg-type, return-value]
    with pytest.raises(ps.TopologyError, match=r"a str is given where a table is due.*DataFrame"):
        stream.join("users", on="value")  # type: ignore[arg-type]
