from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from penstock.engine.lossless import conformed
from penstock.engine.value_types import WrongValue

REQUIRED = pa.field("a", pa.int64(), nullable=False)
MOMENT = datetime(2026, 1, 1)


def through(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    batch = pa.RecordBatch.from_arrays([array], names=["x"])
    return conformed(batch, pa.schema([("x", wanted)])).column(0)


@pytest.mark.parametrize(
    ("found", "value", "wanted"),
    [
        (pa.int64(), 7, pa.int32()),
        (pa.int16(), 7, pa.int64()),
        (pa.uint32(), 7, pa.int64()),
        (pa.int64(), 7, pa.float64()),
        (pa.float32(), 0.5, pa.float64()),
        (pa.large_string(), "a", pa.string()),
        (pa.string_view(), "a", pa.string()),
        (pa.string(), "a", pa.large_string()),
        (pa.large_binary(), b"a", pa.binary()),
        (pa.timestamp("s"), MOMENT, pa.timestamp("us")),
        (pa.timestamp("ns"), MOMENT, pa.timestamp("us")),
        (pa.decimal128(5, 1), Decimal("1.5"), pa.decimal128(10, 2)),
        (pa.decimal128(10, 2), Decimal("1.50"), pa.decimal128(5, 1)),
        (pa.null(), None, pa.list_(pa.int64())),
        (pa.dictionary(pa.int32(), pa.string()), "a", pa.string()),
        (pa.large_list(pa.int32()), [1, None], pa.list_(pa.int64())),
        (pa.list_(pa.int64()), [1], pa.list_(REQUIRED)),
        (pa.struct([("a", pa.int32())]), {"a": 1}, pa.struct([REQUIRED])),
        (pa.map_(pa.string(), pa.int32()), [("a", 1)], pa.map_(pa.string(), pa.int64())),
    ],
)
def test_a_column_is_widened_within_its_kind(
    found: pa.DataType, value: Any, wanted: pa.DataType
) -> None:
    array = through(pa.array([value, None], found), wanted)
    assert array.type == wanted
    assert array.to_pylist() == [value, None]


def test_a_moment_keeps_its_instant_in_another_zone() -> None:
    array = through(pa.array([0], pa.timestamp("s", "Asia/Tokyo")), pa.timestamp("us", "UTC"))
    assert array.cast(pa.int64()).to_pylist() == [0]


@pytest.mark.parametrize(
    ("found", "value", "wanted"),
    [
        (pa.string(), "7", pa.int64()),
        (pa.int64(), 7, pa.string()),
        (pa.string(), "2026-01-01", pa.date32()),
        (pa.bool_(), True, pa.int64()),
        (pa.int64(), 1, pa.bool_()),
        (pa.int64(), 2**31, pa.int32()),
        (pa.uint64(), 2**63, pa.int64()),
        (pa.int64(), 2**53 + 1, pa.float64()),
        (pa.float64(), 7.0, pa.int64()),
        (pa.float64(), 1e300, pa.float32()),
        (pa.int64(), 7, pa.timestamp("us")),
        (pa.timestamp("us"), MOMENT, pa.timestamp("us", "UTC")),
        (pa.timestamp("us", "UTC"), MOMENT, pa.timestamp("us")),
        (pa.decimal128(5, 2), Decimal("1.55"), pa.decimal128(5, 1)),
        (pa.binary(), b"a", pa.string()),
        (pa.dictionary(pa.int32(), pa.string()), "7", pa.int64()),
        (pa.list_(pa.string()), ["7"], pa.list_(pa.int64())),
        (pa.struct([("a", pa.string())]), {"a": "7"}, pa.struct([("a", pa.int64())])),
        (pa.map_(pa.string(), pa.string()), {"a": "7"}, pa.map_(pa.string(), pa.int64())),
        (pa.list_(pa.int64()), [None], pa.list_(REQUIRED)),
        (pa.list_(REQUIRED), [None], pa.list_(REQUIRED)),
        (pa.struct([REQUIRED]), {"a": None}, pa.struct([REQUIRED])),
        (pa.struct([("b", pa.int64())]), {"b": 1}, pa.struct([REQUIRED])),
    ],
)
def test_a_column_of_another_kind_is_refused_and_named(
    found: pa.DataType, value: Any, wanted: pa.DataType
) -> None:
    with pytest.raises(WrongValue, match="'x"):
        through(pa.array([value], found), wanted)


def test_nanoseconds_are_not_cut_off() -> None:
    with pytest.raises(WrongValue, match=r"'x'.*lose"):
        through(pa.array([1_001], pa.timestamp("ns")), pa.timestamp("us"))


def test_nulls_are_found_inside_a_part_of_a_map_column_and_only_there() -> None:
    item = pa.field("value", pa.int64(), nullable=False)
    maps = pa.array([{"a": None}, None, {"b": 1}], pa.map_(pa.string(), item))
    assert through(maps.slice(1), maps.type).to_pylist() == [None, [("b", 1)]]
    full = pa.array([{"a": None}, {"b": 1}], maps.type).slice(1)
    assert through(full, maps.type).to_pylist() == [[("b", 1)]]
    with pytest.raises(WrongValue, match=r"'x\.value' may not be null"):
        through(maps.slice(0, 2), maps.type)


def test_what_is_inside_a_null_may_be_null() -> None:
    inside, absent = pa.array([1, None], pa.int64()), pa.array([False, True])
    structs = pa.StructArray.from_arrays([inside], fields=[REQUIRED], mask=absent)
    assert through(structs, structs.type).to_pylist() == [{"a": 1}, None]


def test_two_columns_of_one_name_are_refused() -> None:
    twice = pa.RecordBatch.from_arrays([[1], [2]], names=["x", "x"])
    with pytest.raises(WrongValue, match="more than one column 'x'"):
        conformed(twice, pa.schema([("x", pa.int64())]))
