from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import Row

import penstock as ps
from penstock.testing import ManualClock

KEYS = st.lists(st.lists(st.integers(0, 12), max_size=6), max_size=20)


class Table:
    """Every key but multiples of five has a value; notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[list[Any]] = []
        self.version = 0

    def __call__(self, keys: list[Any]) -> dict[Any, dict[str, Any]]:
        self.asked.append(keys)
        return {key: self.row(key) for key in keys if key % 5}

    def row(self, key: int) -> dict[str, Any]:
        return {"name": f"n{key}", "version": self.version}

    def expected(self, keys: Iterable[int]) -> list[Any]:
        return [self.row(key) if key % 5 else None for key in keys]


@given(KEYS, st.integers(1, 15))
def test_values_are_those_of_the_table_and_no_key_is_asked_for_needlessly(
    requests: list[list[int]], size: int
) -> None:
    table = Table()
    lookup = ps.Lookup(table, max_entries=size)
    used: list[int] = []  # the least recently used first
    asked = []
    for keys in requests:
        distinct = list(dict.fromkeys(keys))
        wanted = [key for key in distinct if key not in used]
        asked += [wanted] if wanted else []
        assert lookup.get_many(keys) == table.expected(keys)
        order = [key for key in distinct if key not in wanted] + wanted
        used = [*[key for key in used if key not in order], *order][-size:]
    assert table.asked == asked
    stats = lookup.stats()
    assert stats.misses == sum(map(len, asked))
    assert stats.hits == sum(map(len, requests)) - stats.misses
    assert stats.loads == len(asked)


def test_an_expired_value_is_asked_for_again() -> None:
    clock, table = ManualClock(), Table()
    lookup = ps.Lookup(table, expire_after="10 seconds", clock=clock)
    assert lookup.get(1)["version"] == 0
    table.version = 1
    clock.advance(9.9)
    assert lookup.get(1)["version"] == 0
    clock.advance(0.2)
    assert lookup.get(1)["version"] == 1
    assert lookup.get(5) is None
    assert lookup.get(5) is None
    assert table.asked == [[1], [1], [5]]


def test_none_is_never_asked_for() -> None:
    table = Table()
    assert ps.Lookup(table).get_many([None, 1, None]) == [None, table.row(1), None]
    assert table.asked == [[1]]


def test_what_fails_is_not_kept() -> None:
    calls: Counter[int] = Counter()

    def load(keys: list[int]) -> dict[int, int]:
        calls.update(keys)
        if calls[keys[0]] == 1:
            raise OSError("away")
        return dict.fromkeys(keys, 7)

    lookup = ps.Lookup(load)
    with pytest.raises(OSError, match="away"):
        lookup.get(3)
    assert lookup.get(3) == 7


def test_copies_in_one_process_share_what_is_kept() -> None:
    """Spark unpickles the function of an operator for every task."""
    lookup = ps.Lookup(abs_of)
    first, second = (pickle.loads(pickle.dumps(lookup)) for _ in range(2))
    assert first.get(-3) == 3
    assert second.get(-3) == 3
    assert second.stats().loads == 1
    assert ps.Lookup(abs_of).stats().loads == 0


def abs_of(keys: list[int]) -> dict[int, int]:
    return {key: abs(key) for key in keys}


def test_columns_are_added_with_one_question_a_batch() -> None:
    table = Table()
    batch = pa.RecordBatch.from_pydict({"id": [1, 2, 3, 4, 5], "k": [7, 5, None, 7, 8]})
    found = ps.Lookup(table).onto("k", ["name"])(batch)
    assert found.to_pydict() == {
        "id": [1, 2, 3, 4, 5],
        "k": [7, 5, None, 7, 8],
        "name": ["n7", None, None, "n7", "n8"],
    }
    assert table.asked == [[7, 5, 8]]


def test_an_hour_that_comes_twice_is_two() -> None:
    """Summer time ended in Berlin: 2:30 was half past midnight in UTC, and an hour later again."""
    moments = [datetime(2024, 10, 27, hour, 30, tzinfo=UTC) for hour in (0, 1, 0)]

    def load(keys: list[datetime]) -> dict[datetime, dict[str, str]]:
        return {key: {"utc": key.astimezone(UTC).isoformat()} for key in keys}

    lookup, expected = ps.Lookup(load), [each.isoformat() for each in moments]
    batch = pa.RecordBatch.from_pydict(
        {"k": pa.array(moments, pa.timestamp("us", "Europe/Berlin"))}
    )
    assert lookup.onto("k", ["utc"])(batch)["utc"].to_pylist() == expected
    local = [each.astimezone(ZoneInfo("Europe/Berlin")) for each in moments]
    assert [each["utc"] for each in lookup.get_many(local)] == expected
    assert lookup.stats().misses == 2


def test_keys_that_python_takes_for_equal_are_told_apart() -> None:
    def load(keys: list[Any]) -> dict[Any, str]:
        return {key: repr(key) for key in keys}

    lookup = ps.Lookup(load)
    for _ in range(2):
        assert lookup.get_many([1, True, 1.0, (1, 2), (True, 2)]) == [
            "1", "True", "1.0", "(1, 2)", "(True, 2)"
        ]  # fmt: skip
    assert (lookup.stats().misses, lookup.stats().loads) == (5, 3)


class Named(NamedTuple):
    number: Any


class Metres(float):
    """Numbers with a class of their own."""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (0.0, -0.0),
        (Metres(0.0), Metres(-0.0)),
        (Decimal("1.0"), Decimal("1.00")),
        (Decimal(0), Decimal("-0")),
        (time(10, tzinfo=UTC), time(11, tzinfo=timezone(timedelta(hours=1)))),
        ((1, (2, 1)), (1, (2, True))),
        (Named(1), Named(True)),
        (Named(1), (1,)),
        (Row(a=1), Row(a=True)),
        (frozenset([1]), frozenset([True])),
        ((0.0,), (-0.0,)),
    ],
)
def test_keys_that_are_equal_and_not_the_same_are_told_apart(one: Any, other: Any) -> None:
    assert one == other
    lookup = ps.Lookup(lambda keys: {key: repr(key) for key in keys})
    for _ in range(2):
        assert lookup.get_many([one, other, one]) == [repr(one), repr(other), repr(one)]
    assert lookup.stats().misses == 2


def test_what_is_no_number_is_one_key() -> None:
    asked: list[list[float]] = []

    def load(keys: list[float]) -> dict[float, str]:
        asked.append(keys)
        return {key: str(key) for key in keys}

    lookup = ps.Lookup(load, max_entries=3)
    nans = [float("nan") for _ in range(20)]
    assert lookup.get_many([1.0, *nans]) == ["1.0", *["nan"] * 20]
    assert lookup.get_many([*nans, Decimal("NaN"), 1.0]) == [*["nan"] * 20, "NaN", "1.0"]
    assert [len(each) for each in asked] == [2, 1]


def test_a_function_may_take_its_list_apart() -> None:
    def load(keys: list[int]) -> dict[int, int]:
        found = {}
        while keys:
            key = keys.pop()
            found[key] = 10 * key
        return found

    assert ps.Lookup(load).get_many([1, 2, 1]) == [10, 20, 10]


def test_a_key_of_several_columns_is_a_tuple() -> None:
    def load(keys: list[tuple[int, str]]) -> dict[tuple[int, str], dict[str, str]]:
        return {key: {"both": f"{key[0]}{key[1]}"} for key in keys}

    batch = pa.RecordBatch.from_pydict({"a": [1, 1, None], "b": ["x", "y", "z"]})
    assert ps.Lookup(load).onto(["a", "b"], ["both"])(batch)["both"].to_pylist() == [
        "1x",
        "1y",
        None,
    ]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ps.Lookup(3), "can't be called"),
        (lambda: ps.Lookup(abs_of, max_entries=0), "no number of keys"),
        (lambda: ps.Lookup(abs_of, expire_after=0), "no time"),
        (lambda: ps.Lookup(abs_of).onto("k", "name"), r"onto\('code', \['city'\]\)"),
        (lambda: ps.Lookup(abs_of, clock=3), "function that returns seconds"),
        (lambda: ps.Lookup(abs_of).get([1]), "unhashable.* Write a text, a number, or a tuple"),
        (lambda: ps.Lookup(abs_of).get(Decimal("sNaN")), "a key can't be looked up: .*signaling"),
        (lambda: ps.Lookup(abs_of).get_many("BER"), r"Write get\(key\) for one"),
        (lambda: ps.Lookup(abs_of).get_many(3), "takes a list of keys, not 3"),
        (lambda: ps.Lookup(list).get(1), "Return a mapping"),
        (lambda: ps.Lookup(abs_of).onto(3, ["name"]), "Write a text or a list"),
        (lambda: ps.PostgresTable("host", "t", "k", ["v"])([1]), "can't be read: .*'host=..."),
        (lambda: ps.PostgresTable("host=h", "t\0", "k", ["v"]), "'schema.table'"),
        (lambda: ps.PostgresTable("host=h", "t", "k", ["v\0"]), "is not a column"),
        (lambda: ps.PostgresTable("host=h", "t", "\ud800", ["v"]), "Write whole letters"),
        (lambda: ps.PostgresTable("host=h", "t", "k", ["v"], retry_seconds=1e300), "no time to"),
        (lambda: ps.PostgresTable("host=h password=hunter2", "t", "k", ["v"]), "by itself"),
        (lambda: ps.PostgresTable("postgresql://u:hunter2@h/d", "t", "k", ["v"]), "by itself"),
        (lambda: ps.PostgresTable("host=h", "a..t", "k", ["v"]), "'schema.table'"),
        (lambda: ps.PostgresTable("host=h", "t", "k", "v"), r"\['city'\]"),
        (lambda: ps.PostgresTable("host=h", "t", "k", ["v"], retries=-1), "retries=8"),
        (lambda: ps.PostgresTable("host=h", "t", "k", ["v"], retry_seconds=0), "no time to wait"),
    ],
)
def test_settings_that_cannot_work(make: Any, message: str) -> None:
    with pytest.raises(ps.ConfigurationError, match=message) as caught:
        make()
    assert "hunter2" not in str(caught.value)
