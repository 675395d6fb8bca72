"""Who serves each row, and when: the loops over the rows that come to an operator."""

from __future__ import annotations

import numpy as np

from penstock.compiling import compiled
from penstock.simulation.replicas.arrays import (
    BY_CHANCE,
    LEAST_LOADED,
    NO_ROOM,
    SERVED,
    TOO_LATE,
    Bytes,
    Floats,
    Identities,
    Integers,
)
from penstock.simulation.replicas.draws import replica_by_chance


@compiled
def _sink(heap: Floats | Integers, size: int, at: int) -> None:
    """Restore a heap whose number at ``at`` may be larger than those below it."""
    value = heap[at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= value:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = value


@compiled
def _drop_until(heap: Floats, size: int, now: float) -> int:
    """Take all numbers up to ``now`` out of a heap; return how many are left."""
    while size > 0 and heap[0] <= now:
        size -= 1
        heap[0] = heap[size]
        if size:
            _sink(heap, size, 0)
    return size


@compiled
def _push(heap: Floats, size: int, value: float) -> None:
    at = size
    while at > 0 and heap[(at - 1) // 2] > value:
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = value


@compiled
def serve(
    arrival: Floats,
    seconds: Floats,
    born: Floats,
    identity: Identities,
    free: Floats,
    replicas: int,
    grouping: int,
    turn: int,
    given: Integers,
    full: int,
    limit: int,
    waiting: Floats,
    timeout: float,
    start: Floats,
    finish: Floats,
    replica: Integers,
    fate: Bytes,
) -> int:
    """Deal rows to replicas, each with its own queue; return whose turn is next.

    Rows come in order. ``free`` is when each replica will have done what it has, and is updated.
    For the least loaded, ``given`` is rows of the last interval, and ``full`` how many fill a
    replica. ``waiting`` is when the rows that wait already will start; with ``limit`` 0 any number
    may wait. ``start``, ``finish``, ``replica`` and ``fate`` are filled in.
    """
    levels = np.empty(0, np.int64)
    if grouping == LEAST_LOADED:
        # A replica's load and its number in one, so that the first of the lowest is the minimum.
        levels = given[:replicas] * replicas + np.arange(replicas)
        for at in range(replicas // 2, -1, -1):
            _sink(levels, replicas, at)
    heap, size = np.empty(0), 0
    if limit:
        size = len(waiting)
        heap = np.empty(size + len(arrival))
        heap[:size] = np.sort(waiting)
    for row in range(len(arrival)):
        now = arrival[row]
        if limit:
            size = _drop_until(heap, size, now)
            if size >= limit:
                start[row], finish[row], fate[row] = now, now, NO_ROOM
                continue
        if grouping == BY_CHANCE:
            chosen = replica_by_chance(identity[row], replicas)
        elif grouping == LEAST_LOADED and levels[0] // replicas < full:
            chosen = levels[0] % replicas
            levels[0] += replicas
            _sink(levels, replicas, 0)
        else:
            chosen = turn
            turn = turn + 1 if turn + 1 < replicas else 0
        begins = max(now, free[chosen])
        start[row], replica[row] = begins, chosen
        if begins - born[row] > timeout:
            finish[row], fate[row] = begins, TOO_LATE
        else:
            finish[row] = begins + seconds[row]
            free[chosen] = finish[row]
            fate[row] = SERVED
        if limit and begins > now:
            _push(heap, size, begins)
            size += 1
    return turn


@compiled
def serve_from_one_queue(
    arrival: Floats,
    seconds: Floats,
    born: Floats,
    queued: int,
    until: float,
    free: Floats,
    replicas: int,
    limit: int,
    timeout: float,
    start: Floats,
    finish: Floats,
    replica: Integers,
    fate: Bytes,
) -> None:
    """Serve rows from one queue; the first ``queued`` have waited since the interval before.

    Rows that can't start by ``until`` keep an infinite ``start``.
    """
    heap = np.sort(free[:replicas])
    order = np.argsort(free[:replicas], kind="mergesort")
    line = np.empty(len(arrival), np.int64)  # rows that wait, from ``first`` to ``last``
    first, last = 0, 0
    for row in range(len(arrival) + 1):
        now = arrival[row] if row < len(arrival) else until
        if row < queued:
            line[last] = row
            last += 1
            start[row], finish[row] = np.inf, np.inf
            continue
        while first < last:
            head = line[first]
            begins = max(arrival[head], heap[0])
            if begins > now:
                break
            first += 1
            chosen = order[0]
            start[head], replica[head] = begins, chosen
            if begins - born[head] > timeout:
                finish[head], fate[head] = begins, TOO_LATE
                continue
            finish[head], fate[head] = begins + seconds[head], SERVED
            free[chosen] = finish[head]
            _reorder(heap, order, finish[head])
        if row == len(arrival):
            break
        if limit and last - first >= limit:
            start[row], finish[row], fate[row] = now, now, NO_ROOM
            continue
        line[last] = row
        last += 1
        start[row], finish[row] = np.inf, np.inf


@compiled
def _reorder(heap: Floats, order: Integers, value: float) -> None:
    """Give the first replica, which is free first, another time, and keep the heap."""
    size, at, number = len(heap), 0, order[0]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        right = child + 1
        if right < size and (
            heap[right] < heap[child]
            or (heap[right] == heap[child] and order[right] < order[child])
        ):
            child = right
        if heap[child] > value or (heap[child] == value and order[child] > number):
            break
        heap[at], order[at] = heap[child], order[child]
        at = child
    heap[at], order[at] = value, number
