"""What a user writes wrong in a preference query, told where it is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import penstock as ps
from penstock.grouped import Windowed

COLUMNS = (
    "timestamp AS ts",
    "value",
    "value % 5 AS team",
    "'cheap' AS word",
    "CAST(value AS decimal(30,2)) AS big",
    "array(value) AS several",
)
WINDOW = ps.tumbling("1 second")


@pytest.fixture(scope="module")
def stream(spark: SparkSession) -> ps.Stream:
    rows = spark.readStream.format("rate").load().selectExpr(*COLUMNS)
    return ps.Stream.read(rows, time="ts", watermark="1 second")


def refusal(ask: Callable[[], Any]) -> str:
    with pytest.raises(ps.TopologyError) as caught:
        ask()
    return str(caught.value)


@pytest.mark.parametrize(
    ("ask", "says", "remedy"),
    [
        (lambda w: w.skyline(), "no column says what is better", "minimize=['price']"),
        (lambda w: w.skyline(minimize="valu"), "'valu' is no column", "Columns here: ts, value,"),
        (lambda w: w.skyline(minimize="word"), "'word' is string", "Compare numbers"),
        (lambda w: w.skyline(minimize="several"), "'several' is array<bigint>", "Compare numbers"),
        (
            lambda w: w.skyline(minimize="big"),
            "'big' is decimal(30,2)",
            "CAST(big AS decimal(18,2))",
        ),
        (lambda w: w.skyline(minimize=F.col("value")), "columns are (Column<", "by text"),
        (lambda w: w.skyline(minimize=[F.col("value")]), "columns are (Column<", "by text"),
        (lambda w: w.skyline(minimize=3), "columns are (3,)", "by text"),
        (
            lambda w: w.skyline(minimize=["value"], maximize=["value"]),
            "column 'value' is given twice",
            "once",
        ),
        (
            lambda w: w.skyline(minimize=[f"c{number}" for number in range(17)]),
            "17 columns are compared, and 16 is the most",
            "those that matter",
        ),
        (
            lambda w: w.skyline(minimize="value", missing="drop"),
            "missing is 'drop'",
            "missing='refuse' or missing='last'",
        ),
        (
            lambda w: w.skyline(minimize="value", dominates="cheap"),
            "dominates is a str",
            "a function of two arrays",
        ),
        (
            lambda w: w.skyline(minimize="value", dominates=lambda a, b: a[1] < b[1]),
            "reads a number that is not there",
            "1 numbers",
        ),
        (
            lambda w: w.skyline(minimize="value", dominates=lambda a, b: a["value"] < b["value"]),
            "dominates can't be compiled",
            "a[0] < b[0]",
        ),
        (
            lambda w: w.skyline(minimize="value", dominates=lambda a, b: a[0] - b[0]),
            "returns float64, not True or False",
            "a[0] < b[0]",
        ),
        (lambda w: w.top_dominant(0, minimize="value"), "delta is 0", "top_dominant(100"),
        (lambda w: w.top_dominant("5", minimize="value"), "delta is '5'", "top_dominant(100"),
        (lambda w: w.top_dominant(True, minimize="value"), "delta is True", "top_dominant(100"),
        (
            lambda w: w.top_dominant(5, minimize="value", k_column=3),
            "k_column is 3",
            "such as 'k'",
        ),
        (
            lambda w: w.top_dominant(5, minimize="value", k_column="team"),
            "'team' is there twice",
            "or k_column",
        ),
    ],
)
def test_it_is_told_at_once_and_how_to_mend_it(
    stream: ps.Stream, ask: Callable[[Windowed], Any], says: str, remedy: str
) -> None:
    told = refusal(lambda: ask(stream.window(WINDOW)))
    assert says in told
    assert remedy in told.partition(says)[2]


def test_operators_are_named_as_the_user_named_them(stream: ps.Stream) -> None:
    windows = stream.window(WINDOW)
    assert refusal(lambda: windows.skyline(name="best")).startswith("operator 'best': ")
    assert "operator 'few': delta" in refusal(lambda: windows.top_dominant(0, name="few"))


def test_a_group_is_no_preference(stream: ps.Stream) -> None:
    windows = stream.group_by("team").window(WINDOW)
    assert "grouped by 'team'" in refusal(lambda: windows.skyline(minimize=["team"]))


def test_groups_are_keys_that_are_equal_byte_by_byte(spark: SparkSession) -> None:
    rows = spark.readStream.format("rate").load()
    odd = rows.selectExpr("*", "'a' COLLATE UTF8_LCASE AS word", "map(value, 1) AS pairs")
    stream = ps.Stream.read(odd, time="timestamp", watermark="1 second")
    for key, plain in (("word", "lower(word) COLLATE"), ("pairs", "map_entries(pairs)")):
        windows = stream.group_by(key).window(WINDOW)
        told = refusal(lambda windows=windows: windows.skyline(minimize=["value"]))
        assert f"the key '{key}' is " in told
        assert plain in told


def test_a_window_needs_a_watermark(spark: SparkSession) -> None:
    rows = spark.readStream.format("rate").load()
    timed = ps.Stream.read(rows, time="timestamp")
    told = refusal(lambda: timed.window(WINDOW).skyline(minimize="value"))
    assert "no window would ever close" in told
    assert "watermark=" in told


def test_streams_and_tables_are_not_mixed_up(spark: SparkSession) -> None:
    rows: Any = spark.readStream.format("rate").load()
    assert "Stream.read(df, time=...)" in refusal(lambda: ps.skyline(rows, minimize="value"))
    assert "spark.readStream" in refusal(lambda: ps.Stream.read(spark.range(3)))


@pytest.mark.parametrize(
    "given_of", [lambda s: s, lambda s: s.window(WINDOW), lambda s: pd.DataFrame({"value": [1]})]
)
def test_only_a_table_of_spark_is_a_table(
    stream: ps.Stream, given_of: Callable[[ps.Stream], Any]
) -> None:
    given = given_of(stream)
    told = refusal(lambda: ps.top_dominant(given, 5, minimize="value"))
    assert f".{type(given).__name__}." in told
    assert "window(...).top_dominant(...)" in told
