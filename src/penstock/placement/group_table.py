"""Which task owns which key group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MOST_TASKS = 1_000_000
"""More than any cluster has; a table out of a damaged checkpoint must not be counted for ever."""


@dataclass(frozen=True, slots=True)
class GroupTable:
    """The task that owns each key group: ``owners[group]`` is from 0 to ``tasks - 1``.

    >>> table = GroupTable.even(groups=5, tasks=2)
    >>> table.owners
    (0, 1, 0, 1, 0)
    >>> table.moved(table.resized(3))
    (4,)
    """

    owners: tuple[int, ...]
    tasks: int

    def __post_init__(self) -> None:
        if type(self.tasks) is not int or not 1 <= self.tasks <= MOST_TASKS:
            raise ValueError(f"key groups have 1 to {MOST_TASKS} tasks, not {self.tasks!r:.40}")
        for group, owner in enumerate(self.owners):
            if type(owner) is not int or not 0 <= owner < self.tasks:
                raise ValueError(f"group {group} is owned by {owner!r}, of {self.tasks} tasks")

    @classmethod
    def even(cls, groups: int, tasks: int) -> GroupTable:
        """Deal groups to tasks in turn."""
        return cls(tuple(group % tasks for group in range(groups)), tasks)

    @property
    def groups(self) -> int:
        """How many key groups there are."""
        return len(self.owners)

    def of_task(self, task: int) -> tuple[int, ...]:
        """Return the groups that a task owns."""
        return tuple(group for group, owner in enumerate(self.owners) if owner == task)

    def moved(self, other: GroupTable) -> tuple[int, ...]:
        """Return the groups that another table gives to another task."""
        pairs = zip(self.owners, other.owners, strict=True)
        return tuple(group for group, (here, there) in enumerate(pairs) if here != there)

    def resized(self, tasks: int) -> GroupTable:
        """Spread the groups over another number of tasks by the fewest moves.

        Afterwards no task has two groups more than another. A table that has as many tasks already
        is left as it is, however uneven: its groups may lie where their load wants them.
        """
        if tasks == self.tasks:
            return self
        owned: list[list[int]] = [[] for _ in range(tasks)]
        homeless: list[int] = []
        for group, owner in enumerate(self.owners):
            (owned[owner] if owner < tasks else homeless).append(group)
        quotas = _quotas([len(groups) for groups in owned], self.groups)
        for groups, quota in zip(owned, quotas, strict=True):
            homeless += groups[quota:]
        owners = list(self.owners)
        left = iter(sorted(homeless))
        for task, (groups, quota) in enumerate(zip(owned, quotas, strict=True)):
            for _ in range(quota - len(groups)):
                owners[next(left)] = task
        return GroupTable(tuple(owners), tasks)

    def to_json(self) -> dict[str, Any]:
        """Write it as plain JSON values."""
        return {"owners": list(self.owners), "tasks": self.tasks}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> GroupTable:
        """Read what ``to_json`` wrote; a wrong document is a KeyError, TypeError or ValueError."""
        return cls(tuple(document["owners"]), document["tasks"])


def _quotas(counts: list[int], groups: int) -> list[int]:
    """Say how many groups each task is to own; who has most keeps the odd ones."""
    base, odd = divmod(groups, len(counts))
    by_count = sorted(range(len(counts)), key=lambda task: (-counts[task], task))
    larger = set(by_count[:odd])
    return [base + (task in larger) for task in range(len(counts))]
