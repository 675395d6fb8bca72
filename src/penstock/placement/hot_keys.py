"""Keys that are too much for one task, and are split over all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any

LUMP = 1.1
CRUMB = 0.3
COOLED = 0.5
MOST = 64


@dataclass(frozen=True, slots=True)
class HotKeys:
    """The keys, by their hash, whose rows go to all tasks in turn.

    A group that has more load than there is for one task, hot keys apart, is a lump that no table
    could balance; its heaviest keys are hot, until what is left of it fits, or is less than
    ``CRUMB`` of a task's share of everything. A key stays hot until its group falls below
    ``COOLED`` of that, so that it does not go back and forth. Only where results of parts of a key
    can be merged may it be split.
    """

    keys: tuple[int, ...] = ()

    def observe(
        self, groups: Sequence[float], heaviest: Mapping[int, float], tasks: int
    ) -> tuple[HotKeys, str]:
        """Take in a batch's loads of all key groups and of the heaviest keys; say what changed.

        A key's group is its hash modulo the number of groups, which ``groups`` has all of.

        >>> hot, reason = HotKeys().observe((60.0, 40.0), {6: 55.0, 9: 12.0}, tasks=4)
        >>> hot.keys
        (6, 9)
        >>> print(reason)
        2 keys had 67 % of the load and a task should carry 25 %: they are split over 4 tasks
        """
        total = fsum(groups)
        if total <= 0:
            return self, ""
        now = self._too_much(list(groups), heaviest, tasks) if tasks > 1 else ()
        new = [key for key in now if key not in self.keys]
        cooled = [key for key in self.keys if key not in now]
        if not new and not cooled:
            return self, ""
        return HotKeys(now), _reason([heaviest[key] / total for key in new], len(cooled), tasks)

    def _too_much(
        self, left: list[float], heaviest: Mapping[int, float], tasks: int
    ) -> tuple[int, ...]:
        """Take keys out of groups, heaviest first, until no group has too much left."""
        found: list[int] = []
        total = fsum(left)
        crumb = CRUMB * total
        for key in sorted(heaviest, key=lambda key: (-heaviest[key], key)):
            group = key % len(left)
            lump = max(crumb, LUMP * total) / tasks * (COOLED if key in self.keys else 1.0)
            if left[group] > lump and len(found) < MOST:
                left[group] -= heaviest[key]
                total -= heaviest[key]
                found.append(key)
        return tuple(found)

    def to_json(self) -> list[int]:
        """Write it as plain JSON values."""
        return list(self.keys)

    @classmethod
    def from_json(cls, document: Any) -> HotKeys:
        """Read what ``to_json`` wrote."""
        return cls(tuple(int(key) for key in document))


def _reason(shares: list[float], cooled: int, tasks: int) -> str:
    said = []
    if shares:
        what = "one key" if len(shares) == 1 else f"{len(shares)} keys"
        verb = "it is" if len(shares) == 1 else "they are"
        said.append(
            f"{what} had {fsum(shares):.0%} of the load and a task should carry {1 / tasks:.0%}: "
            f"{verb} split over {tasks} tasks"
        )
    if cooled:
        said.append(f"{cooled} {'key fits' if cooled == 1 else 'keys fit'} into a task again")
    return "; ".join(said).replace("%", " %")
