"""Where the rows of a keyed operator go: to the task that owns the group of their key."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.engine.columns import HASH, PANE, TASK
from penstock.engine.key_loads import KeyLoads
from penstock.engine.keyed_rows import key_hash, owner
from penstock.engine.row_hash import row_hash
from penstock.journal.events import HotKeysChanged, KeyGroupsMoved, KnownEvent
from penstock.journal.placement_events import KeyGroupsPlaced
from penstock.placement.group_table import GroupTable
from penstock.placement.hot_keys import HotKeys
from penstock.placement.key_groups import KeyGroupDecision, KeyGroups, KeyGroupState


@dataclass(frozen=True, slots=True)
class _HotChange:
    """How many keys are hot from now on, and why."""

    keys: int
    reason: str


class KeyGrouping:
    """The key groups of one windowed operator.

    A key that no table can balance goes to all tasks in turn: its partials are merged like those of
    any other.
    """

    def __init__(self, placement: KeyGroups, operator: str, document: Mapping[str, Any]) -> None:
        self.placement = placement
        self._operator = operator
        self._state: KeyGroupState | None = None
        self._hot = HotKeys()
        self._before: GroupTable | None = None
        self._boundary = 0
        self._news: list[KeyGroupDecision | _HotChange] = []
        self._untold: list[KeyGroupDecision | _HotChange] = []
        self._told_owners: tuple[int, ...] = ()
        with contextlib.suppress(KeyError, TypeError, ValueError, AttributeError):
            state = KeyGroupState.from_json(document["state"])
            if state.table.groups == placement.groups:
                self._state = state
                self._hot = HotKeys.from_json(document["hot"])

    @property
    def hands_over(self) -> bool:
        """Whether groups have just moved, and what they left behind must be merged first."""
        is_disruptive = self.placement.migration == "disruptive"
        return is_disruptive and any(isinstance(each, KeyGroupDecision) for each in self._news)

    def place(self, df: DataFrame, keys: Sequence[str], tasks: int, *, ordered: bool) -> DataFrame:
        """Move rows to the tasks of their keys; adds ``HASH``, the number of each row's key."""
        state = self._state or KeyGroupState.fresh(self.placement.groups, tasks)
        self._state, resizing = self.placement.resized(state, tasks)
        self._tell(resizing)
        hashed = df.withColumn(HASH, key_hash(df.schema, keys))
        task = owner(self._state.table)
        if self._before is not None and self._before.tasks == tasks:
            later = F.col(PANE) >= F.lit(self._boundary)
            task = F.when(later, task).otherwise(owner(self._before))
        if self._hot.keys:
            turn = F.pmod(_row_number(df, ordered), F.lit(tasks)).cast("int")
            is_hot = F.col(HASH).isin(*[F.lit(key) for key in self._hot.keys])
            task = F.when(is_hot, turn).otherwise(task)
        marked = hashed.withColumn(TASK, task)
        return marked.repartitionById(tasks, F.col(TASK)).drop(TASK)

    def learn(self, loads: Sequence[KeyLoads], tasks: int, next_window: int, closed: int) -> None:
        """Take in what the tasks of a batch measured.

        ``next_window`` is the pane at which the next windows begin, ``closed`` the one up to which
        they are closed.
        """
        if self._before is not None and closed >= self._boundary:
            self._before = None  # no row of an earlier window can come any more
        if not loads or self._state is None:
            return
        groups, heaviest = (
            _summed([each.groups for each in loads]),
            _summed([each.heaviest for each in loads]),
        )
        of_groups = [groups.get(group, 0.0) for group in range(self.placement.groups)]
        self._hot, change = self._hot.observe(of_groups, heaviest, tasks)
        if change:
            self._news.append(_HotChange(len(self._hot.keys), change))
        for key in self._hot.keys:
            group = key % self.placement.groups
            groups[group] = max(0.0, groups.get(group, 0.0) - heaviest.get(key, 0.0))
        before = self._state.table
        self._state, decision = self.placement.observe(self._state, groups, tasks)
        if decision.moves and self.placement.migration == "smooth" and self._before is None:
            self._before, self._boundary = before, next_window
        self._tell(decision)

    def events(self, batch_id: int, pause_seconds: float) -> Iterator[KnownEvent]:
        """Yield what has changed; ``pause_seconds`` is how long the batch waited for it."""
        migration = self.placement.migration
        told, self._news = self._news, []
        if migration == "disruptive":  # how long it takes is known a batch later
            told, self._untold = self._untold, told
        for each in told:
            if isinstance(each, _HotChange):
                yield HotKeysChanged(batch_id, self._operator, each.keys, each.reason)
            else:
                yield KeyGroupsMoved(
                    batch_id, self._operator, each.moves, each.reason, migration, pause_seconds
                )
        if self._state is not None and self._state.table.owners != self._told_owners:
            self._told_owners = self._state.table.owners
            yield KeyGroupsPlaced(batch_id, self._operator, self._told_owners)

    def to_json(self) -> dict[str, Any]:
        """Write it as plain JSON values.

        Rows of both sides of a smooth migration may be anywhere, so that it need not be kept.
        """
        return (
            {}
            if self._state is None
            else {
                "state": self._state.to_json(),
                "hot": self._hot.to_json(),
            }
        )

    def _tell(self, decision: KeyGroupDecision) -> None:
        if decision.moves:
            self._news.append(decision)


def _row_number(df: DataFrame, ordered: bool) -> Column:
    """Return a number for a row that is the same again when its partition is computed again."""
    if ordered:
        return F.monotonically_increasing_id()
    return row_hash(df.schema)


def _summed(parts: Sequence[Mapping[int, float]]) -> dict[int, float]:
    total: dict[int, float] = {}
    for part in parts:
        for key, load in part.items():
            total[key] = total.get(key, 0.0) + load
    return total
