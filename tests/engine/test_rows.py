from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.rows import WrongValue, as_json, row_problem, to_columns, to_rows

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


def test_json_is_cut_to_its_limit_in_bytes() -> None:
    text = as_json({"x": "ä" * 2_000}, limit=1_024)
    assert len(text.encode()) <= 1_024
    assert text.endswith("...")
    assert as_json({"b": b"\x01", "n": [math.inf]}) == '{"b": "01", "n": ["inf"]}'
