from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.dashboard.words import NOTHING, count, moment, share, signed_share, size, span


@pytest.mark.parametrize("say", [count, span, share, size, moment, signed_share])
@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), float("-inf")])
def test_what_is_not_known_is_a_dash(say: object, value: float | None) -> None:
    assert say(value) == NOTHING  # type: ignore[operator]


def test_numbers_have_as_many_digits_as_people_read() -> None:
    assert [count(n) for n in (0, 7, 0.1234, 99.94, 100.4, 999_999, 1_234_567, 2e9, 3e12)] == [
        "0", "7", "0.123", "99.9", "100", "999,999", "1.23 M", "2 G", "3 T",
    ]  # fmt: skip


def test_lengths_of_time_change_their_unit() -> None:
    assert [span(n) for n in (0, 0.9994, 1, 59.94, 60, 3_599, 3_600, 86_399, 86_400, -3)] == [
        "0 ms", "999 ms", "1 s", "59.9 s", "1 min 0 s", "59 min 59 s", "1 h 0 min", "23 h 59 min",
        "1 d 0 h", "-3 s",
    ]  # fmt: skip


def test_moments_are_in_utc_and_years_beyond_are_not_told() -> None:
    assert moment(0.0) == "1970-01-01 00:00:00"
    assert moment(1e20) == NOTHING


@given(st.floats(-1e300, 1e300))
def test_any_number_can_be_told(number: float) -> None:
    for say in (count, span, share, size, moment, signed_share):
        said = say(number)
        assert said == NOTHING or re.search(r"\d", said)
        assert "nan" not in said
