"""Where rows went: the hottest keys, who owns key groups, and what was changed about it."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from penstock.journal.events import HotKeysChanged, KeyGroupsMoved, PlacementChanged
from penstock.journal.placement_events import HottestKeys, KeyGroupsPlaced

KEPT_CHANGES = 500
KEPT_MOVES = 500
MOST_GROUPS = 2_000
MOST_OPERATORS = 200


class PlacementChange(NamedTuple):
    """Something that changed about where rows go, in a sentence."""

    at_seconds: float
    batch_id: int
    operator: str
    what: str
    reason: str


class GroupsMoved(NamedTuple):
    """Key groups that went from one task to another at once; of very many, the first."""

    at_seconds: float
    batch_id: int
    operator: str
    groups: tuple[int, ...]
    source: int
    target: int
    reason: str


class PlacementSeen:
    """What a journal tells of placement, by operator."""

    def __init__(self) -> None:
        self.hottest: dict[str, HottestKeys] = {}
        self.owners: dict[str, KeyGroupsPlaced] = {}
        self.moved_groups = 0
        self.moves: deque[GroupsMoved] = deque(maxlen=KEPT_MOVES)
        self.changes: deque[PlacementChange] = deque(maxlen=KEPT_CHANGES)

    def hot(self, at_seconds: float, told: HottestKeys) -> None:
        """Take in the keys with most of the load."""
        if told.operator in self.hottest or len(self.hottest) < MOST_OPERATORS:
            self.hottest[told.operator] = told

    def placed(self, at_seconds: float, told: KeyGroupsPlaced) -> None:
        """Take in who owns each key group."""
        if told.operator in self.owners or len(self.owners) < MOST_OPERATORS:
            self.owners[told.operator] = told

    def moved(self, at_seconds: float, told: KeyGroupsMoved) -> None:
        """Take in that key groups moved."""
        count = len(told.moves)
        self.moved_groups += count
        routes: dict[tuple[int, int], list[int]] = {}
        for move in told.moves:
            groups = routes.setdefault((move.source, move.target), [])
            if len(groups) < MOST_GROUPS:
                groups.append(move.group)
        self.moves.extend(
            GroupsMoved(
                at_seconds, told.batch_id, told.operator, tuple(groups), *route, told.reason
            )
            for route, groups in sorted(routes.items())
        )
        what = f"{count} key {'group' if count == 1 else 'groups'} moved, {told.migration}"
        self._changed(at_seconds, told.batch_id, told.operator, what, told.reason)

    def hot_keys(self, at_seconds: float, told: HotKeysChanged) -> None:
        """Take in that other keys are split over all tasks."""
        what = f"{told.keys} hot {'key' if told.keys == 1 else 'keys'} split over all tasks"
        self._changed(at_seconds, told.batch_id, told.operator, what, told.reason)

    def changed(self, at_seconds: float, told: PlacementChanged) -> None:
        """Take in that rows are placed in another way."""
        what = f"placed {told.placement}"
        self._changed(at_seconds, told.batch_id, told.component, what, told.reason)

    def _changed(
        self, at_seconds: float, batch_id: int, operator: str, what: str, reason: str
    ) -> None:
        self.changes.append(PlacementChange(at_seconds, batch_id, operator, what, reason))
