from __future__ import annotations

from copy import deepcopy
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.lookup.plain_text import NotPlain, as_text, of_text

ZONES = st.one_of(
    st.none(),
    st.just(UTC),
    st.integers(-1_000, 1_000).map(lambda minutes: timezone(timedelta(minutes=minutes))),
    st.sampled_from(["Europe/Berlin", "UTC", "Asia/Kathmandu"]).map(ZoneInfo),
)
MOMENTS = st.datetimes(timezones=ZONES, allow_imaginary=False)
PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(st.characters()),
    st.binary(),
    st.decimals(allow_nan=False),
    st.uuids(),
    st.dates(),
    st.times(),
    st.timedeltas(),
    MOMENTS,
)
KEYS = st.one_of(st.integers(), st.text(), st.tuples(st.integers(), st.text()), st.dates())
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(KEYS, inner, max_size=4),
    ),
    max_leaves=12,
)


def told(value: Any) -> Any:
    """Return all that two values can differ in: types, and what equality does not look at."""
    if isinstance(value, dict):
        return dict, [(told(key), told(each)) for key, each in value.items()]
    if isinstance(value, list | tuple):
        return type(value), [told(each) for each in value]
    if isinstance(value, datetime):
        zone = value.tzinfo
        return type(value), repr(value), type(zone), getattr(zone, "key", None), value.fold
    return type(value), repr(value)


@given(VALUES)
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    assert told(of_text(as_text(value))) == told(value)


@given(VALUES, VALUES)
def test_only_equal_values_have_one_text(one: Any, other: Any) -> None:
    assert (as_text(one) == as_text(other)) == (told(one) == told(other))


@given(VALUES)
def test_equal_values_have_one_text(value: Any) -> None:
    other = deepcopy(value)
    assert told(other) == told(value)
    assert as_text(other) == as_text(value)


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, 1.0), (1, True), ("1", 1), ((1,), [1]), (b"1", "31"), (Decimal("1.0"), Decimal("1.00"))],
)
def test_what_only_looks_alike_has_texts_of_its_own(one: Any, other: Any) -> None:
    assert as_text(one) != as_text(other)


def test_an_hour_that_comes_twice_and_one_that_is_no_number() -> None:
    for fold in (0, 1):
        moment = datetime(2024, 10, 27, 2, 30, fold=fold, tzinfo=ZoneInfo("Europe/Berlin"))
        assert told(of_text(as_text(moment))) == told(moment)
    assert repr(of_text(as_text([float("nan"), float("-inf"), -0.0]))) == "[nan, -inf, -0.0]"


class Named(str):
    __slots__ = ()


class Zone(timezone.__base__):  # type: ignore[name-defined, misc]
    """A zone that only the process knows that made it."""

    def utcoffset(self, _: datetime | None) -> timedelta:
        return timedelta(0)


class OwnZoneInfo(ZoneInfo):
    """A class that text would lose."""


@pytest.mark.parametrize(
    "value",
    [
        object(),
        {1, 2},
        Named("x"),
        1 + 2j,
        {"deep": [Named("x")]},
        {Named("x"): 1},
        datetime(2024, 1, 1, tzinfo=Zone()),
        datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=1), "CET")),
        datetime(2024, 1, 1, tzinfo=OwnZoneInfo("Europe/Berlin")),
        time(1, tzinfo=timezone(timedelta(0), "GMT")),
        time(1, tzinfo=Zone()),
        time(1, tzinfo=ZoneInfo("Europe/Berlin")),
    ],
)
def test_what_text_cannot_tell_is_refused(value: Any) -> None:
    with pytest.raises(NotPlain):
        as_text(value)


def test_the_types_that_a_database_gives() -> None:
    row = {
        "n": Decimal("1.50"),
        "at": datetime(2024, 1, 1, 10, tzinfo=ZoneInfo("UTC")),
        "on": date(2024, 1, 1),
        "u": UUID(int=7),
        "some": [1, None],
    }
    assert of_text(as_text(row)) == row
