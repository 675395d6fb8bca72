"""Which Python values a declared column takes: those that fit without a loss, and no others.

Arrow alone would turn 1.5 into 1 for an integer column, 5 into a timestamp, 1e300 into infinity.
Nothing here imports Spark: it runs in Spark's Python workers, where start-up time counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa


class WrongValue(Exception):
    """A value that does not fit the declared column."""


_NONE = type(None)
_EXACT: tuple[tuple[Callable[[pa.DataType], bool], tuple[type, ...]], ...] = (
    (pa.types.is_boolean, (bool, np.bool_)),
    (pa.types.is_integer, (int, np.integer)),
    (pa.types.is_floating, (float, int, np.floating, np.integer)),
    (pa.types.is_string, (str,)),
    (pa.types.is_large_string, (str,)),
    (pa.types.is_binary, (bytes, bytearray, memoryview)),
    (pa.types.is_large_binary, (bytes, bytearray, memoryview)),
    (pa.types.is_timestamp, (datetime, np.datetime64)),
    (pa.types.is_date, (date,)),
    (pa.types.is_time, (time,)),
    (pa.types.is_duration, (timedelta, np.timedelta64)),
    (pa.types.is_decimal, (Decimal, int)),
)

Check = Callable[[list[Any], set[type], pa.DataType, str], None]


@lru_cache(maxsize=1024)
def _accepted(arrow_type: pa.DataType) -> tuple[tuple[type, ...], Check | None] | None:
    """Return the Python types for a column, and the further check its values need, if any."""
    types = next((types for matches, types in _EXACT if matches(arrow_type)), None)
    if types is None:
        return None
    if pa.types.is_timestamp(arrow_type):
        return types, _check_moments
    if pa.types.is_duration(arrow_type):
        return types, _check_nanoseconds
    if pa.types.is_float32(arrow_type) or pa.types.is_float16(arrow_type):
        return types, _check_range
    return types, None


def check_types(values: list[Any], arrow_type: pa.DataType, name: str) -> None:
    """Raise ``WrongValue`` unless every value is of a Python type that fits, without a loss.

    >>> check_types([1, None], pa.int64(), "n")
    >>> check_types([1.5], pa.int64(), "n")
    Traceback (most recent call last):
        ...
    penstock.engine.value_types.WrongValue: column 'n' is int64, the function returned a float
    """
    rules = _accepted(arrow_type)
    if rules is None:
        _check_nested(values, arrow_type, name)
        return
    accepted, check_further = rules
    found = set(map(type, values))
    for each in found:
        if each is not _NONE and not _fits(each, accepted):
            raise _wrong(name, arrow_type, f"a {each.__name__}")
    if check_further is not None:
        present = [value for value in values if value is not None] if _NONE in found else values
        check_further(present, found, arrow_type, name)


def _fits(found: type, accepted: tuple[type, ...]) -> bool:
    """Python says that a bool is an int and a datetime a date; a column says they are not."""
    return issubclass(found, accepted) and all(
        special in accepted or not issubclass(found, special) for special in (bool, datetime)
    )


def _wrong(name: str, arrow_type: pa.DataType, returned: str) -> WrongValue:
    return WrongValue(f"column '{name}' is {arrow_type}, the function returned {returned}")


_zone = attrgetter("tzinfo")


def _check_moments(values: list[Any], found: set[type], arrow_type: pa.DataType, name: str) -> None:
    """A moment has a zone and a time on the wall has none: guessing one shifts it by hours."""
    if any(each.__name__ == "NaTType" for each in found):
        raise _wrong(name, arrow_type, "a NaT: return None")
    zones: Iterable[Any] = map(_zone, values)
    if any(issubclass(each, np.datetime64) for each in found):  # NumPy's have no zone to ask for
        zones = [getattr(value, "tzinfo", None) for value in values]
    if arrow_type.tz is not None and not all(zones):  # no loop of Python's own: 20 ns a value
        remedy = "return an aware datetime, e.g. datetime(..., tzinfo=UTC)"
        raise _wrong(name, arrow_type, f"one without a time zone: {remedy}")
    if arrow_type.tz is None and any(zones):
        raise _wrong(name, arrow_type, "one with a time zone: return a naive datetime")
    _check_nanoseconds(values, found, arrow_type, name)


def _check_nanoseconds(
    values: list[Any], found: set[type], arrow_type: pa.DataType, name: str
) -> None:
    """Only the datetimes of pandas have nanoseconds, and Arrow would cut them off."""
    if arrow_type.unit == "ns" or found <= {datetime, timedelta, _NONE}:
        return
    for value in values:
        if getattr(value, "nanosecond", 0) or getattr(value, "nanoseconds", 0):
            remedy = "write .round('us')" if arrow_type.unit == "us" else "round it"
            raise _wrong(name, arrow_type, f"one with nanoseconds: {remedy}")


def _check_range(values: list[Any], _: set[type], arrow_type: pa.DataType, name: str) -> None:
    wide = np.array(values, np.float64)
    with np.errstate(over="ignore"):
        narrow = wide.astype(arrow_type.to_pandas_dtype())
    too_big = np.isinf(narrow) & np.isfinite(wide)
    if too_big.any():
        raise _wrong(name, arrow_type, f"{wide[too_big][0]}, which is too big for it")


def _check_nested(values: list[Any], arrow_type: pa.DataType, name: str) -> None:
    present = [value for value in values if value is not None]
    if pa.types.is_list(arrow_type) or pa.types.is_large_list(arrow_type):
        if any(not isinstance(value, list | tuple | np.ndarray) for value in present):
            raise _wrong(name, arrow_type, "no list")
        check_types(list(chain.from_iterable(present)), arrow_type.value_type, f"{name}[]")
    elif pa.types.is_map(arrow_type):
        pairs = list(chain.from_iterable(_pairs(value, arrow_type, name) for value in present))
        check_types([key for key, _ in pairs], arrow_type.key_type, f"{name}.key")
        check_types([item for _, item in pairs], arrow_type.item_type, f"{name}.value")
    elif pa.types.is_struct(arrow_type):
        if any(not isinstance(value, Mapping) for value in present):
            raise _wrong(name, arrow_type, "no dict")
        for field in arrow_type:
            inner = [value.get(field.name) for value in present]
            check_types(inner, field.type, f"{name}.{field.name}")


def _pairs(value: Any, arrow_type: pa.DataType, name: str) -> Iterable[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        return value.items()
    is_pairs = isinstance(value, list | tuple) and all(
        isinstance(pair, tuple) and len(pair) == 2 for pair in value
    )
    if not is_pairs:
        raise _wrong(name, arrow_type, "neither a dict nor a list of (key, value) tuples")
    return value  # type: ignore[no-any-return]


def check_nulls(array: pa.Array, field: pa.Field, name: str | None = None) -> None:
    """Raise ``WrongValue`` if there is a null where the schema says there is none, also inside.

    >>> inside = pa.struct([pa.field("a", pa.int64(), nullable=False)])
    >>> check_nulls(pa.array([{"a": 1}, None], inside), pa.field("n", inside))
    >>> check_nulls(pa.array([{"a": None}], inside), pa.field("n", inside))
    Traceback (most recent call last):
        ...
    penstock.engine.value_types.WrongValue: column 'n.a' may not be null
    """
    name = field.name if name is None else name
    if array.null_count and not field.nullable:
        raise WrongValue(f"column '{name}' may not be null")
    if not _has_required(field.type):
        return
    present = array.drop_null()  # the children of a null say nothing
    if pa.types.is_struct(field.type):
        for number, child in enumerate(field.type):
            check_nulls(present.field(number), child, f"{name}.{child.name}")
    elif pa.types.is_map(field.type):
        start, stop = (present.offsets[i].as_py() for i in (0, -1))
        items = present.items.slice(start, stop - start)
        check_nulls(items, field.type.item_field, f"{name}.value")
    else:
        check_nulls(present.flatten(), field.type.value_field, f"{name}[]")


@lru_cache(maxsize=1024)
def _has_required(arrow_type: pa.DataType) -> bool:
    """Say whether something inside may not be null (of a map's keys Arrow itself takes care)."""
    if not pa.types.is_nested(arrow_type):
        return False
    if pa.types.is_map(arrow_type):
        inside = [arrow_type.item_field]
    else:
        inside = [arrow_type.field(i) for i in range(arrow_type.num_fields)]
    return any(not each.nullable or _has_required(each.type) for each in inside)
