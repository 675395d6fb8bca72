"""Keys as a column's type has them: none may become another on its way to the database.

PostgreSQL rounds a number, cuts a text or a time and shifts by its time zone where it is told to
take a value for one of another type. So keys are fitted here first, by the type of the column;
texts are left to PostgreSQL, which reads them as it reads them in SQL.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from math import isfinite, isnan
from numbers import Rational, Real
from struct import pack, unpack
from typing import Any
from uuid import UUID

from penstock.errors import PenstockError

TYPE_OF_KEY = """
WITH RECURSIVE types AS (
    SELECT atttypid AS oid FROM pg_attribute
    WHERE attrelid = %s::regclass AND attname = %s AND NOT attisdropped
    UNION ALL SELECT typbasetype FROM pg_type JOIN types USING (oid) WHERE typtype = 'd'
)
SELECT format_type(oid, -1) FROM pg_type JOIN types USING (oid) WHERE typtype <> 'd'
"""
"""Asks for the type of a column; of a domain it is what the domain is made of, and has no limits.

With -1 it is written as what has any length: character is one letter, and cuts keys.
"""
_CUTTING = {'"char"', "name"}
_UUID = re.compile(r"(\{)?[0-9a-f]{4}(-?[0-9a-f]{4}){7}(?(1)\})", re.IGNORECASE | re.ASCII)


def asked_as(key_type: str) -> str:
    """Return the type that keys for a column are sent as.

    >>> asked_as("name"), asked_as("bigint")
    ('text', 'bigint')
    """
    return "text" if key_type in _CUTTING else key_type


def fitting_key(key: Any, key_type: str) -> list[Any]:
    """Return the key as a column's type has it; nothing, where the type has no such value.

    >>> fitting_key(2.0, "integer"), fitting_key(2.4, "integer"), fitting_key(2.4, "numeric")
    ([2], [], [Decimal('2.4')])
    """
    return _FITTING[key_type](key) if key_type in _FITTING else [key]


def _whole(bits: int, key: Any) -> list[Any]:
    if not _is_number(key):
        return [key]
    is_whole = isinstance(key, Rational) or isfinite(key)
    fits = is_whole and -(2**bits) <= key < 2**bits and key == int(key)
    return [int(key)] if fits and not isinstance(key, bool) else []


def _floating(code: str, key: Any) -> list[Any]:
    if not _is_number(key):
        return [key]
    try:
        (sent,) = unpack(code, pack(code, float(key)))
    except OverflowError:
        return []
    fits = sent == key or isnan(sent)
    return [sent] if fits and not isinstance(key, bool) else []


def _numeric(key: Any) -> list[Any]:
    if isinstance(key, bool):
        return []
    # As PostgreSQL makes it one, it has 15 digits.
    is_binary = isinstance(key, Real) and not isinstance(key, Rational)
    return [Decimal(repr(float(key)))] if is_binary else [key]


def _boolean(key: Any) -> list[Any]:
    return [] if _is_number(key) and not isinstance(key, bool) else [key]


def _uuid(key: Any) -> list[Any]:
    if not isinstance(key, str):
        return [key]
    return [UUID(key)] if _UUID.fullmatch(key) else []


def _date(key: Any) -> list[Any]:
    if isinstance(key, datetime):
        raise _refused(key, "a time", "a date", "Look up by a date, such as key.date()")
    return [key]


def _time(key: Any, *, is_aware: bool) -> list[Any]:
    if isinstance(key, datetime | timedelta):
        write = "key.timetz()" if is_aware else "key.time()"
        raise _refused(key, "no time of day", "one", f"Look up by a time, such as {write}")
    return _of_zone(key, time, is_aware)


def _timestamp(key: Any, *, is_aware: bool) -> list[Any]:
    if is_aware and isinstance(key, date) and not isinstance(key, datetime):
        raise _refused(key, "a date", "a time", "Look up by a time with a time zone")
    return _of_zone(key, datetime, is_aware)


def _of_zone(key: Any, kind: type[datetime | time], is_aware: bool) -> list[Any]:
    """Refuse what the server would take for a time in its own time zone, whichever that is."""
    if not isinstance(key, kind) or (key.utcoffset() is not None) == is_aware:
        return [key]
    if is_aware:
        write = "Write key.replace(tzinfo=...) with the zone that it is in"
        raise _refused(key, "without a time zone", "with one", write)
    write = "Put it in the zone that the column means, and write key.replace(tzinfo=None)"
    raise _refused(key, "with a time zone", "without one", write)


def _refused(key: Any, what: str, column: str, remedy: str) -> PenstockError:
    return PenstockError(f"the key {key!r} is {what}, and the column {column}. {remedy}.")


def _is_number(key: Any) -> bool:
    return isinstance(key, Real | Decimal)


_FITTING: dict[str, Callable[[Any], list[Any]]] = {
    "smallint": partial(_whole, 15),
    "integer": partial(_whole, 31),
    "bigint": partial(_whole, 63),
    "real": partial(_floating, "f"),
    "double precision": partial(_floating, "d"),
    "numeric": _numeric,
    "boolean": _boolean,
    "uuid": _uuid,
    "date": _date,
    "time without time zone": partial(_time, is_aware=False),
    "time with time zone": partial(_time, is_aware=True),
    "timestamp without time zone": partial(_timestamp, is_aware=False),
    "timestamp with time zone": partial(_timestamp, is_aware=True),
}
