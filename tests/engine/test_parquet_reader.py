from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StructField, StructType

from penstock.engine.parquet_reader import ParquetReader
from penstock.errors import CheckpointError

COLUMNS = StructType([StructField("id", LongType()), StructField("v", LongType())])


@pytest.fixture
def store(spark: SparkSession, tmp_path: Path) -> str:
    directory = str(tmp_path / "a store {1,2} of 100 %")
    for number in (1, 2, 30):
        rows = spark.range(number, number + 3).selectExpr("id", "id * 10 AS v")
        rows.repartition(2).write.parquet(f"{directory}/part={number}")
    return directory


@pytest.fixture
def reader(spark: SparkSession, store: str) -> ParquetReader:
    return ParquetReader(spark, store, COLUMNS, StructField("part", LongType()))


def test_it_reads_the_directories_asked_for_and_no_others(reader: ParquetReader) -> None:
    df = reader.read([1, 30])
    assert df.columns == ["id", "v", "part"]
    assert sorted(tuple(row) for row in df.collect()) == [
        *[(id_, id_ * 10, 1) for id_ in (1, 2, 3)],
        *[(id_, id_ * 10, 30) for id_ in (30, 31, 32)],
    ]


def test_conditions_reach_the_files(reader: ParquetReader) -> None:
    java: Any = reader.read([1, 30]).filter("id >= 31")._jdf
    assert "GreaterThanOrEqual(id,31)" in java.queryExecution().executedPlan().toString()


def test_a_missing_directory_is_an_error_and_not_nothing(reader: ParquetReader) -> None:
    with pytest.raises(CheckpointError, match=r"lacks the files of part=3, .*Bring them back"):
        reader.read([1, 3, 30])


def test_a_directory_is_listed_once(reader: ParquetReader, store: str) -> None:
    assert reader.read([1, 2]).count() == 6
    # What comes later into a directory that was read is not looked for.
    for file in Path(store, "part=30").glob("*.parquet"):
        shutil.copy(file, Path(store, "part=1"))
    assert reader.read([1]).count() == 3
    assert reader.read([30]).count() == 3
