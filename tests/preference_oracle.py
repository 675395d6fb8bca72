"""Skylines by their definition, row against row: what every faster way has to give."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

Rows = Sequence[dict[str, Any]]


def numbers(
    row: dict[str, Any], minimize: Iterable[str], maximize: Iterable[str]
) -> tuple[Any, ...]:
    """A row's numbers, smaller is better, each after whether it is missing."""

    def one(value: Any, sign: int) -> tuple[bool, Any]:
        gone = value is None or (isinstance(value, float) and math.isnan(value))
        return (gone, 0 if gone else sign * value)

    return (*(one(row[name], 1) for name in minimize), *(one(row[name], -1) for name in maximize))


def dominates(one: Sequence[Any], other: Sequence[Any]) -> bool:
    pairs = list(zip(one, other, strict=True))
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


def k_dominates(one: Sequence[Any], other: Sequence[Any], k: int) -> bool:
    pairs = list(zip(one, other, strict=True))
    return sum(a <= b for a, b in pairs) >= k and any(a < b for a, b in pairs)


def skyline(rows: Rows, minimize: Iterable[str] = (), maximize: Iterable[str] = ()) -> Rows:
    """The rows that no other row dominates."""
    minimize, maximize = list(minimize), list(maximize)
    points = [numbers(row, minimize, maximize) for row in rows]
    return [
        row
        for row, point in zip(rows, points, strict=True)
        if not any(dominates(other, point) for other in points)
    ]


def top_dominant(
    rows: Rows, delta: int, minimize: Iterable[str] = (), maximize: Iterable[str] = ()
) -> tuple[Rows, int]:
    """The k-dominant rows for the smallest k of which there are delta, and that k."""
    minimize, maximize = list(minimize), list(maximize)
    points = [numbers(row, minimize, maximize) for row in rows]
    found: Rows = []
    columns = len(points[0]) if points else 0
    for k in range(1, columns + 1):
        found = [
            row
            for row, point in zip(rows, points, strict=True)
            if not any(k_dominates(other, point, k) for other in points)
        ]
        if len(found) >= delta:
            return found, k
    return found, columns
