"""What was found in a checkpoint. Times are seconds since the epoch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that looks wrong and what to do; a note is nothing that needs mending."""

    what: str
    remedy: str
    is_note: bool = False


@dataclass(frozen=True, slots=True)
class HeldSource:
    """How far a source has come; ``behind_seconds``: its watermark behind the clock."""

    name: str
    time_column: str | None
    watermark_seconds: float | None = None
    newest_row_seconds: float | None = None
    behind_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class HeldWindows:
    """The windows of one operator, and the partial results of them in the pane store.

    ``open_windows`` are those that end after what is closed and may have rows; None where their
    lengths can't be read. ``since_seconds`` is when the oldest of the files was written.
    """

    operator: str
    windows: str
    keys: str
    aggregates: str
    segments: int
    rows: int
    bytes: int
    open_windows: int | None = None
    closed_until_seconds: float | None = None
    since_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class HeldKeys:
    """The states of one operator's keys; ``key_count`` is None where files can't be read."""

    operator: str
    keys: str
    files: int
    bytes: int
    key_count: int | None = None
    timers: int = 0


@dataclass(frozen=True, slots=True)
class HeldGroups:
    """Which task owns which key group: how many each has, and the busiest one's share of load."""

    operator: str
    groups: int
    groups_by_task: tuple[int, ...]
    busiest_share: float | None = None


@dataclass(frozen=True, slots=True)
class Learnt:
    """What was learnt and can be learnt anew, by whom, and how much room it takes."""

    owner: str
    kind: str
    bytes: int


@dataclass(frozen=True, slots=True)
class HeldDecision:
    """The decision that shaped the newest micro-batch."""

    slots: int
    reason: str
    tasks: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class HeldRows:
    """Rows that were set aside in the checkpoint; ``rows`` is None where a file can't be read."""

    files: int
    bytes: int
    rows: int | None


@dataclass(frozen=True, slots=True)
class HeldJournal:
    """The event log in the checkpoint."""

    files: int
    bytes: int
    events: int
    corrupt_lines: int
    first_seconds: float | None = None
    last_seconds: float | None = None
    starts: int = 0


@dataclass(frozen=True, slots=True)
class HeldFiles:
    """Files of one kind."""

    kind: str
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Holding:
    """All that a checkpoint holds.

    ``last_batch`` is the newest micro-batch that was committed, None before the first. ``plan`` is,
    by component, the operators that run in it.
    """

    path: str
    query_id: str | None = None
    name: str | None = None
    written_by: str | None = None
    is_running: bool = False
    operators: tuple[str, ...] = ()
    last_batch: int | None = None
    committed_at_seconds: float | None = None
    seen_at_seconds: float = 0.0
    sources: tuple[HeldSource, ...] = ()
    windows: tuple[HeldWindows, ...] = ()
    keyed: tuple[HeldKeys, ...] = ()
    key_groups: tuple[HeldGroups, ...] = ()
    placement: tuple[Learnt, ...] = ()
    policy: Learnt | None = None
    admission: Learnt | None = None
    plan: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    decision: HeldDecision | None = None
    dead_letters: HeldRows | None = None
    shed_rows: HeldRows | None = None
    journal: HeldJournal | None = None
    files: tuple[HeldFiles, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def bytes(self) -> int:
        """The length of all files."""
        return sum(each.bytes for each in self.files)

    @property
    def is_sound(self) -> bool:
        """Whether nothing needs mending."""
        return all(problem.is_note for problem in self.problems)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        return {**asdict(self), "bytes": self.bytes, "is_sound": self.is_sound}
