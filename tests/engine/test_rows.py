from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.rows import (
    UnreadableValue,
    readable_rows,
    row_problem,
    row_text,
    row_texts,
    to_columns,
    to_rows,
)
from penstock.engine.value_types import WrongValue

AT = datetime(2026, 1, 1, tzinfo=UTC)
REQUIRED = pa.field("a", pa.int64(), nullable=False)
VALUES = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.float64(): st.floats(allow_nan=False),
    pa.string(): st.text(),
    pa.binary(): st.binary(),
    pa.bool_(): st.booleans(),
    pa.date32(): st.dates(),
    pa.timestamp("us", "UTC"): st.datetimes(
        datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC)
    ),
    pa.decimal128(10, 2): st.decimals(-1000, 1000, places=2),
    pa.list_(pa.int64()): st.lists(st.integers(-5, 5)),
    pa.struct([("a", pa.int64())]): st.fixed_dictionaries({"a": st.integers(-5, 5)}),
}


@st.composite
def batches(draw: st.DrawFn) -> tuple[pa.Schema, list[dict[str, Any]]]:
    names = draw(st.lists(st.text(min_size=1), min_size=1, max_size=5, unique=True))
    types = [draw(st.sampled_from(list(VALUES))) for _ in names]
    row = st.fixed_dictionaries(
        {name: st.none() | VALUES[t] for name, t in zip(names, types, strict=True)}
    )
    return pa.schema(list(zip(names, types, strict=True))), draw(st.lists(row, max_size=8))


@given(batches())
def test_rows_come_back_as_they_went(case: tuple[pa.Schema, list[dict[str, Any]]]) -> None:
    schema, rows = case
    assert to_rows(to_columns(rows, schema)) == rows


@given(batches())
def test_rows_are_those_of_arrow(case: tuple[pa.Schema, list[dict[str, Any]]]) -> None:
    schema, rows = case
    batch = pa.RecordBatch.from_pylist(rows, schema=schema)
    assert to_rows(batch) == batch.to_pylist()


def test_a_column_name_is_never_code() -> None:
    name = "'}] + [__import__('os').getpid()] + [{'"
    assert to_rows(pa.RecordBatch.from_pydict({name: [1]})) == [{name: 1}]


def test_timestamps_carry_the_zone_of_the_column() -> None:
    column = pa.array([0, None], pa.timestamp("us", "Europe/Berlin"))
    rows = to_rows(pa.RecordBatch.from_arrays([column], names=["at"]))
    assert rows[0]["at"].utcoffset() == timedelta(hours=1)
    assert rows[0]["at"] == datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1)))
    assert rows[1]["at"] is None


@pytest.mark.parametrize(
    ("arrow_type", "value"),
    [
        (pa.int64(), 1.5),
        (pa.int64(), 1.0),
        (pa.int64(), "1"),
        (pa.int64(), True),
        (pa.int64(), 2**63),
        (pa.int32(), 2**31),
        (pa.int64(), math.nan),
        (pa.float64(), "1.0"),
        (pa.float64(), True),
        (pa.string(), 1),
        (pa.string(), b"x"),
        (pa.binary(), "x"),
        (pa.bool_(), 1),
        (pa.timestamp("us", "UTC"), 5),
        (pa.timestamp("us", "UTC"), "2026-01-01"),
        (pa.timestamp("us", "UTC"), date(2026, 1, 1)),
        (pa.date32(), datetime(2026, 1, 1)),
        (pa.date32(), 1),
        (pa.decimal128(5, 1), 1.1),
        (pa.decimal128(3, 1), Decimal("1000.5")),
        (pa.list_(pa.int64()), [1.5]),
        (pa.list_(pa.int64()), 1),
        (pa.list_(pa.int64()), "ab"),
        (pa.struct([("a", pa.int64())]), {"a": 1.5}),
        (pa.struct([("a", pa.int64())]), 7),
        (pa.map_(pa.string(), pa.int64()), {"a": "b"}),
        (pa.map_(pa.string(), pa.int64()), 7),
        (pa.map_(pa.string(), pa.int64()), "ab"),
        (pa.map_(pa.string(), pa.int64()), [1, 2]),
        (pa.map_(pa.string(), pa.int64()), [("a", 1, 2)]),
        (pa.map_(pa.string(), pa.int64()), {None: 1}),
        (pa.map_(pa.string(), pa.field("value", pa.int64(), nullable=False)), {"a": None}),
        (pa.struct([REQUIRED]), {"a": None}),
        (pa.struct([REQUIRED]), {}),
        (pa.list_(REQUIRED), [1, None]),
        (pa.list_(pa.struct([REQUIRED])), [{"a": 1}, {"a": None}]),
        (pa.list_(pa.int64()), np.array(1)),
        (pa.timestamp("us", "UTC"), datetime(2026, 1, 1)),
        (pa.timestamp("us", "UTC"), np.datetime64("2026-01-01T00:00:00.000000")),
        (pa.timestamp("us"), datetime(2026, 1, 1, tzinfo=UTC)),
        (pa.list_(pa.timestamp("us", "UTC")), [datetime(2026, 1, 1)]),
        (pa.struct([("a", pa.timestamp("us"))]), {"a": datetime(2026, 1, 1, tzinfo=UTC)}),
        (pa.timestamp("us", "UTC"), pd.Timestamp(1_001, tz="UTC")),
        (pa.timestamp("us", "UTC"), pd.NaT),
        (pa.duration("us"), pd.Timedelta(1_001)),
        (pa.float32(), 1e300),
        (pa.list_(pa.float32()), [-1e39]),
        (pa.string(), "\ud800"),
    ],
)
def test_a_value_of_another_type_is_refused_and_the_column_named(
    arrow_type: pa.DataType, value: Any
) -> None:
    schema = pa.schema([("n", arrow_type)])
    with pytest.raises(WrongValue, match="'n"):
        to_columns([{"n": value}], schema)
    assert "'n" in (row_problem({"n": value}, schema) or "")


@pytest.mark.parametrize(
    ("arrow_type", "value", "kept"),
    [
        (pa.float64(), 1, 1.0),
        (pa.int64(), np.int32(4), 4),
        (pa.float64(), np.float32(0.5), 0.5),
        (pa.bool_(), np.bool_(True), True),
        (pa.decimal128(5, 1), 3, Decimal("3.0")),
        (pa.map_(pa.string(), pa.int64()), {"a": 1}, [("a", 1)]),
        (pa.map_(pa.string(), pa.int64()), [("a", 1)], [("a", 1)]),
        (pa.struct([REQUIRED]), None, None),
        (pa.list_(REQUIRED), [1], [1]),
        (pa.timestamp("us", "UTC"), AT, AT),
        (pa.timestamp("us", "UTC"), pd.Timestamp(AT), AT),
        (pa.timestamp("us"), datetime(2026, 1, 1), datetime(2026, 1, 1)),
        (pa.timestamp("us"), np.datetime64("2026-01-01T00:00:00.000000"), datetime(2026, 1, 1)),
        (pa.float32(), math.inf, math.inf),
        (pa.float32(), 0.5, 0.5),
    ],
)
def test_a_value_that_fits_without_loss_is_taken(
    arrow_type: pa.DataType, value: Any, kept: Any
) -> None:
    batch = to_columns([{"n": value}], pa.schema([("n", arrow_type)]))
    assert batch.column(0).to_pylist() == [kept]


def test_a_missing_key_and_a_null_where_none_may_be_are_told() -> None:
    schema = pa.schema([pa.field("n", pa.int64(), nullable=False)])
    assert row_problem({}, schema) == "no value for column 'n'"
    assert row_problem({"n": None}, schema) == "column 'n' may not be null"
    assert row_problem({"n": 1, "more": 2}, schema) is None


@pytest.mark.parametrize(
    ("arrow_type", "value", "remedy"),
    [
        (pa.timestamp("us", "UTC"), datetime(2026, 1, 1), "datetime(..., tzinfo=UTC)"),
        (pa.timestamp("us"), AT, "return a naive datetime"),
        (pa.timestamp("us", "UTC"), pd.Timestamp(1_001, tz="UTC"), ".round('us')"),
        (pa.timestamp("us", "UTC"), pd.NaT, "return None"),
    ],
)
def test_a_moment_that_would_be_shifted_or_cut_is_refused_with_what_to_write(
    arrow_type: pa.DataType, value: Any, remedy: str
) -> None:
    good = AT if arrow_type.tz else datetime(2026, 1, 1)
    with pytest.raises(WrongValue) as raised:
        to_columns([{"n": good}, {"n": None}, {"n": value}], pa.schema([("n", arrow_type)]))
    assert remedy in str(raised.value)


def test_a_null_inside_names_the_way_to_it() -> None:
    schema = pa.schema([("n", pa.list_(pa.struct([REQUIRED])))])
    assert row_problem({"n": [{"a": None}]}, schema) == "column 'n[].a' may not be null"


@pytest.mark.parametrize("value", [7, "ab", [1, 2], [("a", 1, 2)], [["a", 1]]])
def test_what_is_no_map_is_told_what_a_map_is(value: Any) -> None:
    problem = row_problem({"n": value}, pa.schema([("n", pa.map_(pa.string(), pa.int64()))]))
    assert "neither a dict nor a list of (key, value) tuples" in (problem or "")


def test_a_value_that_raises_whatever_is_done_with_it_is_a_wrong_value() -> None:
    class Rude(dict[str, Any]):
        def get(self, *_: Any) -> Any:
            raise OSError("rude")

        def __getitem__(self, _: str) -> Any:
            raise OSError("rude")

    schema = pa.schema([("n", pa.struct([REQUIRED]))])
    with pytest.raises(WrongValue, match=r"'n'.*rude"):
        to_columns([{"n": Rude()}], schema)
    assert "rude" in (row_problem(Rude(), schema) or "")


def broken_text(*values: bytes) -> pa.Array:
    """Return a string column that holds these bytes, checked by nobody."""
    return pa.Array.from_buffers(
        pa.string(), len(values), pa.array(values, pa.binary()).buffers(), offset=0
    )


FAR = 253_402_300_800  # the first second of the year 10000


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        (broken_text(b"a", b"\xc3\x28\xff", b"c"), "c328ff"),
        (pa.array([0, 10_000_000, 0], pa.date32()), "29349-01-26"),
        (pa.array([0, FAR, 0], pa.timestamp("s", "UTC")), "10000-01-01 00:00:00Z"),
        (pa.array([0, -(2**63), 0], pa.timestamp("us")), None),
        (
            pa.array([[0], [1, 10_000_000], None], pa.list_(pa.date32())),
            ["1970-01-02", "29349-01-26"],
        ),
        (
            pa.array(
                [None, {"a": FAR, "b": 1}], pa.struct([("a", pa.timestamp("s")), ("b", "i4")])
            ).take([0, 1, 0]),
            {"a": "10000-01-01 00:00:00", "b": 1},
        ),
        (
            pa.array([None, [("x", 10_000_000)], []], pa.map_(pa.string(), pa.date32())),
            [["x", "29349-01-26"]],
        ),
    ],
)
def test_a_row_that_python_cannot_hold_fails_alone_and_can_still_be_shown(
    column: pa.Array, shown: Any
) -> None:
    batch = pa.RecordBatch.from_arrays([[1, 2, 3], column], names=["n", "v"])
    with pytest.raises((ValueError, OverflowError)):
        to_rows(batch)
    rows = readable_rows(batch)
    assert [isinstance(row, UnreadableValue) for row in rows] == [False, True, False]
    assert [row["n"] for row in rows if not isinstance(row, UnreadableValue)] == [1, 3]
    assert "column 'v'" in str(rows[1])
    found = json.loads(row_text(batch, 1))
    assert found["n"] == 2
    assert shown is None or found["v"] == shown
    assert row_texts(batch) == [row_text(batch, number) for number in range(3)]


def test_a_map_whose_keys_no_dict_can_have_comes_as_pairs_and_goes_back() -> None:
    odd = pa.map_(pa.struct([("a", pa.int64())]), pa.map_(pa.string(), pa.int64()))
    column = pa.array([[({"a": 1}, {"x": 2})], None], odd)
    batch = pa.RecordBatch.from_arrays([column], names=["m"])
    rows = to_rows(batch)
    assert rows == [{"m": [({"a": 1}, {"x": 2})]}, {"m": None}]
    assert to_columns(rows, batch.schema).equals(batch)
