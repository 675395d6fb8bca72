"""Lengths of time: what is read as what, and what is refused. Spark is the oracle for text."""

from __future__ import annotations

import contextlib
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from penstock.errors import ConfigurationError
from penstock.windows.durations import in_seconds, microseconds, seconds

UNITS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
LONGEST = 2**63 - 1

whole = st.integers(0, 10**7)
units = st.sampled_from(sorted(UNITS))


@given(whole, units, st.booleans(), st.booleans())
def test_a_number_and_a_unit(n: int, unit: str, plural: bool, shouted: bool) -> None:
    text = f"{n} {unit}{'s' if plural else ''}"
    assert microseconds(text.upper() if shouted else text) == n * UNITS[unit]


@given(st.integers(0, LONGEST))
def test_every_microsecond_counts(n: int) -> None:
    assert microseconds(f"{n} microseconds") == n


@given(st.lists(st.tuples(st.integers(0, 10**6), units), min_size=1, max_size=4))
def test_parts_add_up(parts: list[tuple[int, str]]) -> None:
    text = " ".join(f"{n} {unit}" for n, unit in parts)
    assert microseconds(text) == sum(n * UNITS[unit] for n, unit in parts)


@given(st.integers(0, 10**9), st.integers(0, 999_999))
def test_fractions_of_a_second_are_exact(n: int, micros: int) -> None:
    assert microseconds(f"{n}.{micros:06d} seconds") == n * 1_000_000 + micros


@given(st.timedeltas(timedelta(0), timedelta(days=365 * 1_000)))
def test_a_timedelta(length: timedelta) -> None:
    days, rest, micros = length.days, length.seconds, length.microseconds
    assert microseconds(length) == (days * 86_400 + rest) * 1_000_000 + micros


@given(st.integers(0, LONGEST // 1_000_000))
def test_a_whole_number_of_seconds(n: int) -> None:
    assert microseconds(n) == n * 1_000_000


@given(st.integers(0, 2**50))
def test_a_float_is_rounded_to_the_nearest_microsecond(micros: int) -> None:
    assert microseconds(micros / 1_000_000) == micros


@given(st.integers(0, 2**50))
def test_seconds_are_microseconds_by_a_million(micros: int) -> None:
    assert seconds(f"{micros} microseconds") == micros / 1_000_000


@given(st.integers(0, LONGEST))
def test_writing_out_and_reading_again(micros: int) -> None:
    text = in_seconds(micros)
    assert "e" not in text
    assert microseconds(text.replace(" s", " seconds")) == micros


@pytest.mark.parametrize(
    ("micros", "text"),
    [
        (0, "0 s"),
        (10_000_000, "10 s"),
        (200_000, "0.2 s"),
        (1, "0.000001 s"),
        (10**15, f"{10**9} s"),
    ],
)
def test_writes_out_every_digit_that_counts(micros: int, text: str) -> None:
    assert in_seconds(micros) == text


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "   ",
        "interval",
        "interval ",
        "10",
        "seconds",
        "10 parsecs",
        "10 s",
        "10 secondss",
        "1 month",
        "2 years",
        "1 hour 2 months",
        "1 hour and a half",
        "1 hour, 30 minutes",
        "-5 seconds",
        "1e3 seconds",
        "1..5 seconds",
        "nan seconds",
        f"{LONGEST + 1} microseconds",
        f"{'9' * 400} seconds",
        True,
        False,
        None,
        float("nan"),
        float("inf"),
        float("-inf"),
        1e308,
        10**400,
        -1,
        -0.5,
        timedelta(microseconds=-1),
        b"10 seconds",
        ["10 seconds"],
        object(),
    ],
    ids=lambda bad: "an object" if type(bad) is object else str(bad)[:24],
)
def test_what_is_no_length_of_time_is_refused(bad: Any) -> None:
    with pytest.raises(ConfigurationError) as caught:
        microseconds(bad)
    said = str(caught.value)
    assert said.startswith(f"{bad!r} is not a length of time. Write it like '10 seconds'")


@pytest.mark.parametrize("bare", ["5", " 0.5 ", "0"])
def test_a_number_as_text_lacks_its_unit(bare: str) -> None:
    with pytest.raises(ConfigurationError, match=f"'{bare.strip()} seconds', with its unit"):
        microseconds(bare)


@given(st.text(max_size=12))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(ConfigurationError):
        assert microseconds(text) >= 0


def test_text_means_what_it_means_to_spark(spark: SparkSession) -> None:
    texts = [
        "10 seconds",
        "1 hour 30 minutes",
        "interval 5 minutes",
        "INTERVAL   2 DAYS",
        "interval\t2 days",
        "1 second 500 milliseconds",
        "1.5 seconds",
        ".5 seconds",
        "0.123456 seconds",
        "1.9999999 seconds",
        "1 week 2 days 3 hours 4 minutes 5 seconds 6 milliseconds 7 microseconds",
        "  3 days  ",
        "0 seconds",
        "9007199254740993 microseconds",
    ]
    sums = [
        f"unix_micros(timestamp'1970-01-01 00:00:00' + CAST('{text}' AS INTERVAL))"
        for text in texts
    ]
    answers = spark.range(1).selectExpr(*sums).head()
    assert answers is not None
    assert dict(zip(texts, map(microseconds, texts), strict=True)) == dict(
        zip(texts, answers, strict=True)
    )
