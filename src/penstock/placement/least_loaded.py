"""Least loaded: every row goes to the task that had the least to do (PSPS, section IV-A)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from penstock.arguments import checked
from penstock.errors import ConfigurationError
from penstock.placement.placement import Border
from penstock.placement.round_robin import ROW_NUMBER, RoundRobin

# No partition has more rows: Spark numbers them with 33 bits.
_MOST_ROWS = 1 << 33
_EXACT_TASKS, _LEVELS = 32, 16


@dataclass(frozen=True, slots=True)
class Turns:
    """From a row on, and until others follow, these tasks take turns."""

    first_row: int
    tasks: tuple[int, ...]


@checked
@dataclass(frozen=True, slots=True)
class LeastLoaded:
    """Levels the tasks: the least utilised gets all rows until it has caught up with the next.

    Utilisations are those of the last interval, by ``after``. A row adds its execution time to its
    task's, and a task that reaches 1 is full. When all are full, and when nothing is known yet,
    tasks take turns as with ``RoundRobin``.

    >>> placement = LeastLoaded().after(rows=(60, 20, 40), execution_seconds=0.01)
    >>> placement.utilisations
    (0.6, 0.2, 0.4)
    """

    interval_seconds: float = 1.0
    utilisations: tuple[float, ...] = ()
    execution_seconds: float = 0.0

    def __post_init__(self) -> None:
        known = (*self.utilisations, self.execution_seconds)
        if not isinstance(self.interval_seconds, int | float) or self.interval_seconds is True:
            raise ConfigurationError(
                f"LeastLoaded(interval_seconds={self.interval_seconds!r}): write seconds, as 1.0."
            )
        if not all(math.isfinite(each) and each >= 0 for each in known):
            raise ConfigurationError(
                f"utilisations of {self.utilisations} and rows of {self.execution_seconds} s can't "
                "be. Give finite numbers of 0 or more."
            )
        if not (math.isfinite(self.interval_seconds) and self.interval_seconds > 0):
            raise ConfigurationError(
                f"LeastLoaded can't look at intervals of {self.interval_seconds} s. "
                "Give interval_seconds of more than 0."
            )

    @checked
    def after(self, rows: Sequence[int], execution_seconds: float) -> LeastLoaded:
        """Return the placement that knows an interval: the rows of each task, the time of a row.

        That is equation 5: utilisation = rows x execution time / interval.
        """
        each = execution_seconds / self.interval_seconds
        used = tuple(count * each for count in rows)
        return replace(self, utilisations=used, execution_seconds=execution_seconds)

    def fits(self, border: Border) -> bool:
        """Rows stay when there are as many partitions as tasks and no task is behind the others."""
        level = len(self._turns(border)) == 1
        return level and RoundRobin().fits(border)

    def expression(self, border: Border) -> str | None:
        """Look up a row's task by its number in its partition.

        Each of the partitions deals its own rows, so each row counts for as many as there are
        partitions. Partitions begin their turns at tasks spread evenly, as with ``RoundRobin``.
        """
        in_turn = RoundRobin().expression(border)
        levelling = self._turns(border)
        if in_turn is None or len(levelling) == 1:
            return in_turn
        partitions = border.partitions or border.tasks
        *cycles, last = [_cycle(now, partitions) for now in levelling]
        ends = [following.first_row for following in levelling[1:]]
        cases = [f"WHEN n < {end} THEN {cycle}" for end, cycle in zip(ends, cycles, strict=True)]
        # The number must be taken for every row: inside CASE, Spark would count only its own rows.
        numbers = f"array({ROW_NUMBER}), array(spark_partition_id())"
        return f"zip_with({numbers}, (n, p) -> CASE {' '.join(cases)} ELSE {last} END)[0]"

    def _turns(self, border: Border) -> list[Turns]:
        """Return who takes turns when, in each partition; a task that is new had nothing to do."""
        had = (*self.utilisations, *[0.0] * border.tasks)[: border.tasks]
        if border.tasks > _EXACT_TASKS:  # a level for each task would be SQL without end
            had = tuple(round(each * _LEVELS) / _LEVELS for each in had)
        partitions = border.partitions or border.tasks
        return turns(had, self.execution_seconds / self.interval_seconds * partitions)


def least_loaded(utilisations: Sequence[float], step: float) -> Iterator[int]:
    """Give the task of one row after the other, for rows that each add ``step`` (algorithm 1).

    >>> chosen = least_loaded((0.5, 0.25, 1.0), step=0.125)
    >>> [next(chosen) for _ in range(10)]
    [1, 1, 0, 1, 0, 1, 0, 1, 0, 1]
    """
    loads = [Fraction(each) for each in utilisations]
    turn = 0
    while True:
        lowest = loads.index(min(loads))
        if loads[lowest] >= 1:
            lowest, turn = turn, (turn + 1) % len(loads)
        else:
            loads[lowest] += Fraction(step)
        yield lowest


def turns(utilisations: Sequence[float], step: float) -> list[Turns]:
    """Return the whole of ``least_loaded`` without going from row to row.

    The lowest task gets rows until it reaches the next one; from then on these two take turns, then
    three, until all are full. All tasks take turns after that. With a step of 0 they do at once.

    >>> turns((0.5, 0.25, 1.0), step=0.125)[0]
    Turns(first_row=0, tasks=(1,))
    """
    everybody = tuple(range(len(utilisations)))
    if not step or len(set(utilisations)) == 1:
        return [Turns(0, everybody)]
    cost, found, row = Fraction(step), list[Turns](), 0
    waiting = sorted((Fraction(load), task) for task, load in enumerate(utilisations) if load < 1)
    members: list[tuple[Fraction, int]] = []
    while waiting and row < _MOST_ROWS:
        lowest = waiting[0][0]
        members = sorted(members + [each for each in waiting if each[0] == lowest])
        waiting = [each for each in waiting if each[0] > lowest]
        found.append(Turns(row, tuple(task for _, task in members)))
        bound = waiting[0][0] if waiting else 1
        given = [max(0, math.ceil((bound - load) / cost)) for load, _ in members]
        members = [
            (load + rows * cost, task) for (load, task), rows in zip(members, given, strict=True)
        ]
        row += sum(given)
    return [*found, Turns(min(row, _MOST_ROWS), everybody)]


def _cycle(now: Turns, partitions: int) -> str:
    """Return the SQL for the task of row ``n`` of partition ``p``."""
    if len(now.tasks) == 1:
        return str(now.tasks[0])
    stride = max(1, len(now.tasks) // partitions)
    tasks = ", ".join(map(str, now.tasks))
    place = f"pmod(n - {now.first_row} + p * {stride}, {len(now.tasks)})"
    return f"array({tasks})[{place}]"
