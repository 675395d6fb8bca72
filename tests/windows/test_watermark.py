"""The fixed delay, with Spark's own watermark as the oracle."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from penstock.errors import ConfigurationError
from penstock.windows.watermark import FixedDelay

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def test_trails_the_newest_row() -> None:
    # newest     25.0009   20      40       none    41
    # watermark  15        15      30       30      31
    rule, mark, seen = FixedDelay.of("10 seconds"), None, []
    for newest in (25_000_900, 20_000_000, 40_000_000, None, 41_000_000):
        mark = rule.advance(mark, newest)
        seen.append(mark)
    assert seen == [15_000_000, 15_000_000, 30_000_000, 30_000_000, 31_000_000]


@given(st.integers(-(2**60), 2**60), st.integers(0, 2**50))
def test_counts_in_whole_milliseconds(newest: int, delay: int) -> None:
    mark = FixedDelay(delay).advance(None, newest)
    assert mark == (newest // 1_000 - delay // 1_000) * 1_000


@pytest.mark.parametrize(
    ("delay", "text"),
    [
        ("10 seconds", "10 s behind the newest row"),
        ("0 seconds", "0 s behind the newest row"),
        ("200 milliseconds", "0.2 s behind the newest row"),
        ("2 weeks", "1209600 s behind the newest row"),
    ],
)
def test_says_its_rule(delay: str, text: str) -> None:
    assert FixedDelay.of(delay).describe() == text


def test_a_negative_delay_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"negative.*watermark='10 seconds'"):
        FixedDelay(-1)


@pytest.mark.parametrize("delay", [-1, "-1 second", timedelta(seconds=-1), "soon", None])
def test_a_delay_that_is_no_length_of_time_is_refused(delay: object) -> None:
    with pytest.raises(ConfigurationError, match="not a length of time"):
        FixedDelay.of(delay)  # type: ignore[arg-type]


def test_moves_as_sparks_own_watermark_moves(spark: SparkSession, tmp_path: Path) -> None:
    delay = "1500 microseconds"
    start = 1_700_000_000_000_000
    newest = [start, start + 2_900, start + 1_000, start + 9_999, start + 10_400]
    marks = spark_watermarks(spark, tmp_path, delay, newest)
    rule, mark, expected = FixedDelay.of(delay), None, []
    for each in newest:
        mark = rule.advance(mark, each)
        expected.append(mark)
    assert marks == expected[:-1]


def spark_watermarks(spark: SparkSession, path: Path, delay: str, newest: list[int]) -> list[int]:
    """Run one micro-batch for each event time; return the watermark after each but the last."""
    (path / "in").mkdir()
    for number, micros in enumerate(newest):
        file = path / "in" / f"{number}.json"
        file.write_text(f'{{"micros": {micros}}}\n')
        os.utime(file, (number, number))  # Spark reads the oldest file first
    rows = (
        spark.readStream.schema("micros bigint")
        .option("maxFilesPerTrigger", 1)
        .json(str(path / "in"))
        .selectExpr("timestamp_micros(micros) AS ts")
    )
    query = (
        rows.withWatermark("ts", delay)
        .writeStream.format("noop")
        .option("checkpointLocation", str(path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    # Spark says in each batch where the watermark stood before it.
    before = [progress.eventTime["watermark"] for progress in query.recentProgress]
    moments = [datetime.fromisoformat(each) for each in before[1 : len(newest)]]
    return [(moment - EPOCH) // timedelta(microseconds=1) for moment in moments]
