"""Keys as bytes: the same bytes wherever Spark's ``groupBy`` takes two keys for equal.

Null is a value of its own, all NaN are one, and so are -0.0 and 0.0. There is no Python loop over
rows, and nothing here imports Spark: it runs in Spark's Python workers, where start-up time counts.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_BYTES = pa.large_binary()
_NOTHING, _PRESENT = pa.scalar(b"", _BYTES), pa.scalar(b"\x01", _BYTES)


def key_bytes(column: pa.Array) -> pa.Array:
    """Return each value as bytes: the same for equal ones, and none the beginning of another.

    >>> one, other, none = key_bytes(pa.array([0.0, -0.0, None])).to_pylist()
    >>> one == other, one == none
    (True, False)
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    flags: Any = _PRESENT
    if column.null_count:
        flags = _fixed(column.is_valid().cast(pa.uint8()))
    return joined([flags, *_payload(column)], len(column))


def _payload(column: pa.Array) -> list[pa.Array]:
    """Return the parts of every value's bytes; null has none, or those of its null children."""
    arrow_type = column.type
    if pa.types.is_null(arrow_type):
        return []
    if pa.types.is_struct(arrow_type):
        return [key_bytes(child) for child in column.flatten()]
    if pa.types.is_map(arrow_type):
        return _list_payload(column, [column.keys, column.items])
    if pa.types.is_list(arrow_type) or pa.types.is_large_list(arrow_type):
        return _list_payload(column, [column.values])
    if pa.types.is_boolean(arrow_type):
        return [_fixed(column.cast(pa.uint8()))]
    if pa.types.is_floating(arrow_type):
        return [_fixed(_one_zero_and_nan(column))]
    if _is_variable(arrow_type):
        return [_fixed(pc.binary_length(column).cast(pa.int64())), column.cast(_BYTES)]
    return [_fixed(column)]


def _is_variable(arrow_type: pa.DataType) -> bool:
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary)
    return any(test(arrow_type) for test in tests) or pa.types.is_large_binary(arrow_type)


def _one_zero_and_nan(column: pa.Array) -> pa.Array:
    zero, nan = pa.scalar(0.0, column.type), pa.scalar(math.nan, column.type)
    return pc.if_else(pc.is_nan(column), nan, pc.add(column, zero))


def _fixed(column: pa.Array) -> pa.Array:
    """Return the bytes of values that all have equally many, as Arrow holds them."""
    width = pa.binary(column.type.bit_width // 8)
    same = pa.Array.from_buffers(width, len(column), column.buffers(), offset=column.offset)
    return same.cast(_BYTES)


def _list_payload(column: pa.Array, children: list[pa.Array]) -> list[pa.Array]:
    """Return the length of every list, and the bytes of its elements one after the other."""
    bounds = column.offsets.to_numpy().astype(np.int64)
    first, count = int(bounds[0]), int(bounds[-1] - bounds[0])
    nulls = column.is_null().to_numpy(zero_copy_only=False)
    lengths = _fixed(pa.array(np.diff(bounds), mask=nulls))
    if not count:
        return [lengths]
    elements = joined([key_bytes(child.slice(first, count)) for child in children])
    _, offsets, data = elements.buffers()
    ends = np.frombuffer(offsets, np.int64, count + 1)[bounds - first]
    of_each = pa.Array.from_buffers(_BYTES, len(column), [None, pa.py_buffer(ends), data])
    # Under a null there may be elements that nobody sees.
    return [lengths, pc.if_else(column.is_valid(), of_each, pa.scalar(None, _BYTES))]


def joined(parts: list[Any], rows: int | None = None) -> pa.Array:
    """Return the parts' bytes one after the other, row by row; a null part has none.

    Where all parts are single values, ``rows`` says for how many rows they stand.
    """
    if all(isinstance(part, pa.Scalar) for part in parts):  # of scalars Arrow would make a scalar
        parts = [pa.repeat(parts[0], rows), *parts[1:]]
    return pc.binary_join_element_wise(
        *parts, _NOTHING, null_handling="replace", null_replacement=b""
    )
