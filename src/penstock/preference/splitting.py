"""Which task gets which rows of a pane: the pane splitting of Elastic-PPQ (Algorithm 1).

A pane stays with one task until that task has as many of its rows as the threshold says; then it is
split, and the next rows go to another task. ``AdaptiveSplitting`` is the algorithm as written, for
one emitter that sees every row. ``PartTurns`` is what the tasks of a micro-batch do, each with the
rows it has, in agreement without talking.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import ceil

import numpy as np
from numpy.typing import NDArray


@dataclass(slots=True)
class AdaptiveSplitting:
    """Algorithm 1, row by row: the least loaded worker becomes the owner of a pane, or of a part.

    ``threshold`` may be changed between rows. Who uses it counts the rows that wait at each worker.
    A worker that is taken away (Algorithm 4) owns nothing any more.

    >>> splitting = AdaptiveSplitting(threshold=2)
    >>> waiting = [0, 0]
    >>> for pane in (7, 7, 7, 7, 7):
    ...     waiting[splitting.send(pane, waiting)] += 1
    >>> waiting, splitting.parts_per_pane
    ([3, 2], 2.0)
    """

    threshold: float
    owner: dict[int, int] = field(default_factory=dict)
    sent: dict[tuple[int, int], int] = field(default_factory=dict)

    def send(self, pane: int, waiting: Sequence[float]) -> int:
        """Return the worker for a row, given how many rows wait at each worker (lines 8 to 14)."""
        worker = self.owner.get(pane)
        if worker is None or self.sent[pane, worker] >= self.threshold:
            worker = self.owner[pane] = _least(waiting)
            self.sent.setdefault((pane, worker), 0)
        self.sent[pane, worker] += 1
        return worker

    def remove(self, workers: Iterable[int], waiting: Sequence[float]) -> None:
        """Take workers away: what they own goes to the least loaded that stays (Algorithm 4)."""
        gone = set(workers)
        for pane, owner in self.owner.items():
            if owner in gone:
                stays = [w for w in range(len(waiting)) if w not in gone]
                least = min(stays, key=lambda worker: waiting[worker])
                self.owner[pane] = least
                self.sent.setdefault((pane, least), 0)  # the paper's EMPTY opens a part

    def close(self, pane: int) -> tuple[int, ...]:
        """Forget a pane that is closed; return the rows of each of its parts."""
        self.owner.pop(pane, None)
        mine = [key for key in self.sent if key[0] == pane]
        return tuple(self.sent.pop(key) for key in mine)

    @property
    def parts_per_pane(self) -> float:
        """The splitting factor of the panes that are open, 1 where there are none."""
        panes = len({pane for pane, _ in self.sent})
        return len(self.sent) / panes if panes else 1.0


def _least(waiting: Sequence[float]) -> int:
    return min(range(len(waiting)), key=lambda worker: waiting[worker])


def rows_a_turn(threshold_rows: float | None, share: float) -> int:
    """Return how many rows of a pane a task sends in one direction before it turns to the next.

    Together the tasks send ``threshold_rows``; this one has that ``share`` of a pane's rows. None
    means that panes are split as far as there are tasks: every row turns.

    >>> rows_a_turn(1_000, share=0.25), rows_a_turn(None, share=0.25)
    (250, 1)
    """
    return 1 if threshold_rows is None else max(1, ceil(threshold_rows * share))


class PartTurns:
    """Sends the rows of one upstream task to ``tasks`` tasks, ``turn_rows`` of a pane at a time.

    The first turn of a pane goes to the task of its number, the next to the task after that, round
    and round. All upstream tasks take the same turns, so that their parts of a pane meet, and a
    pane has ``ceil(rows / turn_rows)`` parts, counting the upstream task with the most of its rows,
    and at most as many as there are tasks. Panes that follow each other begin at tasks that do.

    It counts rows in the order in which they come, over all calls.

    >>> turns = PartTurns(tasks=3, turn_rows=2)
    >>> turns.tasks_of(np.array([4, 4, 5, 4])).tolist(), turns.tasks_of(np.array([4, 4])).tolist()
    ([1, 1, 2, 2], [2, 0])
    """

    def __init__(self, tasks: int, turn_rows: int) -> None:
        self._tasks = tasks
        self._turn_rows = turn_rows
        self.rows: dict[int, int] = {}

    def tasks_of(self, panes: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the task of each row, by its pane."""
        found, inverse, counts = np.unique(panes, return_inverse=True, return_counts=True)
        before = np.array([self.rows.get(pane, 0) for pane in found.tolist()], np.int64)
        order = np.argsort(inverse, kind="stable")
        starts = np.cumsum(counts) - counts
        number = np.empty(len(panes), np.int64)  # of a row within its pane
        number[order] = np.arange(len(panes)) - np.repeat(starts - before, counts)
        for pane, rows in zip(found.tolist(), (before + counts).tolist(), strict=True):
            self.rows[pane] = rows
        return ((panes + number // self._turn_rows) % self._tasks).astype(np.int32)
