"""What a keyed operator leaves in the commit record for the next micro-batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.engine.state_manifest import Manifest
from penstock.placement.key_groups import KeyGroupState
from penstock.windows.whole_numbers import in_64_bits


@dataclass(frozen=True, slots=True)
class KeyedState:
    """Who owns the key groups, which files hold their state, and when their timers come.

    ``timers`` are, for every group, a time in microseconds before which no timer of it comes.
    """

    groups: KeyGroupState
    manifest: Manifest = field(default_factory=Manifest)
    timers: tuple[int | None, ...] = ()

    @classmethod
    def fresh(cls, groups: int, tasks: int) -> KeyedState:
        """Return the state before the first micro-batch."""
        return cls(KeyGroupState.fresh(groups, tasks), Manifest(), (None,) * groups)

    def due(self, watermark_micros: int | None) -> frozenset[int]:
        """Return the groups of which timers may have come."""
        if watermark_micros is None:
            return frozenset()
        return frozenset(
            group
            for group, timer in enumerate(self.timers)
            if timer is not None and timer <= watermark_micros
        )

    def to_json(self) -> dict[str, Any]:
        """Write it as plain JSON values."""
        return {
            "groups": self.groups.to_json(),
            "files": self.manifest.to_json(),
            "timers": list(self.timers),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> KeyedState:
        """Read what ``to_json`` wrote; a wrong document is a KeyError, TypeError or ValueError."""
        groups = KeyGroupState.from_json(document["groups"])
        timers = tuple(None if at is None else in_64_bits(int(at)) for at in document["timers"])
        if len(timers) != groups.table.groups:
            raise ValueError(f"{len(timers)} timers for {groups.table.groups} groups")
        return cls(groups, Manifest.from_json(document["files"]), timers)
