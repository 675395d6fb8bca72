"""What a journal can say of keys: which tasks own them, and which of them are heaviest."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KeyGroupsPlaced:
    """Which task owns each key group of an operator: ``owners[group]`` is the task's number.

    Written when the groups are first placed, and whenever some have moved.
    """

    batch_id: int
    operator: str
    owners: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class HotKey:
    """A key with much of an operator's load: ``share`` of all, from 0 to 1.

    ``key`` is its value as text, cut to 80 characters, or ``#`` and some digits of its hash where
    the value is not known. ``mean_seconds`` is what one of its rows takes, where that is known.
    """

    key: str
    share: float
    mean_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class HottestKeys:
    """The keys that an operator spends most of its time on, heaviest first, 10 at most."""

    batch_id: int
    operator: str
    keys: tuple[HotKey, ...]
