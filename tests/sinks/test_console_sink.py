from __future__ import annotations

import io

import pytest
from pyspark.sql import Observation, SparkSession
from pyspark.sql import functions as F
from rich.console import Console

from penstock import sinks
from penstock.errors import ConfigurationError
from penstock.sinks.console_sink import ConsoleSink


def _printed(spark: SparkSession, rows: int, truncate: int | None, query: str) -> str:
    text = io.StringIO()
    ConsoleSink(rows, truncate, Console(file=text, width=120)).write(spark.sql(query), 4)
    return text.getvalue()


def test_first_rows_in_order_over_many_partitions(spark: SparkSession) -> None:
    printed = _printed(spark, 3, None, "SELECT 90 - id AS x FROM range(0, 40, 1, 8) ORDER BY id")
    shown = [line.strip("│ ") for line in printed.splitlines() if "│" in line]
    assert shown == ["90", "89", "88"]
    assert "batch 4" in printed
    assert "3 rows, more follow" in printed


def test_exactly_as_many_rows_as_asked(spark: SparkSession) -> None:
    printed = _printed(spark, 3, None, "SELECT id FROM range(0, 3, 1, 1)")
    assert "3 rows" in printed
    assert "more follow" not in printed


def test_one_row_more_than_asked_in_one_partition(spark: SparkSession) -> None:
    printed = _printed(spark, 3, None, "SELECT id FROM range(0, 4, 1, 1)")
    assert "3 rows, more follow" in printed


def test_rows_that_are_not_shown_are_read_too(spark: SparkSession) -> None:
    """Else what operators count on the way would be wrong."""
    seen = Observation()
    df = spark.range(0, 40, 1, 8).observe(seen, F.count(F.lit(1)).alias("rows"))
    ConsoleSink(3, None, Console(file=io.StringIO())).write(df, 0)
    assert seen.get == {"rows": 40}


def test_long_values_null_and_markup(spark: SparkSession) -> None:
    printed = _printed(spark, 5, 6, "SELECT '[red]longer' AS a, NULL AS b, 'exact6' AS c")
    assert "[red]…" in printed
    assert "NULL" in printed
    assert "exact6" in printed


@pytest.mark.parametrize("settings", [{"rows": 0}, {"truncate": 0}])
def test_settings_that_cannot_work(settings: dict[str, int]) -> None:
    with pytest.raises(ConfigurationError, match=r"console\("):
        sinks.console(**settings)


def test_default_prints_to_the_terminal(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    sinks.console().write(spark.sql("SELECT 'hello' AS word"), 0)
    assert "hello" in capsys.readouterr().out


def test_call_sink_wants_something_to_call() -> None:
    with pytest.raises(ConfigurationError, match="function of"):
        sinks.call("not callable")  # type: ignore[arg-type]
