"""What keys cost in one task, gathered in a Spark Python worker; nothing here imports Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from heapq import nlargest

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

    def add(self, key_hash: int, nanos: int) -> None:
        """Add the time of one call."""
        self._nanos[key_hash] = self._nanos.get(key_hash, 0) + nanos

    def result(self) -> KeyLoads:
        """Return what goes to the driver: however many keys there are, it stays small."""
        groups: dict[int, float] = {}
        for key_hash, nanos in self._nanos.items():
            group = key_hash % self.groups  # as Spark's pmod
            groups[group] = groups.get(group, 0.0) + nanos / 1e9
        heaviest = nlargest(HEAVIEST, self._nanos.items(), key=lambda each: each[1])
        return KeyLoads(groups, {key: nanos / 1e9 for key, nanos in heaviest})
