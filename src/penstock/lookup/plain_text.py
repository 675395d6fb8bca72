"""Keys and values as text, and exactly themselves again; what can't be is for this process alone.

JSON, in which a list is ``[tag, ...]`` and tells of what type the rest is.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

_AS_THEY_ARE = frozenset({type(None), bool, int, float, str})


class NotPlain(Exception):
    """A value of a type that text does not tell."""


def as_text(value: Any) -> str:
    """Return the text of a value; equal texts are of equal values of equal types.

    >>> as_text({"city": "Bonn", "opened": date(2024, 5, 1)})
    '["dict","city","Bonn","opened",["date","2024-05-01"]]'
    >>> of_text(as_text((1, [2.5, None], b"x")))
    (1, [2.5, None], b'x')
    """
    return json.dumps(_coded(value), separators=(",", ":"))


def of_text(text: str) -> Any:
    """Return the value of a text."""
    return _decoded(json.loads(text))


def _coded(value: Any) -> Any:
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return value
    if kind is dict:
        return ["dict", *(_coded(each) for item in value.items() for each in item)]
    if kind is list or kind is tuple:
        return [kind.__name__, *map(_coded, value)]
    if kind not in _TO_TEXT:
        raise NotPlain(f"a {kind.__name__}")
    return [kind.__name__, *_TO_TEXT[kind](value)]


def _decoded(coded: Any) -> Any:
    if not isinstance(coded, list):
        return coded
    tag, *rest = coded
    if tag == "dict":
        parts = map(_decoded, rest)
        return dict(zip(parts, parts, strict=True))
    if tag == "list":
        return [_decoded(each) for each in rest]
    if tag == "tuple":
        return tuple(_decoded(each) for each in rest)
    return _OF_TEXT[tag](*rest)


def _of_datetime(moment: datetime) -> tuple[str, str | None, int]:
    """Return a moment's wall clock, its zone's name, and which of two equal hours it is in."""
    zone = moment.tzinfo
    if zone is None or _is_offset(zone):
        return moment.isoformat(), None, moment.fold
    if type(zone) is ZoneInfo and zone.key is not None:
        return moment.replace(tzinfo=None).isoformat(), zone.key, moment.fold
    raise NotPlain(f"a time in {zone!r}")


def _to_datetime(text: str, zone: str | None, fold: int) -> datetime:
    moment = datetime.fromisoformat(text).replace(fold=fold)
    return moment if zone is None else moment.replace(tzinfo=ZoneInfo(zone))


def _of_time(moment: time) -> tuple[str, int]:
    if moment.tzinfo is not None and not _is_offset(moment.tzinfo):
        raise NotPlain(f"a time in {moment.tzinfo!r}")
    return moment.isoformat(), moment.fold


def _is_offset(zone: tzinfo) -> bool:
    """Whether a zone is an offset and nothing more, such as a name of its own."""
    return type(zone) is timezone and repr(zone) == repr(timezone(zone.utcoffset(None)))


_TO_TEXT: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    bytes: lambda value: (value.hex(),),
    Decimal: lambda value: (str(value),),
    UUID: lambda value: (str(value),),
    date: lambda value: (value.isoformat(),),
    datetime: _of_datetime,
    time: _of_time,
    timedelta: lambda value: (value.days, value.seconds, value.microseconds),
}
_OF_TEXT: dict[str, Callable[..., Any]] = {
    "bytes": bytes.fromhex,
    "Decimal": Decimal,
    "UUID": UUID,
    "date": date.fromisoformat,
    "datetime": _to_datetime,
    "time": lambda text, fold: time.fromisoformat(text).replace(fold=fold),
    "timedelta": timedelta,
}
