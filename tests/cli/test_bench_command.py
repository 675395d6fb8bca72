"""``penstock bench``: what it measures is measured, and what it compares is compared."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from rich.console import Console

from penstock.bench import CASES, Beside, Case, Load, run_case
from penstock.bench.beside_spark import Taken, Watch, _compare, _taken
from penstock.cli import bench

SIDE = Taken(3, 0.5, 2_000.0)


def beside(compared: int, different: int) -> Beside:
    return Beside(CASES[0], SIDE, Taken(3, 1.0, 1_000.0), compared, different)


def drawn(*found: Beside) -> str:
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(bench.as_screen(found))
    return console.export_text()


def test_side_by_side() -> None:
    assert bench.as_dict([beside(10, 0)])["cases"][0]["speedup"] == 2.0
    assert "10 equal" in drawn(beside(10, 0))
    assert "2.00" in drawn(beside(10, 0))


def test_results_that_differ_or_are_missing_are_not_the_same() -> None:
    assert bench.is_same([beside(10, 0)])
    assert not bench.is_same([beside(10, 0), beside(10, 1)])
    assert not bench.is_same([beside(0, 0)])
    assert "1 DIFFERENT" in drawn(beside(10, 1))
    assert "none to compare" in drawn(beside(0, 0))


def test_the_first_half_does_not_count() -> None:
    assert _taken([9.0, 9.0, 1.0, 2.0, 1.0], Load(rows=10)) == Taken(3, 1.0, 10.0)


def test_rows_are_compared_up_to_the_time_both_have_reached(
    spark: SparkSession, tmp_path: Path
) -> None:
    def write(name: str, *rows: tuple[int, int]) -> Path:
        df = spark.createDataFrame(list(rows), "minute long, n long").selectExpr(
            "named_struct('start', timestamp_seconds(minute * 60), "
            "'end', timestamp_seconds(minute * 60 + 60)) AS window",
            "1 AS k",
            "n",
            "n * 0.5D AS total",
            "n * 1D AS most",
        )
        df.coalesce(1).write.parquet(str(tmp_path / name))
        return tmp_path / name

    shorter = write("shorter", (0, 5), (1, 6))
    assert _compare(spark, shorter, write("longer", (0, 5), (1, 6), (2, 7))) == (2, 0)
    assert _compare(spark, shorter, write("wrong", (0, 5), (1, 8))) == (2, 2)
    assert _compare(spark, shorter, write("missing", (1, 6))) == (2, 1)


@pytest.mark.slow
def test_both_give_the_same(spark: SparkSession, tmp_path: Path) -> None:
    told: list[str] = []
    watch = Watch(1.0, lambda what, share: told.append(what))
    case = Case("overlapping", "3 minutes", "1 minute")
    found = run_case(spark, case, Load(rows=600, keys=5), tmp_path, watch)
    assert found.compared_rows > 0
    assert found.different_rows == 0
    assert {"overlapping, Penstock", "overlapping, Spark"} == set(told)
    assert min(found.penstock.batches, found.spark.batches) >= 2
