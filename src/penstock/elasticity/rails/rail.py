"""What a guard rail sees, and what it may say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Situation:
    """How things stand when a policy has made its wish.

    ``now_seconds`` only ever grows; ``at_seconds`` is the time of day, in seconds since the epoch.
    ``planned`` slots are those of the last decision, ``in_use`` those that the last micro-batch
    had. ``behind``: more rows wait than one batch's, or the batch took longer than its trigger for
    its rows (``late`` where that alone is why); ``growing``: more rows wait than before.
    ``rows_per_second`` is how fast the last micro-batch, which took ``batch_seconds``, went through
    its rows, ``seconds_per_row`` the slot time each took, and ``arriving_per_second`` how many
    come, over the control interval. The next batch takes ``fixed_seconds``, and
    ``coming_seconds`` of slot time for its rows.
    """

    now_seconds: float
    at_seconds: float
    interval_seconds: float
    planned: int
    in_use: int
    behind: bool = False
    growing: bool = False
    rows_per_second: float = 0.0
    arriving_per_second: float = 0.0
    batch_seconds: float = 0.0
    seconds_per_row: float = 0.0
    late: bool = False
    fixed_seconds: float = 0.0
    coming_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Wait:
    """A length of time: in seconds where the user said so, else in control intervals.

    >>> now = Situation(0.0, 0.0, interval_seconds=10.0, planned=4, in_use=4)
    >>> Wait(intervals=3.0).seconds_at(now), Wait(intervals=3.0, seconds=60.0).seconds_at(now)
    (30.0, 60.0)
    """

    intervals: float
    seconds: float | None = None

    def seconds_at(self, now: Situation) -> float:
        """Return it in seconds."""
        return self.intervals * now.interval_seconds if self.seconds is None else self.seconds


@dataclass(frozen=True, slots=True)
class Held:
    """A rail's word: this many slots instead, and why, as the end of a sentence."""

    slots: int
    why: str


class Rail(Protocol):
    """Keeps a wish within what is safe. Times come from the situation, never from a clock."""

    @property
    def name(self) -> str:
        """What ``Decision.held_by`` calls it."""
        ...

    def hold(self, slots: int, now: Situation) -> Held | None:
        """Return what to do instead of going to ``slots``, or None to let it pass."""
        ...

    def decided(self, slots: int, now: Situation) -> None:
        """Learn what was decided in the end."""
        ...

    def save(self) -> dict[str, Any]:
        """Return all it remembers, in what JSON knows."""
        ...

    def load(self, state: dict[str, Any]) -> None:
        """Take up what ``save`` returned."""
        ...


def in_slots(count: int) -> str:
    """Write a number of slots.

    >>> in_slots(1), in_slots(3)
    ('1 slot', '3 slots')
    """
    return f"{count} slot" if count == 1 else f"{count} slots"
