"""Values kept in memory: the most recently used, for so long.

Executors may have nothing but Spark and Arrow, so that this is no library's.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

ABSENT = object()
"""What is found where nothing is kept, as None may be kept."""


class KeptValues:
    """At most so many values; the one that was not used for longest goes first.

    >>> kept = KeptValues(2, None, lambda: 0.0)
    >>> for key in "ab":
    ...     kept.put(key, key.upper(), 0.0)
    >>> kept.get("a")
    'A'
    >>> kept.put("c", "C", 0.0)
    >>> kept.get("b") is ABSENT, len(kept)
    (True, 2)
    """

    def __init__(
        self, max_entries: int, ttl_seconds: float | None, clock: Callable[[], float]
    ) -> None:
        self._max_entries = max_entries
        self._ttl_seconds = ttl_seconds
        self._clock = clock
        self._values: OrderedDict[Hashable, tuple[Any, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Hashable) -> Any:
        """Return a value that is kept and not too old, or ``ABSENT``."""
        found = self._values.get(key)
        if found is None:
            return ABSENT
        value, kept_at = found
        if self._ttl_seconds is not None and self._clock() - kept_at >= self._ttl_seconds:
            del self._values[key]
            return ABSENT
        self._values.move_to_end(key)
        return value

    def put(self, key: Hashable, value: Any, loaded_at: float) -> None:
        """Keep a value as of when it was asked for."""
        self._values[key] = (value, loaded_at)
        self._values.move_to_end(key)
        while len(self._values) > self._max_entries:
            self._values.popitem(last=False)
