"""Flux: which key groups to move so that tasks are loaded evenly.

Tasks are sorted by load. The first gives a group to the last, the second to the last but one, and
so on, each the biggest group that suits, and again from the start until nothing gets better (Enorm,
section 3.2, after the paper on Flux, ICDE 2003).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

from penstock.placement.group_table import GroupTable

# A move that gains less than this part of the squared load is noise of the arithmetic.
_NOISE = 1e-9


@dataclass(frozen=True, slots=True)
class Move:
    """A group that goes from one task to another, with its load."""

    group: int
    source: int
    target: int
    load: float


@dataclass(frozen=True, slots=True)
class Rebalance:
    """A table after its moves, and the variance of the tasks' loads before and after them."""

    table: GroupTable
    moves: tuple[Move, ...]
    variance_before: float
    variance_after: float


def task_loads(table: GroupTable, loads: Sequence[float]) -> list[float]:
    """Return the load of every task, from the load of every group."""
    owned: list[list[float]] = [[] for _ in range(table.tasks)]
    for owner, load in zip(table.owners, loads, strict=True):
        owned[owner].append(load)
    return [fsum(each) for each in owned]


def variance(values: Sequence[float]) -> float:
    """Return the variance of the tasks' loads."""
    mean = fsum(values) / len(values)
    return fsum((value - mean) ** 2 for value in values) / len(values)


def rebalanced(table: GroupTable, loads: Sequence[float], *, limit: int | None = None) -> Rebalance:
    """Move groups until the variance of the tasks' loads stops falling, ``limit`` moves at most.

    ``loads`` has one number for every group, in any unit. Every single move lowers the variance.

    >>> rebalanced(GroupTable((0, 0, 0, 1), 2), [5.0, 2.0, 1.0, 2.0]).moves
    (Move(group=1, source=0, target=1, load=2.0), Move(group=2, source=0, target=1, load=1.0))
    """
    if any(not load >= 0 for load in loads):
        raise ValueError("a group's load is a number from 0 up")
    owners = list(table.owners)
    now = table
    left = table.groups * table.tasks if limit is None else limit
    while left > 0:
        moved = _one_pass(now, loads, owners, left)
        if not moved:
            break
        left -= moved
        now = GroupTable(tuple(owners), table.tasks)
    moves = tuple(
        Move(group, table.owners[group], now.owners[group], loads[group])
        for group in table.moved(now)
    )
    before, after = variance(task_loads(table, loads)), variance(task_loads(now, loads))
    return Rebalance(now, moves, before, after)


def _one_pass(table: GroupTable, loads: Sequence[float], owners: list[int], limit: int) -> int:
    """Pair tasks off, most loaded with least loaded; write new owners, return how many moved."""
    of_task = task_loads(table, loads)
    least_gain = _NOISE * fsum(of_task) ** 2
    order = sorted(range(table.tasks), key=lambda task: (-of_task[task], task))
    moved = 0
    for source, target in zip(order[: table.tasks // 2], reversed(order), strict=False):
        if moved == limit:
            break
        group = _suitable(table, loads, source, of_task[source] - of_task[target], least_gain)
        if group is not None:
            owners[group] = target
            moved += 1
    return moved


def _suitable(
    table: GroupTable, loads: Sequence[float], source: int, gap: float, least_gain: float
) -> int | None:
    """Return the group whose move lowers the variance most, the bigger of two that do so equally.

    A group of load ``l`` that crosses a gap ``d`` lowers the sum of squares by ``2 l (d - l)``,
    most at half the gap. The biggest that lowers it at all would often have to be moved back.
    """
    best, best_rank = None, (least_gain, 0.0)
    for group in table.of_task(source):
        load = loads[group]
        rank = (load * (gap - load), load)
        if rank > best_rank and rank[0] > least_gain:
            best, best_rank = group, rank
    return best
