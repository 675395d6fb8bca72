"""Rows that go from one fused operator to the next are what Arrow would have made of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.arrow_groups import row_keys
from penstock.engine.handed_on import GivenRows, MadeRows, plain_columns
from penstock.engine.rows import to_columns, to_rows
from penstock.engine.value_types import WrongValue

SCHEMA = pa.schema(
    [
        ("key", pa.int64()),
        ("name", pa.string()),
        ("rate", pa.float64()),
        ("ok", pa.bool_()),
        ("ts", pa.timestamp("us", "UTC")),
        pa.field("small", pa.int8(), nullable=False),
    ]
)


def places(numbers: list[int]) -> dict[int, range]:
    """Where the rows of each key are, when these are the numbers of their keys."""
    first = {number: numbers.index(number) for number in numbers}
    return {number: range(at, at + numbers.count(number)) for number, at in first.items()}


START = datetime(2026, 1, 1, tzinfo=UTC)
READ = {"key": 1, "name": "a", "rate": 0.5, "ok": True, "small": 3}


def as_read(moment: datetime = START) -> dict[str, Any]:
    """A row as it comes out of Arrow."""
    return to_rows(to_columns([{**READ, "ts": moment}], SCHEMA))[0]


class Text(str):
    """Something that is a string, and more."""


def test_rows_that_were_read_go_on_as_they_are() -> None:
    rows = [as_read(), as_read(START + timedelta(seconds=1))]
    made = MadeRows(rows, places([0, 1]), SCHEMA)
    assert made.rows is rows
    assert made.batch.equals(to_columns(rows, SCHEMA))


@pytest.mark.parametrize(
    "other",
    [
        {"more": 1},
        {"rate": 1},
        {"name": Text("a")},
        {"key": True},
        {"ts": datetime(2026, 1, 1, 1, tzinfo=timezone(timedelta(hours=1)))},
        {"ts": START.replace(fold=1)},
        {"small": 200},
        {"small": None},
        {"key": 2**63},
        {"name": "\ud800"},
    ],
)
def test_what_arrow_would_change_or_refuse_is_not_plain(other: dict[str, Any]) -> None:
    assert plain_columns([as_read(), {**as_read(), **other}], SCHEMA) is None


def test_a_row_that_is_there_twice_is_made_anew() -> None:
    row = as_read()
    made = MadeRows([row, row], places([0, 0]), SCHEMA)
    assert made.rows == [row, row]
    assert made.rows[0] is not made.rows[1]


def test_a_row_that_came_once_and_goes_on_twice_is_made_anew() -> None:
    row = as_read()
    given = GivenRows.of(to_columns([row, row], SCHEMA))
    made = MadeRows([given.rows[0]] * 2, places([0, 0]), SCHEMA, given)
    assert made.rows == [row, row]
    assert made.rows[0] is not made.rows[1]


def test_a_list_that_a_function_wrote_into_is_checked_again() -> None:
    schema = pa.schema([("key", pa.string()), ("several", pa.list_(pa.int64()))])
    given = GivenRows.of(to_columns([{"key": "a", "several": [1]}], schema))
    given.rows[0]["several"].append("no number")
    with pytest.raises(WrongValue):
        MadeRows(given.rows, places([0]), schema, given)


def test_a_row_of_another_key_is_found_also_where_all_values_are_those_that_came() -> None:
    schema = pa.schema([("key", pa.int64())])
    given = GivenRows.of(to_columns([{"key": 1}, {"key": 2}], schema))
    numbers = [range(1), range(1, 2)]
    # Both come from the first key.
    made = MadeRows(given.rows, {0: range(2)}, schema, given, numbers)
    keys = row_keys(to_columns([{"key": 1}, {"key": 2}], schema).columns).to_pylist()
    assert made.strayed(["key"], keys) == 1


def test_what_comes_out_is_of_the_declared_types() -> None:
    made = MadeRows([{**as_read(), "rate": 2, "more": 1}], places([0]), SCHEMA)
    assert made.rows == [{**as_read(), "rate": 2.0}]
    assert type(made.rows[0]["rate"]) is float


@pytest.mark.parametrize("wrong", [{"small": 200}, {"small": None}, {"key": 1.5}, {"name": 3}])
def test_a_wrong_value_is_one_here_too(wrong: dict[str, Any]) -> None:
    with pytest.raises(WrongValue):
        MadeRows([{**as_read(), **wrong}], places([0]), SCHEMA)


def test_a_letter_holds_a_row_as_it_came_whatever_became_of_it() -> None:
    rows = [as_read()]
    made = MadeRows(rows, places([0]), SCHEMA)
    rows[0]["name"] = "changed by the next function"
    assert made.batch.column("name").to_pylist() == ["a"]


values = st.fixed_dictionaries(
    {
        "key": st.integers(-3, 3) | st.none() | st.booleans(),
        "name": st.sampled_from(["a", "b", None, Text("c")]),
        "rate": st.floats(allow_nan=False) | st.integers(-2, 2) | st.none(),
        "ok": st.booleans() | st.none(),
        "ts": st.datetimes(datetime(2000, 1, 1), datetime(2030, 1, 1)).map(
            lambda moment: moment.replace(tzinfo=UTC)
        )
        | st.none(),
        "small": st.integers(-128, 127),
    }
)


@given(st.lists(values, max_size=6), st.booleans())
def test_the_next_operator_sees_what_arrow_would_show_it(
    rows: list[dict[str, Any]], was_read: bool
) -> None:
    if was_read:
        try:
            rows = to_rows(to_columns(rows, SCHEMA))
        except WrongValue:
            return
    try:
        batch = to_columns([dict(row) for row in rows], SCHEMA)
    except WrongValue:
        with pytest.raises(WrongValue):
            MadeRows(rows, places([0] * len(rows)), SCHEMA)
        return
    made = MadeRows(rows, places([0] * len(rows)), SCHEMA)
    shown, wanted = made.rows, to_rows(batch)
    assert shown == wanted
    assert [[type(v) for v in row.values()] for row in shown] == [
        [type(v) for v in row.values()] for row in wanted
    ]
    assert made.batch.equals(batch)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5) | st.none()), max_size=12))
def test_rows_of_a_key_come_in_the_order_of_time_as_they_came_if_equal(
    given_rows: list[tuple[int, int | None]],
) -> None:
    given_rows = sorted(given_rows, key=lambda each: each[0])  # key after key
    rows = [
        {**as_read(), "key": key, "ts": None if at is None else START + timedelta(seconds=at)}
        for key, at in given_rows
    ]
    made = MadeRows(rows, places([key for key, _ in given_rows]), SCHEMA)
    ordered = made.in_order("ts")
    for key in {key for key, _ in given_rows}:
        own = [number for number, (each, _) in enumerate(given_rows) if each == key]
        wanted = sorted(own, key=lambda n: (given_rows[n][1] is None, given_rows[n][1] or 0))
        assert list(ordered[key]) == wanted
    assert {key: list(place) for key, place in made.in_order(None).items()} == {
        key: [n for n, (each, _) in enumerate(given_rows) if each == key]
        for key in {key for key, _ in given_rows}
    }


class TestKeys:
    def bytes_of(self, *keys: Any) -> list[bytes]:
        found: list[bytes] = row_keys([pa.array(keys, pa.int64())]).to_pylist()
        return found

    def test_all_rows_have_the_key_they_were_made_for(self) -> None:
        rows = [{**as_read(), "key": key} for key in (7, 7, 8)]
        made = MadeRows(rows, places([0, 0, 1]), SCHEMA)
        assert made.strayed(["key"], self.bytes_of(7, 8)) is None

    @pytest.mark.parametrize(("keys", "at"), [((7, 9, 8), 1), ((9, 9, 8), 0), ((7, 7, None), 2)])
    def test_one_that_has_another_is_found(self, keys: tuple[Any, ...], at: int) -> None:
        rows = [{**as_read(), "key": key} for key in keys]
        made = MadeRows(rows, places([0, 0, 1]), SCHEMA)
        assert made.strayed(["key"], self.bytes_of(7, 8)) == at
        anew = MadeRows([{**row, "more": 1} for row in rows], places([0, 0, 1]), SCHEMA)
        assert anew.strayed(["key"], self.bytes_of(7, 8)) == at


class TestRowsThatGoOn:
    """What an operator only looked at need not be looked at again."""

    def given(self) -> GivenRows:
        moments = [START, START + timedelta(seconds=1)]
        return GivenRows.of(to_columns([{**READ, "ts": moment} for moment in moments], SCHEMA))

    def test_they_are_known_by_the_identity_of_their_values(self) -> None:
        given = self.given()
        assert given.went_on(list(given.rows), SCHEMA)
        assert given.went_on([dict(row) for row in given.rows], SCHEMA)
        assert given.rows == to_rows(to_columns(given.rows, SCHEMA))

    @pytest.mark.parametrize(
        "change",
        [
            lambda row: row.update(rate=1.5),
            lambda row: row.update(rate=row["rate"] + 0.0),
            lambda row: row.update(small=True),
            lambda row: row.update(more=1),
            lambda row: row.pop("name"),
        ],
    )
    def test_a_row_that_was_changed_in_place_is_another(self, change: Any) -> None:
        given = self.given()
        change(given.rows[1])
        assert not given.went_on(list(given.rows), SCHEMA)

    def test_fewer_rows_more_and_another_order_are_others(self) -> None:
        given = self.given()
        one, two = given.rows
        for rows in ([one], [two, one], [one, one], [one, two, one]):
            assert not given.went_on(rows, SCHEMA)

    def test_another_schema_is_another(self) -> None:
        given = self.given()
        wider = SCHEMA.set(0, pa.field("key", pa.int32()))
        assert not given.went_on(given.rows, wider)
        assert not given.went_on(given.rows, pa.schema(reversed(list(SCHEMA))))

    def test_a_null_that_may_not_come_out_is_looked_at(self) -> None:
        batch = to_columns([{**READ, "ts": None}], SCHEMA)
        given = GivenRows.of(batch)
        strict = SCHEMA.set(4, pa.field("ts", pa.timestamp("us", "UTC"), nullable=False))
        assert given.went_on(given.rows, SCHEMA)
        assert not given.went_on(given.rows, strict)
        with pytest.raises(WrongValue):
            MadeRows(list(given.rows), places([0]), strict, given)

    def test_their_order_is_that_of_before(self) -> None:
        given = self.given()
        numbers = [range(1), range(1, 2)]
        made = MadeRows(list(given.rows), places([0, 1]), SCHEMA, given, numbers, "ts")
        assert made.strayed(["key"], [b"never", b"looked at"]) is None
        assert {key: list(place) for key, place in made.in_order("ts").items()} == {0: [0], 1: [1]}
        assert made.given.went_on(made.rows, SCHEMA)
        assert made.batch.equals(to_columns(given.rows, SCHEMA))
