"""The keys that took a task most of its time, with their values as text, for people to see.

Gathered in Spark's Python workers: nothing here imports Spark, and however many keys there are,
little is kept and sent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from heapq import nlargest

import pyarrow as pa

from penstock.errors import text_of

SHOWN = 10
MOST_LETTERS = 80
_KEPT = 1_000


@dataclass(frozen=True, slots=True)
class HeavyKey:
    """A key by the hash of its value, what its rows took in one task, and the value as text.

    Where the time of single rows is not known ``seconds`` is 0, and ``rows`` tell what is.
    """

    number: int
    seconds: float
    rows: int
    text: str


@dataclass(slots=True)
class HeavyKeys:
    """Adds up what keys take in a task."""

    _by_number: dict[int, HeavyKey] = field(default_factory=dict)

    def add(self, number: int, seconds: float, rows: int, text: Callable[[], str]) -> None:
        """Add rows of a key; ``text`` is called once for each key."""
        known = self._by_number.get(number)
        if known is None:
            self._by_number[number] = HeavyKey(number, seconds, rows, text())
            if len(self._by_number) > _KEPT:  # those that are light so far are forgotten
                self._by_number = {each.number: each for each in self._heaviest(_KEPT // 2)}
        else:
            self._by_number[number] = replace(
                known, seconds=known.seconds + seconds, rows=known.rows + rows
            )

    def result(self) -> tuple[HeavyKey, ...]:
        """Return what goes to the driver: the heaviest first."""
        return tuple(self._heaviest(SHOWN))

    def _heaviest(self, count: int) -> list[HeavyKey]:
        return nlargest(count, self._by_number.values(), key=lambda each: (each.seconds, each.rows))


def hash_text(number: int) -> str:
    """Name a key by its hash, where its value is not known.

    >>> hash_text(-1)
    '#ffffffff'
    """
    return f"#{number % 2**64 >> 32:08x}"


def key_text(keys: pa.RecordBatch, row: int) -> str:
    """Write the key of a row as people would: its values, one after the other.

    >>> keys = pa.record_batch({"user": ["anna", None], "day": [3, 4]})
    >>> key_text(keys, 0), key_text(keys, 1)
    ('anna, 3', 'null, 4')
    """
    try:
        values = [column[row].as_py() for column in keys.columns]
    except Exception:  # a moment beyond what Python can hold, for example
        return "(a value that Python can't hold)"
    text = ", ".join("null" if value is None else text_of(value) for value in values)
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"
