"""Key groups: rows of one key stay together, and groups of keys move to where there is room."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import fsum
from typing import Any, Literal

from penstock.arguments import is_finite
from penstock.errors import ConfigurationError
from penstock.placement.flux import Move, rebalanced, task_loads
from penstock.placement.group_table import GroupTable
from penstock.placement.placement import Border
from penstock.placement.round_robin import RoundRobin

Migration = Literal["instant", "smooth", "disruptive"]

MAX_GROUPS = 32_768
# A rebalancing that leaves more of the variance than this is not worth handing groups over.
_WORTHWHILE = 0.9


@dataclass(frozen=True, slots=True)
class KeyGroupState:
    """What is known of an operator's key groups between two micro-batches.

    ``loads`` are the groups' loads, smoothed over batches. ``uneven`` counts the batches in a row
    after which some task had too much.
    """

    table: GroupTable
    loads: tuple[float, ...]
    uneven: int = 0
    is_measured: bool = False

    @classmethod
    def fresh(cls, groups: int, tasks: int) -> KeyGroupState:
        """Return the state before the first batch: groups dealt in turn, nothing known of them."""
        return cls(GroupTable.even(groups, tasks), (0.0,) * groups)

    def to_json(self) -> dict[str, Any]:
        """Write it as plain JSON values."""
        # Six digits are more than a load is measured to, and keep the commit record small.
        loads = [float(f"{load:.6g}") for load in self.loads]
        return {
            "table": self.table.to_json(),
            "loads": loads,
            "uneven": self.uneven,
            "is_measured": self.is_measured,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> KeyGroupState:
        """Read what ``to_json`` wrote; a wrong document is a KeyError, TypeError or ValueError."""
        table = GroupTable.from_json(document["table"])
        loads = tuple(float(load) for load in document["loads"])
        if len(loads) != table.groups:
            raise ValueError(f"{len(loads)} loads for {table.groups} groups")
        return cls(table, loads, int(document["uneven"]), bool(document["is_measured"]))


@dataclass(frozen=True, slots=True)
class KeyGroupDecision:
    """Which groups go to another task from the next micro-batch on, and why."""

    moves: tuple[Move, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class KeyGroups:
    """Keeps the rows of a key together, and moves groups of keys from loaded tasks to idle ones.

    Rows that have no key are dealt in turn, as ``RoundRobin`` does.

    Parameters
    ----------
    groups
        Into how many groups the keys of windowed operators are hashed; ``process`` has a number
        of its own. A group is what moves; there should be several for each task.
    migration
        How the groups of windowed operators move: ``"instant"``, ``"smooth"`` or ``"disruptive"``.
        The state of ``process`` has to be handed over: there it is always disruptive.
    imbalance
        Groups move only when a task has this much more than its share: 0.1 is a tenth.
    patience
        How many micro-batches in a row must be uneven before groups move.
    smoothing
        The weight of the newest micro-batch in the groups' loads, above 0 and at most 1.
    moves
        How many groups may move at once.

    """

    groups: int = 128
    migration: Migration = "instant"
    imbalance: float = 0.10
    patience: int = 2
    smoothing: float = 0.5
    moves: int = 16
    _dealing: RoundRobin = field(default=RoundRobin(), init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_groups(self.groups)
        known = ("instant", "smooth", "disruptive")
        if not isinstance(self.migration, str) or self.migration not in known:
            raise ConfigurationError(
                f"KeyGroups(migration={self.migration!r}) is unknown. Write 'instant', 'smooth' or "
                "'disruptive'."
            )
        if not (is_finite(self.imbalance) and self.imbalance >= 0):
            raise ConfigurationError(
                f"KeyGroups(imbalance={self.imbalance!r}) is no share. Write a number from 0 up: "
                "0.1 moves groups when a task has a tenth more than its share."
            )
        if not (is_finite(self.smoothing) and 0 < self.smoothing <= 1):
            raise ConfigurationError(
                f"KeyGroups(smoothing={self.smoothing!r}) is no weight. Write a number above 0 and "
                "at most 1: 1 looks at the newest micro-batch alone."
            )
        for name, value in (("patience", self.patience), ("moves", self.moves)):
            if type(value) is not int or value < 1:
                raise ConfigurationError(
                    f"KeyGroups({name}={value!r}) is no count. Write a whole number from 1 up."
                )

    def fits(self, border: Border) -> bool:
        """Whether rows that have no key may stay where they are."""
        return self._dealing.fits(border)

    def expression(self, border: Border) -> str | None:
        """Return the SQL expression for the task of a row that has no key."""
        return self._dealing.expression(border)

    def resized(self, state: KeyGroupState, tasks: int) -> tuple[KeyGroupState, KeyGroupDecision]:
        """Spread the groups over the tasks of the batch to come, where their number changed."""
        before = state.table
        if before.tasks == tasks:
            return state, KeyGroupDecision()
        table = before.resized(tasks)
        moves = tuple(
            Move(group, before.owners[group], table.owners[group], state.loads[group])
            for group in before.moved(table)
        )
        reason = (
            f"{_there_are(tasks)} instead of {before.tasks}; {len(moves)} of {table.groups} "
            f"groups move{', so that each task has equally many' if tasks > 1 else ' to it'}"
        )
        return replace(state, table=table, uneven=0), KeyGroupDecision(moves, reason)

    def observe(
        self, state: KeyGroupState, loads_of_batch: Mapping[int, float], tasks: int
    ) -> tuple[KeyGroupState, KeyGroupDecision]:
        """Take in the loads of a batch's groups, and say which move before the next one.

        ``loads_of_batch`` has the groups that had any load, in any unit as long as it stays the
        same. ``tasks`` is how many tasks the next batch is to have. A drift is answered within
        ``patience`` batches and one more; a batch without any load changes nothing.
        """
        state, resizing = self.resized(state, tasks)
        if not fsum(loads_of_batch.values()) > 0:
            return state, resizing
        state = self._smoothed(state, loads_of_batch)
        newest = tuple(loads_of_batch.get(group, 0.0) for group in range(state.table.groups))
        # The newest batch tells whether it lasts, the smoothed loads whether it matters.
        if not (self._is_uneven(state.table, newest) and self._is_uneven(state.table, state.loads)):
            return replace(state, uneven=0), resizing
        state = replace(state, uneven=state.uneven + 1)
        if state.uneven < self.patience:
            return state, resizing
        found = rebalanced(state.table, state.loads, limit=self.moves)
        if not found.moves or found.variance_after > _WORTHWHILE * found.variance_before:
            return state, resizing
        reason = _reason(task_loads(state.table, state.loads), found.moves)
        if resizing.moves:
            reason = f"{resizing.reason}; {reason}"
        moves = _net(resizing.moves, found.moves)
        return replace(state, table=found.table, uneven=0), KeyGroupDecision(moves, reason)

    def rebalanced(self, state: KeyGroupState) -> tuple[KeyGroupState, KeyGroupDecision]:
        """Move groups now, as far as their loads ask for it, however even tasks have been."""
        found = rebalanced(state.table, state.loads, limit=state.table.groups)
        if not state.is_measured or not found.moves:
            return state, KeyGroupDecision()
        reason = _reason(task_loads(state.table, state.loads), found.moves)
        return replace(state, table=found.table, uneven=0), KeyGroupDecision(found.moves, reason)

    def _is_uneven(self, table: GroupTable, loads: tuple[float, ...]) -> bool:
        of_task = task_loads(table, loads)
        return max(of_task) > (1 + self.imbalance) * fsum(of_task) / table.tasks

    def _smoothed(self, state: KeyGroupState, batch: Mapping[int, float]) -> KeyGroupState:
        weight = self.smoothing if state.is_measured else 1.0
        loads = tuple(
            weight * batch.get(group, 0.0) + (1 - weight) * load
            for group, load in enumerate(state.loads)
        )
        return replace(state, loads=loads, is_measured=True)


def check_groups(groups: object, where: str = "KeyGroups(groups={})") -> None:
    """Raise unless this is a number of key groups; ``where`` shows what was written."""
    if type(groups) is not int or not 1 <= groups <= MAX_GROUPS:
        raise ConfigurationError(
            f"{where.format(repr(groups))} is no number of key groups. Write a whole number from 1 "
            f"to {MAX_GROUPS:,}, several for each task there may ever be."
        )


def _there_are(tasks: int) -> str:
    return "there is 1 task" if tasks == 1 else f"there are {tasks} tasks"


def _reason(of_task: list[float], moves: tuple[Move, ...]) -> str:
    total = fsum(of_task)
    heaviest = max(range(len(of_task)), key=lambda task: (of_task[task], -task))
    shown = max(moves, key=lambda move: (move.load, -move.group))
    others = f" and {len(moves) - 1} more move" if len(moves) > 1 else " moves"
    example = ", it" if len(moves) > 1 else ""
    return (
        f"task {heaviest} had {_percent(of_task[heaviest] / total)} of the load of "
        f"{len(of_task)} tasks; group {shown.group} ({_percent(shown.load / total)}){others}"
        f"{example} from task {shown.source} to {shown.target}"
    )


def _net(first: tuple[Move, ...], then: tuple[Move, ...]) -> tuple[Move, ...]:
    """Put two rounds of moves together: each group from where it was to where it ends."""
    found = {move.group: move for move in first}
    for move in then:
        before = found.get(move.group)
        found[move.group] = move if before is None else replace(move, source=before.source)
    moves = [found[group] for group in sorted(found)]
    return tuple(move for move in moves if move.source != move.target)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
