"""What keys cost in one task, gathered in a Spark Python worker; nothing here imports Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from heapq import nlargest

import pyarrow as pa

from penstock.engine.heavy_keys import SHOWN, HeavyKey, hash_text, key_text

HEAVIEST = 32


@dataclass(frozen=True, slots=True)
class KeyLoads:
    """The load of a task's key groups, and of its heaviest keys by their hash, in seconds."""

    groups: Mapping[int, float]
    heaviest: Mapping[int, float]


@dataclass(slots=True)
class LoadsByKey:
    """Adds up what each key of a task costs; ``groups`` is how many key groups there are."""

    groups: int
    _nanos: dict[int, int] = field(default_factory=dict)
    _rows: dict[int, int] = field(default_factory=dict)
    _texts: dict[int, str] = field(default_factory=dict)

    def add(self, key_hash: int, nanos: int, rows: int = 1) -> None:
        """Add the time of one call."""
        self._nanos[key_hash] = self._nanos.get(key_hash, 0) + nanos
        self._rows[key_hash] = self._rows.get(key_hash, 0) + rows

    def note_texts(self, keys: pa.RecordBatch, places: Mapping[int, int]) -> None:
        """Write down the values of the keys that are heaviest so far.

        ``places`` are the rows of ``keys`` by hash, of the keys that were just added. Those that
        are heaviest in the end were so when they were last added, and are not missed.
        """
        for key_hash, _ in nlargest(SHOWN, self._nanos.items(), key=lambda each: each[1]):
            if key_hash in places and key_hash not in self._texts:
                self._texts[key_hash] = key_text(keys, places[key_hash])

    def heavy(self) -> tuple[HeavyKey, ...]:
        """Return the heaviest keys for people to see."""
        heaviest = nlargest(SHOWN, self._nanos.items(), key=lambda each: each[1])
        return tuple(
            HeavyKey(key, nanos / 1e9, self._rows[key], self._texts.get(key) or hash_text(key))
            for key, nanos in heaviest
        )

    def result(self) -> KeyLoads:
        """Return what goes to the driver: however many keys there are, it stays small."""
        groups: dict[int, float] = {}
        for key_hash, nanos in self._nanos.items():
            group = key_hash % self.groups  # as Spark's pmod
            groups[group] = groups.get(group, 0.0) + nanos / 1e9
        heaviest = nlargest(HEAVIEST, self._nanos.items(), key=lambda each: each[1])
        return KeyLoads(groups, {key: nanos / 1e9 for key, nanos in heaviest})
