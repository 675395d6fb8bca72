"""What keys are told apart by, as Python takes some for equal that mean different things."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from datetime import datetime
from decimal import Decimal
from math import isnan
from typing import Any

_THEMSELVES = frozenset({int, str, bytes, type(None)})


def mark_of(key: Any) -> Hashable:
    """Return what stands for a key, and for no other that means something else.

    An hour that comes twice, when summer time ends, is two. All that is no number is one.

    >>> mark_of(7), mark_of(True) == mark_of(1), mark_of(float("nan")) == mark_of(float("nan"))
    (7, False, True)
    """
    kind = type(key)
    if kind in _THEMSELVES:
        return key  # type: ignore[no-any-return]
    if kind is tuple:
        return (tuple, *map(mark_of, key))
    if isinstance(key, datetime) and key.tzinfo is not None:
        return kind, key.replace(tzinfo=None, fold=0), key.utcoffset()
    is_no_number = isnan(key) if kind is float else kind is Decimal and key.is_qnan()
    return (kind, None) if is_no_number else (kind, key)


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
