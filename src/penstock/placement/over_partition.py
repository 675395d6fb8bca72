"""How many tasks to make where slots are not equally fast."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heapreplace

WORTH = 0.03
MOST = 4
TRIED = 24


def makespan(
    tasks: int, work_seconds: float, speeds: Sequence[float], start_seconds: float
) -> float:
    """Return when the last of ``tasks`` equal tasks ends, each taken by the first free slot.

    ``work_seconds`` is what all of them take on a slot of speed 1; starting one costs
    ``start_seconds``.

    >>> makespan(2, 2.0, [1.0, 0.5], 0.0)
    2.0
    """
    heap = [(0.0, slot) for slot in range(len(speeds))]
    heapify(heap)
    each, last = work_seconds / tasks, 0.0
    for _ in range(tasks):
        free, slot = heap[0]
        end = free + start_seconds + each / speeds[slot]
        heapreplace(heap, (end, slot))
        last = max(last, end)
    return last


def task_count(work_seconds: float, speeds: Sequence[float], start_seconds: float) -> int:
    """Return the fewest tasks with which the batch ends about as soon as it can.

    Spark gives the next task to the slot that is free, so where slots differ in speed more and
    smaller tasks let the fast ones do more. Each costs its start, so no more are made than pay.

    >>> task_count(8.0, [1.0] * 8, 0.01)
    8
    >>> task_count(8.0, [1.0] * 6 + [0.5] * 2, 0.01)
    14
    """
    slots = len(speeds)
    if max(speeds) <= min(speeds) * (1 + WORTH):
        return slots
    step = max(1, slots * (MOST - 1) // TRIED)
    ends = {
        tasks: makespan(tasks, work_seconds, speeds, start_seconds)
        for tasks in range(slots, MOST * slots + 1, step)
    }
    best = min(ends.values())
    if ends[slots] <= best * (1 + WORTH):
        return slots
    return next(tasks for tasks, end in ends.items() if end <= best * (1 + WORTH / 2))
