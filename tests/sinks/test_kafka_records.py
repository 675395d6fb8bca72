"""The Kafka sink as far as it goes without a broker: what records hold, and what is refused."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

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


@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz"])
def test_a_row_is_known_by_a_time_to_the_microsecond(spark: SparkSession, kind: str) -> None:
    near = [f"2026-01-01 00:00:00.00000{n}" for n in (1, 2)]
    df = spark.createDataFrame([(each,) for each in near], "at string")
    shape = RecordShape(unique_by=("at",))
    assert len(by_id(df.select(F.col("at").cast(kind)), shape)) == 2


def by_id(df: DataFrame, shape: RecordShape) -> dict[str, tuple[Any, ...]]:
    """What the record of each id holds but its id; two records of one id are a mistake."""
    found = {}
    for *record, headers in shape.records(df, "q/7").collect():
        *own, (name, identity) = headers
        assert name == "penstock-id"
        assert identity.decode() not in found
        found[identity.decode()] = (*record, *(header.value for header in own))
    return found


def test_ids_are_those_of_the_version_before_where_nothing_is_floating(spark: SparkSession) -> None:
    """A query that is stopped, upgraded and started again sends its last batch again."""
    df = spark.createDataFrame([("a", 1), ("a", 1), (None, 2)], SCHEMA)
    assert set(by_id(df, RecordShape(key="word"))) == {
        "q/7/623f3fe8eb46e9592e9ed7670ef6b968-1",
        "q/7/623f3fe8eb46e9592e9ed7670ef6b968-2",
        "q/7/9afceb9598a739d1a753ed9e1a9a870d-1",
    }


SUMS = "struct<total double, at timestamp>"
SUMMED = [
    ("a", "2026-01-01 00:00:00", 0.1 + (0.2 + 0.3)),
    ("a", "2026-01-01 00:00:00.000001", 5.0),
    ("b", "2026-01-01 00:00:00", float("nan")),
    ("c", "2026-01-01 00:00:00", None),
    ("d", "2026-01-01 00:00:00", 0.0),
]
# As a second try may have added them up.
AGAIN = [*SUMMED[1:-1], ("d", "2026-01-01 00:00:00", -0.0), (*SUMMED[0][:2], (0.1 + 0.2) + 0.3)]


@pytest.mark.parametrize(
    ("shape", "select"),
    [
        (RecordShape(), ["word", "at", "x"]),
        (RecordShape(key="word"), ["word", "at", "float(x) AS x"]),
        (RecordShape(key="x", value="word", headers=("x",)), ["word", "at", "x"]),
        (RecordShape(key="word", value="x"), ["word", "at", "x"]),
        (RecordShape(value="x"), ["word", "at", "x"]),
        (RecordShape(value="s"), ["struct(word, at, x) AS s"]),
        (RecordShape(value="s"), ["word", "struct(x, at, struct(x AS a, at AS A, x AS a) AS t) s"]),
        (RecordShape(), ["word", "at", "array(x, 1D, x) AS xs", "CAST(NULL AS array<float>) AS n"]),
        (RecordShape(), ["array(struct(word, x), NULL) AS xs", "struct(at) AS at"]),
        (RecordShape(), ["word", "map(word, x) AS by_word", "map(at, map(word, array(x))) AS m"]),
        (RecordShape(), ["word", "at", "map_from_arrays(array(coalesce(x, 3D)), array(word)) m"]),
    ],
)
def test_other_last_bits_of_a_sum_are_no_other_row(
    spark: SparkSession, shape: RecordShape, select: list[str]
) -> None:
    schema = "word string, at string, x double"
    first, again = (
        spark.createDataFrame(rows, schema)
        .withColumn("at", F.col("at").cast("timestamp"))
        .selectExpr(*select)
        for rows in (SUMMED, AGAIN)
    )
    one, other = by_id(first.coalesce(1), shape), by_id(again.repartition(4), shape)
    assert set(one) == set(other)
    assert len(one) == len(SUMMED)
    # What is under an id is what was there: but for the last bits nothing went elsewhere.
    assert {each: known(held) for each, held in one.items()} == {
        each: known(held) for each, held in other.items()
    }


def known(held: tuple[Any, ...]) -> str:
    return re.sub(r"-?\d+\.\d+(E-?\d+)?", lambda found: f"{abs(float(found[0])):.6f}", repr(held))


def test_rows_that_differ_in_a_float_alone_are_rows_of_their_own(spark: SparkSession) -> None:
    numbers = [1.5, 1.5, -0.0, 0.0, float("nan"), None, float("-inf"), 9.75, 10.25]
    df = spark.createDataFrame([("a", x) for x in numbers], "word string, x double")
    shape = RecordShape(key="word", value="x")
    first = by_id(df.coalesce(1), shape)
    assert first == by_id(df.repartition(3), shape)
    order = [None, b"-Infinity", b"-0.0", b"0.0", b"1.5", b"1.5", b"9.75", b"10.25", b"NaN"]
    numbered = {int(identity.rpartition("-")[2]): held[1] for identity, held in first.items()}
    assert numbered == dict(enumerate(order, 1))
    assert len({identity.rpartition("-")[0] for identity in first}) == 1


def test_rows_of_nothing_but_floats_are_known_by_them(spark: SparkSession) -> None:
    """Numbered by their order they would all have to be in one task."""
    df = spark.createDataFrame(
        [(1.5, (2.5,)), (1.5, (2.5,)), (3.5, None)], "x double, y struct<z: double>"
    )
    (few, many) = (by_id(df.repartition(tasks), RecordShape(value="x")) for tasks in (1, 3))
    assert few == many
    assert sorted(held[1] for held in few.values()) == [b"1.5", b"1.5", b"3.5"]
    assert len({identity.rpartition("-")[0] for identity in few}) == 2


def test_numbering_takes_one_shuffle(spark: SparkSession) -> None:
    df = spark.createDataFrame([("a", 1.5)], "word string, x double")
    plan = RecordShape().records(df, "q/7")._jdf.queryExecution().executedPlan().toString()  # type: ignore[operator]
    assert (plan.count("Exchange"), plan.count("Window")) == (1, 1)


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
