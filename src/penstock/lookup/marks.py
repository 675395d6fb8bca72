"""What keys are told apart by, as Python takes some for equal that mean different things."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from datetime import datetime, time
from decimal import Decimal
from typing import Any

_THEMSELVES = frozenset({int, str, bytes, type(None)})


def mark_of(key: Any) -> Hashable:
    """Return what stands for a key, and for no other that means something else.

    An hour that comes twice, when summer time ends, is two. All that is no number is one.

    >>> mark_of(7), mark_of(True) == mark_of(1), mark_of(float("nan")) == mark_of(float("nan"))
    (7, False, True)
    >>> mark_of(0.0) == mark_of(-0.0), mark_of((1, 2)) == mark_of((1, True))
    (False, False)
    """
    kind = type(key)
    if kind in _THEMSELVES:
        return key  # type: ignore[no-any-return]
    if isinstance(key, float):
        return kind, float.hex(key)
    if isinstance(key, Decimal) and not key.is_snan():  # which no dict takes as a key
        return kind, None if key.is_nan() else key.as_tuple()
    if isinstance(key, tuple):
        return (kind, *map(mark_of, key))
    if isinstance(key, frozenset):
        return kind, frozenset(map(mark_of, key))
    if isinstance(key, datetime | time) and key.tzinfo is not None:
        return kind, key.replace(tzinfo=None, fold=0), key.utcoffset()
    return kind, key


def without_equals(keys: dict[Hashable, Any]) -> Iterator[dict[Hashable, Any]]:
    """Share keys by mark out to dicts in which none is equal to another: all to one, mostly.

    >>> list(without_equals({1: 1, (bool, True): True, 2: 2}))
    [{1: 1, 2: 2}, {(<class 'bool'>, True): True}]
    """
    while keys:
        first: dict[Any, Hashable] = {}
        for mark, key in keys.items():
            first.setdefault(key, mark)
        now = {mark: keys[mark] for mark in first.values()}
        yield now
        keys = {mark: key for mark, key in keys.items() if mark not in now}
