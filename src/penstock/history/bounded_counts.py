"""Counts by name that stay few, whatever names come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)
MOST_NAMES = 500


class BoundedCounts(Generic[T]):
    """Adds up by name; names beyond a bound are added up as one.

    >>> counts = BoundedCounts[str]("others", most=2)
    >>> for name in ("a", "b", "c", "a", "d"):
    ...     counts.add(name, 1)
    >>> counts.largest()
    [('a', 2), ('others', 2), ('b', 1)]
    """

    def __init__(self, others: T, most: int = MOST_NAMES) -> None:
        self._others = others
        self._most = most
        self._counts: Counter[T] = Counter()

    def add(self, name: T, count: int) -> None:
        """Add to a name's count."""
        known = name in self._counts or len(self._counts) < self._most
        self._counts[name if known else self._others] += count

    @property
    def total(self) -> int:
        """The sum over all names."""
        return self._counts.total()

    def largest(self) -> list[tuple[T, int]]:
        """Return all names with their counts, the largest first."""
        return self._counts.most_common()
