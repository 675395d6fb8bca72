"""What a task of a keyed operator tells the driver."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.engine.state_manifest import StateFile


@dataclass(slots=True)
class GroupTally:
    """What one key group cost in a task; no timer of it comes before ``next_timer_micros``."""

    rows: int = 0
    keys: int = 0
    busy_nanos: int = 0
    next_timer_micros: int | None = None


@dataclass(slots=True)
class KeyedTally:
    """What a task did with the state of its groups.

    ``fetched_bytes`` had to come from elsewhere before the task could begin. ``is_whole`` says
    whether all of the task's rows were taken; only then do its files count.
    """

    groups: dict[int, GroupTally] = field(default_factory=dict)
    files: list[StateFile] = field(default_factory=list)
    fetched_bytes: int = 0
    fetch_nanos: int = 0
    is_whole: bool = False
