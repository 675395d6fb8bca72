from __future__ import annotations

import math
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.arrow_groups import grouped
from penstock.placement.key_bytes import key_bytes

TYPES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.bool_(): st.booleans(),
    pa.int8(): st.integers(-2, 2),
    pa.int64(): st.sampled_from([0, 1, -1, 256, 1 << 62]),
    pa.float32(): st.sampled_from([0.0, -0.0, math.nan, 1.5, math.inf]),
    pa.float64(): st.sampled_from([0.0, -0.0, math.nan, -math.nan, 1e300]),
    pa.string(): st.sampled_from(["", "a", "ab", "b", "\x00", "\x01a"]),
    pa.large_string(): st.sampled_from(["", "ä"]),
    pa.binary(): st.sampled_from([b"", b"\x00", b"\x01", b"\xff\x00"]),
    pa.decimal128(5, 2): st.sampled_from([Decimal("0.00"), Decimal("1.50"), Decimal("-1.50")]),
    pa.date32(): st.sampled_from([date(1969, 12, 31), date(2026, 1, 1)]),
    pa.timestamp("us", "UTC"): st.integers(-1, 1),
    pa.duration("us"): st.sampled_from([timedelta(0), timedelta(microseconds=1)]),
    pa.null(): st.none(),
}


def nested(
    inner: st.SearchStrategy[tuple[pa.DataType, Any]],
) -> st.SearchStrategy[tuple[pa.DataType, Any]]:
    lists = inner.map(lambda pair: (pa.list_(pair[0]), st.lists(st.none() | pair[1], max_size=3)))
    structs = st.tuples(inner, inner).map(
        lambda two: (
            pa.struct([("a", two[0][0]), ("b", two[1][0])]),
            st.fixed_dictionaries({"a": st.none() | two[0][1], "b": st.none() | two[1][1]}),
        )
    )
    maps = inner.map(
        lambda pair: (
            pa.map_(pa.string(), pair[0]),
            st.lists(st.tuples(st.sampled_from("xy"), st.none() | pair[1]), max_size=2),
        )
    )
    return lists | structs | maps


columns = st.recursive(st.sampled_from(list(TYPES.items())), nested, max_leaves=4)


def plain(value: Any) -> Any:
    """Return something that is equal where Spark takes keys for equal."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    if isinstance(value, list | tuple):
        return ("list", *map(plain, value))
    if isinstance(value, dict):
        return ("dict", *((key, plain(item)) for key, item in value.items()))
    return (type(value).__name__, value)


@given(types=st.lists(columns, max_size=3), data=st.data())
def test_rows_are_grouped_as_a_dict_groups_them(types: Any, data: st.DataObject) -> None:
    rows = data.draw(st.integers(0, 12))
    skipped = data.draw(st.integers(0, rows))  # a slice has its own offset in Arrow's buffers
    arrays, values = [], []
    for arrow_type, strategy in types:
        drawn = data.draw(st.lists(st.none() | strategy, min_size=rows, max_size=rows))
        array = pa.array(drawn, arrow_type).slice(skipped)
        arrays.append(array)
        values.append([plain(scalar.as_py()) for scalar in array])
    left = rows - skipped
    expected: dict[Any, list[int]] = {}
    for number in range(left):
        expected.setdefault(tuple(column[number] for column in values), []).append(number)

    found = grouped(arrays, left)
    parts = [
        found.order[found.starts[i] : found.starts[i + 1]].tolist() for i in range(len(found.keys))
    ]
    assert parts == list(expected.values())
    assert len(set(found.keys)) == len(found.keys)


@given(
    column=columns.flatmap(lambda pair: st.tuples(st.just(pair[0]), st.lists(pair[1], max_size=6))),
    nulls=st.integers(0, 2),
)
def test_a_key_is_the_same_in_every_batch(column: Any, nulls: int) -> None:
    """States are held from batch to batch by these bytes: whatever else is in a batch."""
    arrow_type, values = column
    alone = [key_bytes(pa.array([value], arrow_type))[0].as_py() for value in values]
    together = key_bytes(pa.array([None] * nulls + values, arrow_type)).to_pylist()
    assert together[nulls:] == alone


def test_every_nan_is_one_key() -> None:
    bits = pa.array([0x7FF8000000000000, 0x7FF0000000000001, -1], pa.int64())
    assert len(grouped([bits.view(pa.float64())], 3).keys) == 1


@pytest.mark.parametrize("float_type", [pa.float32(), pa.float64()])
def test_both_zeros_are_one_key_also_inside(float_type: pa.DataType) -> None:
    zeros = pa.array([0.0, -0.0], float_type)
    inside = pa.StructArray.from_arrays([zeros], ["z"])
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), zeros)
    for column in (zeros, inside, lists):
        assert len(grouped([column], 2).keys) == 1


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (pa.array(["a", "ab"]), pa.array(["bc", "c"])),
        (pa.array(["a\x01", "a"]), pa.array(["b", "\x01b"])),
        (pa.array(["", None]), pa.array([None, ""])),
        (pa.array([None, 1], pa.int8()), pa.array([1, None], pa.int8())),
        (pa.array([[1], [1, 2]]), pa.array([[2, 3], [3]])),
        (pa.array([[], None], pa.list_(pa.int8())), pa.array([None, []], pa.list_(pa.int8()))),
    ],
)
def test_columns_do_not_run_into_each_other(left: pa.Array, right: pa.Array) -> None:
    assert len(grouped([left, right], 2).keys) == 2


def test_values_under_a_null_do_not_count() -> None:
    hidden = pa.Array.from_buffers(
        pa.int64(), 2, [pa.py_buffer(b"\x00"), pa.array([1, 2]).buffers()[1]]
    )
    lists = pa.ListArray.from_arrays(
        pa.array([0, 1, 2], pa.int32()), pa.array([1, 2]), mask=pa.array([True, True])
    )
    structs = pa.StructArray.from_arrays([pa.array([1, 2])], ["a"], mask=pa.array([True, True]))
    for column in (hidden, lists, structs):
        assert len(grouped([column], 2).keys) == 1


@pytest.mark.parametrize("groups", [10, 70_000])
def test_many_groups(groups: int) -> None:
    column = pa.array([*range(groups), *range(groups)])
    found = grouped([column], 2 * groups)
    assert found.order.reshape(-1, 2).tolist() == [[i, i + groups] for i in range(groups)]
