from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.preference.points import PointError, to_points
from penstock.preference.preference import Preference

SMALL = Preference(minimize=("a",))
LARGE = Preference(maximize=("a",))
SMALL_LAST = Preference(minimize=("a",), missing="last")
LARGE_LAST = Preference(maximize=("a",), missing="last")
UTC = dt.UTC

# Each in ascending order, all different, with the ends of its type.
ASCENDING = {
    "byte": pa.array([-128, -1, 0, 127], pa.int8()),
    "short": pa.array([-(2**15), 0, 2**15 - 1], pa.int16()),
    "int": pa.array([-(2**31), 0, 2**31 - 1], pa.int32()),
    "long": pa.array([-(2**63) + 1, 2**53, 2**53 + 1, 2**63 - 2], pa.int64()),
    "unsigned": pa.array([1, 2**63 - 1, 2**63, 2**64 - 2], pa.uint64()),
    "float": pa.array([-np.inf, -1.5, 0.1, np.inf], pa.float32()),
    "double": pa.array([-np.inf, -1e308, -5e-324, 0.0, 5e-324, 0.1 + 0.2, 1e308, np.inf]),
    "boolean": pa.array([False, True]),
    "date": pa.array([dt.date(1, 1, 1), dt.date(1970, 1, 1), dt.date(9999, 12, 31)]),
    "timestamp": pa.array(
        [dt.datetime(1, 1, 1, tzinfo=UTC), dt.datetime(9999, 12, 31, 23, 59, 59, 999999, UTC)]
    ),
    "timestamp_ntz": pa.array([dt.datetime(1969, 12, 31), dt.datetime(1970, 1, 1, 0, 0, 0, 1)]),
    "interval": pa.array([dt.timedelta(-1), dt.timedelta(microseconds=1)]),
    "decimal(10, 2)": pa.array([Decimal("-1.25"), Decimal("0.00"), Decimal("0.01")]),
    "decimal(18, 0)": pa.array([Decimal(-(10**18) + 1), Decimal(10**18 - 1)], pa.decimal128(18)),
    "decimal(38, 18)": pa.array(
        [Decimal("-9.000000000000000001"), Decimal("-9"), Decimal("9.1")], pa.decimal128(38, 18)
    ),
}


@pytest.mark.parametrize("kind", ASCENDING)
@pytest.mark.parametrize("preference", [SMALL, LARGE, SMALL_LAST, LARGE_LAST])
def test_every_kind_of_column_keeps_its_order(kind: str, preference: Preference) -> None:
    column = ASCENDING[kind]
    expected = sorted(range(len(column)), reverse=bool(preference.maximize))
    points = to_points([column], preference)[:, 0]
    assert np.argsort(points).tolist() == expected
    assert len(set(points.tolist())) == len(column)


@pytest.mark.parametrize("kind", ASCENDING)
@pytest.mark.parametrize("preference", [SMALL_LAST, LARGE_LAST])
def test_missing_numbers_come_last(kind: str, preference: Preference) -> None:
    column = pa.concat_arrays([pa.nulls(1, ASCENDING[kind].type), ASCENDING[kind]])
    points = to_points([column], preference)[:, 0]
    assert (points[1:] < points[0]).all()


@pytest.mark.parametrize("preference", [SMALL_LAST, LARGE_LAST])
def test_nan_comes_after_infinity_beside_null(preference: Preference) -> None:
    column = pa.array([np.nan, np.inf, -np.inf, None])
    nan, plus, minus, null = to_points([column], preference)[:, 0].tolist()
    assert nan == null > max(plus, minus)


@pytest.mark.parametrize("preference", [SMALL, LARGE, SMALL_LAST, LARGE_LAST])
def test_minus_zero_is_zero(preference: Preference) -> None:
    minus, plus = to_points([pa.array([-0.0, 0.0])], preference)[:, 0].tolist()
    assert minus == plus


@pytest.mark.parametrize("column", [pa.array([1.0, np.nan, None, 2.0]), pa.array([1, None, None])])
def test_missing_numbers_are_refused_by_name(column: pa.Array) -> None:
    with pytest.raises(PointError, match=r"column 'a' has no number in 2 of \d rows.*missing="):
        to_points([column], SMALL)


@pytest.mark.parametrize(
    ("column", "preference", "problem"),
    [
        (pa.array(["x"]), SMALL, "type string"),
        (pa.array([Decimal(2**63)], pa.decimal128(38)), SMALL, "9223372036854775808.*64 bits"),
        (pa.array([Decimal(-(2**64))], pa.decimal128(38)), LARGE, "64 bits"),
        (pa.array([Decimal(1)], pa.decimal256(60)), SMALL, "64 bits"),
        (pa.array([2**63 - 1]), SMALL_LAST, "worst 64-bit integer"),
        (pa.array([-(2**63)]), LARGE_LAST, "worst 64-bit integer"),
    ],
)
def test_what_cannot_be_compared_exactly_is_refused(
    column: pa.Array, preference: Preference, problem: str
) -> None:
    with pytest.raises(PointError, match=problem):
        to_points([column], preference)


def test_ends_of_64_bits_are_numbers_where_nothing_may_be_missing() -> None:
    column = pa.array([-(2**63), 2**63 - 1])
    assert to_points([column], SMALL)[:, 0].tolist() == [-(2**63), 2**63 - 1]
    assert to_points([column], LARGE)[:, 0].tolist() == [2**63 - 1, -(2**63)]


@given(st.lists(st.tuples(st.floats(allow_nan=False), st.integers(-(2**63), 2**63 - 1))))
def test_columns_of_two_kinds_keep_both_orders(rows: list[tuple[float, int]]) -> None:
    price = pa.array([each for each, _ in rows], pa.float64())
    when = pa.array([each for _, each in rows], pa.int64())
    points = to_points([price, when], Preference(minimize=("price",), maximize=("when",)))
    assert points.shape == (len(rows), 2)
    for at, (one, point) in enumerate(zip(rows, points.tolist(), strict=True)):
        for other, other_point in zip(rows[:at], points[:at].tolist(), strict=True):
            assert (one[0] < other[0]) == (point[0] < other_point[0])
            assert (one[0] > other[0]) == (point[0] > other_point[0])
            assert (one[1] > other[1]) == (point[1] < other_point[1])


@pytest.mark.parametrize("kind", ASCENDING)
def test_the_kind_of_points_depends_on_types_alone(kind: str) -> None:
    column = ASCENDING[kind]
    for preference in (SMALL, SMALL_LAST):
        kinds: set[Any] = {
            to_points([part], preference).dtype for part in (column, column[:1], column[:0])
        }
        assert len(kinds) == 1


def test_slices_and_chunks_are_read_where_they_begin() -> None:
    column = pa.array([Decimal(number) for number in range(9)], pa.decimal128(38))
    assert to_points([column[3:5]], SMALL)[:, 0].tolist() == [3, 4]
    chunks = pa.chunked_array([pa.array([1, 2]), pa.array([3])])
    points = to_points([chunks], SMALL)
    assert points[:, 0].tolist() == [1, 2, 3]
    assert points.flags.c_contiguous


def test_decimals_may_have_padding_behind_them() -> None:
    two = np.array([150, 0, -25, -1], np.int64).tobytes()
    buffers = [None, pa.py_buffer(two + bytes(8))]
    column = pa.Array.from_buffers(pa.decimal128(18, 2), 2, buffers)
    for rows in (column, column.slice(1)):
        points = to_points([rows], Preference(minimize=("price",)))
        assert points.ravel().tolist() == [int(each.as_py() * 100) for each in rows]
