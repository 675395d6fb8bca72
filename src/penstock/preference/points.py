"""Turns the columns of rows into points in which smaller is better everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.errors import PenstockError
from penstock.preference.preference import Preference

Points = NDArray[Any]
"""Rows as points: one line a row, float64 or int64, C-contiguous, smaller is better."""

MOST_DIGITS = 18
_LARGEST, _SMALLEST = np.iinfo(np.int64).max, np.iinfo(np.int64).min
_NARROW = (pa.types.is_int8, pa.types.is_int16, pa.types.is_int32, pa.types.is_date32)
_NARROW_UNSIGNED = (pa.types.is_uint8, pa.types.is_uint16, pa.types.is_uint32)
_WIDE = (
    pa.types.is_int64,
    pa.types.is_timestamp,
    pa.types.is_date64,
    pa.types.is_duration,
    pa.types.is_time,
)


class PointError(PenstockError):
    """A column holds a value that can't be compared."""

    def __init__(self, column: str, problem: str, remedy: str) -> None:
        self.column = column
        super().__init__(f"column '{column}' {problem}. {remedy}")


def to_points(columns: Sequence[pa.Array], preference: Preference) -> Points:
    """Turn columns, in the order of ``preference.columns``, into one point a row.

    Whether points are float64 or int64 depends on the columns' types and on ``missing`` alone,
    never on their values, so points of several calls can be compared. They are float64 where that
    holds every value of every column, and int64 in the same order where it does not: with 64-bit
    integers, timestamps and decimals, and with floating-point columns of which NaN is put last,
    after infinity. Nothing is rounded; a decimal whose digits make more than 64 bits is refused.

    >>> price, rating = pa.array([3.5, 2.0]), pa.array([5, 4], pa.int32())
    >>> to_points([price, rating], Preference(minimize=("price",), maximize=("rating",))).tolist()
    [[3.5, -5.0], [2.0, -4.0]]
    """
    if len(columns) != len(preference.columns):
        raise ValueError(f"{len(columns)} columns for {len(preference.columns)} preferred ones")
    arrays = [
        each.combine_chunks() if isinstance(each, pa.ChunkedArray) else each for each in columns
    ]
    rows = len(arrays[0]) if arrays else 0
    last = preference.missing == "last"
    exact = all(_fits_double(each.type, last) for each in arrays)
    points: Points = np.empty((rows, len(arrays)), np.float64 if exact else np.int64)
    for place, (array, name, maximized) in enumerate(
        zip(arrays, preference.columns, preference.is_maximized, strict=True)
    ):
        values, is_missing = _numbers(array, name)
        if not last and is_missing is not None and is_missing.any():
            raise PointError(
                name,
                f"has no number in {int(is_missing.sum())} of {rows} rows (null or NaN)",
                "Filter such rows out, or write missing='last' to rank them behind all others.",
            )
        column = _doubles(values, maximized) if exact else _integers(values, maximized)
        if last:
            _put_last(column, is_missing, name)
        points[:, place] = column
    return points


def _fits_double(kind: pa.DataType, last: bool) -> bool:
    if pa.types.is_floating(kind):
        return not last
    return pa.types.is_boolean(kind) or any(
        is_kind(kind) for is_kind in (*_NARROW, *_NARROW_UNSIGNED)
    )


def _numbers(array: pa.Array, name: str) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Return a column's numbers as int64 or float64, and which of them are missing."""
    kind = array.type
    is_missing = None
    if array.null_count:
        is_missing = np.asarray(pc.is_null(array))
    if pa.types.is_floating(kind):
        values = np.asarray(array.cast(pa.float64()).fill_null(0.0))
        nan = np.isnan(values)
        if nan.any():
            is_missing = nan if is_missing is None else nan | is_missing
        return values, is_missing
    if pa.types.is_decimal(kind):
        return _unscaled(array, name), is_missing
    if pa.types.is_null(kind):
        return np.zeros(len(array), np.int64), np.ones(len(array), np.bool_)
    if pa.types.is_uint64(kind):
        bits = np.asarray(array.fill_null(0))
        return (bits ^ np.uint64(1 << 63)).view(np.int64), is_missing
    if pa.types.is_boolean(kind) or any(is_kind(kind) for is_kind in (*_NARROW, *_NARROW_UNSIGNED)):
        if pa.types.is_date32(kind):
            array = array.view(pa.int32())
        return np.asarray(array.cast(pa.int64()).fill_null(0)), is_missing
    if any(is_kind(kind) for is_kind in _WIDE):
        array = array.view(pa.int32() if pa.types.is_time32(kind) else pa.int64())
        return np.asarray(array.cast(pa.int64()).fill_null(0)), is_missing
    raise PointError(
        name,
        f"is of type {kind}, of which no value is better than another",
        "Compare numbers, decimals, booleans, dates or timestamps.",
    )


def _unscaled(array: pa.Array, name: str) -> NDArray[np.int64]:
    """Return decimals as the integers they are without their point."""
    kind = array.type
    if kind.bit_width > 128:
        raise PointError(
            name, f"is of type {kind}, with more digits than fit 64 bits", _FEWER_DIGITS
        )
    if kind.bit_width < 128:
        array = array.cast(pa.decimal128(kind.precision, kind.scale))
    buffer, end = array.buffers()[1], array.offset + len(array)
    # A buffer may be longer than its values.
    words = np.frombuffer(buffer, np.int64, 2 * end) if end else np.empty(0, np.int64)
    words = words.reshape(-1, 2)[array.offset :]
    low = words[:, 0].copy()
    wide = words[:, 1] != low >> 63
    if array.null_count:
        is_null = np.asarray(pc.is_null(array))
        low[is_null] = 0
        wide &= ~is_null
    if wide.any():
        value = array[int(np.argmax(wide))].as_py()
        raise PointError(name, f"holds {value}, whose digits don't fit 64 bits", _FEWER_DIGITS)
    return low


_FEWER_DIGITS = (
    f"Cast it to a decimal of {MOST_DIGITS} digits, or to double, which rounds to about 16 digits."
)


def _doubles(values: NDArray[Any], maximized: bool) -> NDArray[np.float64]:
    # Adding to zero makes -0.0 the 0.0 that it equals.
    signed: NDArray[np.float64] = 0.0 - values if maximized else 0.0 + values
    return signed


def _integers(values: NDArray[Any], maximized: bool) -> NDArray[np.int64]:
    if values.dtype == np.float64:
        bits = (0.0 + values).view(np.int64)
        values = bits ^ ((bits >> 63) & _LARGEST)
    # The complement turns the order round and, unlike the negative, exists for every integer.
    return ~values if maximized else values.copy()


def _put_last(column: NDArray[Any], is_missing: NDArray[np.bool_] | None, name: str) -> None:
    if column.dtype == np.float64:
        if is_missing is not None:
            column[is_missing] = np.inf
        return
    present = column == _LARGEST if is_missing is None else (column == _LARGEST) & ~is_missing
    if present.any():
        raise PointError(
            name,
            "holds the worst 64-bit integer, behind which no missing one can be put",
            "Make it null, or write missing='refuse'.",
        )
    if is_missing is not None:
        column[is_missing] = _LARGEST
