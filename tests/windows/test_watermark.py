"""The fixed delay, with Spark's own watermark as the oracle; and the state of a watermark."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from penstock.errors import ConfigurationError
from penstock.windows.watermark import FixedDelay, Mark, Seen

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def watermarks(rule: FixedDelay, newest: list[int | None]) -> list[int | None]:
    """Return the watermark after each batch, of which only the newest time matters."""
    mark, micros = Mark(), []
    for each in newest:
        seen = Seen(0, None, None) if each is None else Seen(2, each, each - 5)
        mark = rule.advance(mark, seen)
        micros.append(mark.micros)
    return micros


def test_trails_the_newest_row() -> None:
    # newest     25.0009   20      40       none    41
    # watermark  15        15      30       30      31
    newest = [25_000_900, 20_000_000, 40_000_000, None, 41_000_000]
    assert watermarks(FixedDelay.of("10 seconds"), newest) == [
        15_000_000,
        15_000_000,
        30_000_000,
        30_000_000,
        31_000_000,
    ]


def test_remembers_the_newest_row() -> None:
    rule = FixedDelay.of("10 seconds")
    mark = rule.advance(Mark(seen_at_seconds=1.0), Seen(1, 25_000_900, 25_000_900))
    mark = rule.advance(mark, Seen(1, 20_000_000, 20_000_000))
    assert mark == Mark(micros=15_000_000, newest_micros=25_000_900, seen_at_seconds=1.0)


def test_does_not_count_late_rows() -> None:
    assert not FixedDelay(0).counts_late


@given(st.integers(-(2**60), 2**60), st.integers(0, 2**50))
def test_counts_in_whole_milliseconds(newest: int, delay: int) -> None:
    expected = (newest // 1_000 - delay // 1_000) * 1_000
    assert watermarks(FixedDelay(delay), [newest]) == [expected]


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


@pytest.mark.parametrize(
    ("rows", "newest", "oldest", "late"),
    [(1, 5, 6, 0), (0, 5, 5, 0), (1, 5, 5, 2), (1, 5, 5, -1), (1, None, 5, 0), (1, 5, None, 0)],
)
def test_what_no_batch_can_show_is_refused(
    rows: int, newest: int | None, oldest: int | None, late: int
) -> None:
    with pytest.raises(ValueError, match=r"late rows of|cannot be|come together"):
        Seen(rows, newest, oldest, late)


micros = st.none() | st.integers(-(2**63), 2**63 - 1)
numbers = st.floats(allow_nan=False, allow_infinity=False)
marks_of_all_kinds = st.builds(
    Mark,
    micros=micros,
    newest_micros=micros,
    slack_micros=st.none() | st.integers(0, 2**63 - 1),
    memory=st.dictionaries(st.text(), numbers),
    seen_at_seconds=st.none() | numbers,
)


@given(marks_of_all_kinds)
def test_a_mark_survives_json(mark: Mark) -> None:
    assert Mark.from_json(json.loads(json.dumps(mark.to_json()))) == mark


def test_a_mark_in_json() -> None:
    mark = Mark(micros=1, newest_micros=2, slack_micros=3, memory={"a": 0.5}, seen_at_seconds=4.0)
    assert mark.to_json() == {
        "micros": 1,
        "newest_micros": 2,
        "slack_micros": 3,
        "memory": {"a": 0.5},
        "seen_at_seconds": 4.0,
    }


@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        ("micros", "1", TypeError),
        ("micros", 1.0, TypeError),
        ("micros", True, TypeError),
        ("newest_micros", [], TypeError),
        ("slack_micros", 0.5, TypeError),
        ("slack_micros", -1, ValueError),
        ("memory", None, TypeError),
        ("memory", [1.0], TypeError),
        ("memory", {"a": "1"}, TypeError),
        ("memory", {"a": None}, TypeError),
        ("memory", {"a": True}, TypeError),
        ("memory", {"a": nan}, ValueError),
        ("memory", {"a": 10**400}, ValueError),
        ("memory", {1: 1.0}, TypeError),
        ("seen_at_seconds", "now", TypeError),
        ("seen_at_seconds", inf, ValueError),
        ("surprise", 1, ValueError),
    ],
)
def test_a_wrong_field_is_refused(field: str, value: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=field):
        Mark.from_json(Mark().to_json() | {field: value})


@pytest.mark.parametrize("field", list(Mark().to_json()))
def test_a_missing_field_is_refused(field: str) -> None:
    document = Mark().to_json()
    del document[field]
    with pytest.raises(KeyError, match=field):
        Mark.from_json(document)


@pytest.mark.parametrize("document", [None, [], "mark", 1])
def test_what_is_no_mark_is_refused(document: Any) -> None:
    with pytest.raises(TypeError, match="a mark is"):
        Mark.from_json(document)


def test_moves_as_sparks_own_watermark_moves(spark: SparkSession, tmp_path: Path) -> None:
    delay = "1500 microseconds"
    start = 1_700_000_000_000_000
    newest = [start, start + 2_900, start + 1_000, start + 9_999, start + 10_400]
    marks = spark_watermarks(spark, tmp_path, delay, newest)
    assert marks == watermarks(FixedDelay.of(delay), [*newest])[:-1]


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
