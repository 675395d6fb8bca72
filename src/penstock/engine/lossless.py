"""The columns that a batch function returned, as the declared types: of one kind, never converted.

A cast of Arrow's would make 7 of "7" and "7" of 7; here a column stays of its kind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from penstock.engine.value_types import WrongValue, check_nulls

_Kind = Callable[[pa.DataType], bool]


def _kind(*tests: str) -> _Kind:
    known = [getattr(pa.types, test) for test in tests]
    return lambda arrow_type: any(test(arrow_type) for test in known)


_is_text = _kind("is_string", "is_large_string", "is_string_view")
_is_bytes = _kind("is_binary", "is_large_binary", "is_binary_view")
_is_list = _kind("is_list", "is_large_list", "is_fixed_size_list")
# Of these, a cast that loses something fails by itself.
_SAFE_WITHIN = (
    _is_text,
    _is_bytes,
    _kind("is_integer"),
    _kind("is_duration"),
    _kind("is_time"),
    _kind("is_decimal"),
)


def conformed(result: Any, schema: pa.Schema) -> pa.RecordBatch:
    """Return what a batch function returned with exactly the declared columns.

    Raises ``WrongValue`` when a column is missing, of another kind, has a value that does not fit,
    or is null where it may not be.

    >>> narrow = pa.RecordBatch.from_pydict({"x": pa.array([7], pa.int16())})
    >>> conformed(narrow, pa.schema([("x", pa.int64())])).column(0).type
    DataType(int64)
    """
    if not isinstance(result, pa.RecordBatch):
        raise WrongValue(f"returned a {type(result).__name__}; return a pyarrow.RecordBatch")
    arrays = []
    for field in schema:
        position = result.schema.get_field_index(field.name)
        if position < 0:
            several = result.schema.names.count(field.name) > 1
            problem = "more than one column" if several else "no value for column"
            raise WrongValue(f"{problem} '{field.name}'")
        array = result.column(position)
        if array.type != field.type:
            array = _widened(array, field)
        check_nulls(array, field)
        arrays.append(array)
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _widened(array: pa.Array, field: pa.Field) -> pa.Array:
    if not _widens(array.type, field.type):
        raise WrongValue(
            f"column '{field.name}' is {field.type}, the function returned {array.type}; "
            "cast it in the function if that is what you mean"
        )
    try:
        return array.cast(field.type, safe=True)
    except (pa.ArrowException, ValueError) as error:
        raise WrongValue(f"column '{field.name}' is {field.type}: {error}") from None


def _widens(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Say whether every value of one type is, or can be checked to be, a value of the other."""
    if pa.types.is_dictionary(found):
        return _widens(found.value_type, wanted)
    if found == wanted or pa.types.is_null(found):
        return True
    if pa.types.is_floating(wanted):
        return _is_exact_in_float(found, wanted)
    if pa.types.is_timestamp(wanted):
        return pa.types.is_timestamp(found) and (found.tz is None) == (wanted.tz is None)
    if any(is_kind(wanted) and is_kind(found) for is_kind in _SAFE_WITHIN):
        return True
    return _widens_inside(found, wanted)


def _is_exact_in_float(found: pa.DataType, wanted: pa.DataType) -> bool:
    if pa.types.is_integer(found):  # the cast refuses those that it would round
        return True
    return bool(pa.types.is_floating(found) and found.bit_width < wanted.bit_width)


def _widens_inside(found: pa.DataType, wanted: pa.DataType) -> bool:
    if _is_list(wanted):
        return _is_list(found) and _widens(found.value_type, wanted.value_type)
    if pa.types.is_map(wanted):
        return (
            pa.types.is_map(found)
            and _widens(found.key_type, wanted.key_type)
            and _widens(found.item_type, wanted.item_type)
        )
    if not (pa.types.is_struct(wanted) and pa.types.is_struct(found)):
        return False
    # A field that is absent is null, as it is in a dict.
    inside = [(found.get_field_index(child.name), child) for child in wanted]
    return all(at < 0 or _widens(found.field(at).type, child.type) for at, child in inside)
