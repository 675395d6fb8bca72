from __future__ import annotations

from datetime import datetime
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import Row, SparkSession

from penstock.errors import ConfigurationError
from penstock.testing import assert_rows

WINDOW = Row(start=datetime(2026, 1, 1), end=datetime(2026, 1, 2))
ROWS = [Row(window=WINDOW, n=1), Row(window=WINDOW, n=2)]


@pytest.mark.parametrize(
    "expected",
    [
        ROWS,
        ROWS[::-1],
        [{"n": row.n, "window": WINDOW.asDict()} for row in ROWS],
        [(WINDOW, 1), (WINDOW, 2)],
        iter(ROWS),
    ],
)
def test_the_same_rows_pass(expected: Any) -> None:
    assert_rows(ROWS, expected)


@pytest.mark.parametrize(
    "expected",
    [
        [],
        ROWS[:1],
        [*ROWS, ROWS[0]],
        [{"n": row.n + 1, "window": WINDOW} for row in ROWS],
        [{"n": row.n} for row in ROWS],
        [{"m": row.n, "window": WINDOW} for row in ROWS],
        [(WINDOW, 1), (WINDOW, "2")],
        [(WINDOW, 1), (WINDOW, None)],
    ],
)
def test_other_rows_fail_either_way(expected: Any) -> None:
    with pytest.raises(AssertionError):
        assert_rows(ROWS, expected)
    with pytest.raises(AssertionError):
        assert_rows(expected, ROWS)


def test_the_difference_is_shown() -> None:
    with pytest.raises(AssertionError, match=r"(?s)DIFFERENT_ROWS.*Row\(n=1\).*Row\(n=3\)"):
        assert_rows([{"n": 1}, {"n": 2}], [{"n": 3}, {"n": 2}])


def test_order_counts_where_asked() -> None:
    assert_rows(ROWS, ROWS, check_order=True)
    with pytest.raises(AssertionError):
        assert_rows(ROWS, ROWS[::-1], check_order=True)


def test_fractions_may_differ_a_little() -> None:
    assert_rows([(0.1 + 0.2,)], [(0.3,)])
    with pytest.raises(AssertionError):
        assert_rows([(0.30001,)], [(0.3,)], rtol=1e-6)


def test_data_frames_of_both_kinds(spark: SparkSession) -> None:
    df = spark.createDataFrame([(1, "a"), (2, None)], "n bigint, s string")
    assert_rows(df, [{"s": None, "n": 2}, {"s": "a", "n": 1}], schema="n bigint, s string")
    assert_rows([Row(n=1, s="a")], pd.DataFrame({"n": [1], "s": ["a"]}))
    with pytest.raises(AssertionError, match="DIFFERENT_SCHEMA"):
        assert_rows(df, df, schema="n int, s string")
    with pytest.raises(AssertionError):
        assert_rows(df, [(1, "a"), (2, "b")])


def test_a_schema_holds_for_lists_too(spark: SparkSession) -> None:
    assert_rows([(1,)], [Row(n=1)], schema="n bigint")
    with pytest.raises(ConfigurationError, match="row 0 of expected does not fit the schema"):
        assert_rows([(1,)], [("1",)], schema="n bigint")


def test_what_is_no_list_is_told() -> None:
    with pytest.raises(ConfigurationError, match=r"expected is a dict\. Give a list of rows"):
        assert_rows([], {"n": 1})  # type: ignore[arg-type]
