"""The Kafka sink as far as it goes without a broker: what records hold, and what is refused."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import penstock as ps
from penstock.errors import ConfigurationError, SinkError
from penstock.sinks import kafka_topic
from penstock.sinks.kafka_records import RecordShape

ROWS = [("a", 1), ("a", 1), ("a", 1), ("b", 2), (None, 2), ("", 2), ("b", None), ("2", None)]
SCHEMA = "word string, n int"


def ids(df: DataFrame, shape: RecordShape) -> Counter[tuple[Any, ...]]:
    """What every record holds, id included."""
    return Counter(
        (row.key, row.value, tuple((header.key, header.value) for header in row.headers))
        for row in shape.records(df, "q/7").collect()
    )


@pytest.mark.parametrize(
    "shape",
    [
        RecordShape(),
        RecordShape(key="word", value="n"),
        RecordShape(value="word", headers=("n", "word")),
    ],
    ids=["JSON", "key and value", "headers"],
)
def test_ids_are_the_same_in_whatever_tasks_the_rows_are(
    spark: SparkSession, shape: RecordShape
) -> None:
    df = spark.createDataFrame(ROWS, SCHEMA)
    first = ids(df.coalesce(1), shape)
    assert first == ids(df.repartition(5), shape)
    assert first == ids(df.repartition(3, "word").sortWithinPartitions("n"), shape)
    # No row is another's repeat, though some are equal.
    assert len({record[2][-1] for record in first}) == first.total() == len(ROWS)
    assert all(record[2][-1][1].startswith(b"q/7/") for record in first)


def test_a_row_is_known_by_the_columns_that_are_named(spark: SparkSession) -> None:
    shape = RecordShape(unique_by=("n",))
    first = ids(spark.createDataFrame([("a", 1), ("b", None)], SCHEMA), shape)
    again = ids(spark.createDataFrame([("c", 1), ("d", None)], SCHEMA), shape)
    assert {record[2] for record in first} == {record[2] for record in again}
    assert len({record[2] for record in first}) == 2


def test_columns_with_dots_are_columns(spark: SparkSession) -> None:
    df = spark.createDataFrame([("a", 1)], "`my.word` string, `a``b` int")
    (record,) = ids(df, RecordShape(key="my.word", value="a`b", unique_by=("my.word",)))
    assert record[:2] == (b"a", b"1")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"servers": "broker"}, "Write host:port"),
        ({"servers": "ann:secret@broker:9092"}, "Write host:port"),
        ({"topic": "two words"}, "no name of a topic"),
        ({"headers": "kind"}, r"must be a list, such as headers=\['kind'\]"),
        ({"headers": [3]}, "Write a list, each a text"),
        ({"topic": None}, "Write a text"),
        ({"headers": ["penstock-id"]}, "is its own"),
        ({"options": {"compression.type": "zstd"}}, "not one of a Kafka producer"),
        ({"options": {"kafka.bootstrap.servers": "x:1"}}, "an argument of its own"),
        ({"options": {"kafka.acks": "1"}}, "lets a broker that dies lose rows"),
    ],
)
def test_settings_that_can_not_work_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as caught:
        ps.sinks.kafka(**{"servers": "broker:9092", "topic": "clicks", **arguments})
    assert "secret" not in str(caught.value)


def test_a_session_without_the_connector_is_told_which_jar_it_needs(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    jvm: Any = spark._jvm
    bare = jvm.java.lang.ClassLoader.getPlatformClassLoader()
    monkeypatch.setattr(kafka_topic, "_session_loader", lambda spark: bare)
    coordinate = rf"org\.apache\.spark:spark-sql-kafka-0-10_2\.13:{spark.version}"
    with pytest.raises(SinkError, match=f"needs Spark's Kafka connector.*'{coordinate}'"):
        ps.sinks.kafka("127.0.0.1:9092", "clicks").open("query-1")


def test_two_branches_into_one_topic_are_refused(spark: SparkSession, tmp_path: Any) -> None:
    df = ps.sources.generate(ps.sources.Steady(10), duration_seconds=1, spark=spark)
    read = ps.Stream.read(df)
    one, two = (
        read.filter(f"key % 2 = {rest}").to(ps.sinks.kafka("127.0.0.1:9092", "clicks"))
        for rest in (0, 1)
    )
    with pytest.raises(ps.TopologyError, match="Unite the two streams before one sink"):
        ps.run(one, two, checkpoint=str(tmp_path / "ck"), available_now=True)


def test_kafka_once_says_what_it_needs(spark: SparkSession) -> None:
    records = "topic string, partition int, offset bigint"
    with pytest.raises(ConfigurationError, match="expected a Spark DataFrame, got a str"):
        ps.sources.kafka_once("clicks")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="includeHeaders"):
        ps.sources.kafka_once(spark.createDataFrame([], records))
    headers = "headers array<struct<key: string, value: binary>>"
    table = spark.createDataFrame([], f"{records}, {headers}")
    with pytest.raises(ConfigurationError, match="Leave within out"):
        ps.sources.kafka_once(table, within="1 day")
    rate = spark.readStream.format("rate").load()
    stream = rate.selectExpr("*", "array() AS headers", "0 AS topic", "0 AS partition", "0 offset")
    with pytest.raises(ConfigurationError, match="is not a length of time"):
        ps.sources.kafka_once(stream, within="soon")
