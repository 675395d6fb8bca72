"""What is over at the end of an interval, and what becomes of it: loops over rows."""

from __future__ import annotations

import numpy as np

from penstock.compiling import compiled
from penstock.simulation.replicas.arrays import (
    SERVED,
    TOO_LATE,
    Bytes,
    Floats,
    Identities,
    Integers,
)
from penstock.simulation.replicas.draws import copies, descendant, goes


@compiled
def settle(
    start: Floats,
    finish: Floats,
    replica: Integers,
    fate: Bytes,
    old: int,
    since: float,
    until: float,
    processed: Integers,
    busy: Floats,
    origin: float,
    step: float,
    left_count: Floats,
    left_share: Floats,
) -> tuple[Integers, Integers, int]:
    """Look what of an operator's rows is over by ``until``; the first ``old`` are of before.

    Returns the rows that are over, those that are not, and how many of these wait. ``processed``
    and ``busy`` are by replica. ``left_count`` and ``left_share`` are told when rows left the
    queue, as ``mark`` does.
    """
    over, stay = np.empty(len(start), np.int64), np.empty(len(start), np.int64)
    overs, stays, waiting = 0, 0, 0
    for row in range(len(start)):
        begins, ends = start[row], finish[row]
        if begins > until:
            waiting += 1
        else:
            if row >= old or begins > since:
                mark(begins, 1.0, origin, step, left_count, left_share)
            if fate[row] == SERVED:
                busy[replica[row]] += min(ends, until) - max(begins, since)
        if ends <= until:
            over[overs] = row
            overs += 1
            if fate[row] == SERVED:
                processed[replica[row]] += 1
        else:
            stay[stays] = row
            stays += 1
    return over[:overs], stay[:stays], waiting


@compiled
def mark(
    at: float, weight: float, origin: float, step: float, count: Floats, share: Floats
) -> None:
    """Count an event in its step, and how much of the step there is after it."""
    number = int((at - origin) / step)
    if number < len(count):
        count[number] += weight
        share[number] += weight * ((number + 1) * step + origin - at) / step


@compiled
def mark_all(
    at: Floats, weight: float, origin: float, step: float, count: Floats, share: Floats
) -> None:
    """Count many events."""
    for row in range(len(at)):
        mark(at[row], weight, origin, step, count, share)


@compiled
def hand_on(
    at: Floats,
    root: Integers,
    identity: Identities,
    selectivity: float,
    low: float,
    share: float,
    child: int,
    network_seconds: float,
    open_rows: Integers,
) -> tuple[Floats, Integers, Identities]:
    """Make the rows that a child gets of rows that are over."""
    most = int(np.ceil(selectivity))
    arrival = np.empty(len(at) * most)
    roots = np.empty(len(at) * most, np.int64)
    made = np.empty(len(at) * most, np.uint64)
    size = 0
    for row in range(len(at)):
        for copy in range(copies(identity[row], selectivity)):
            if goes(identity[row], copy, low, share):
                arrival[size] = at[row] + network_seconds
                roots[size] = root[row]
                made[size] = descendant(identity[row], child, copy)
                open_rows[root[row]] += 1
                size += 1
    return arrival[:size].copy(), roots[:size].copy(), made[:size].copy()


@compiled
def complete(
    at: Floats,
    root: Integers,
    born: Floats,
    timeout: float,
    open_rows: Integers,
    last: Floats,
    failed_at: Floats,
    why: Bytes,
    done_at: Floats,
) -> None:
    """Close rows that were served; a root with no open row is done, unless one failed."""
    for row in range(len(at)):
        number = root[row]
        open_rows[number] -= 1
        last[number] = max(last[number], at[row])
        if open_rows[number] == 0 and np.isinf(failed_at[number]):
            if last[number] - born[number] > timeout:
                failed_at[number], why[number] = last[number], TOO_LATE
            else:
                done_at[number] = last[number]


@compiled
def fail(
    at: Floats, root: Integers, reason: int, open_rows: Integers, failed_at: Floats, why: Bytes
) -> None:
    """Close rows that failed; a root failed when the first of its rows did.

    Operators are simulated one after the other, so that of several reasons at the same instant it
    can't be the first to come: it is the one with the lowest code.
    """
    for row in range(len(at)):
        number = root[row]
        open_rows[number] -= 1
        if at[row] < failed_at[number] or (at[row] == failed_at[number] and reason < why[number]):
            failed_at[number], why[number] = at[row], reason


@compiled
def put_out(identity: Identities, selectivity: float) -> int:
    """Return how many rows an operator puts out for rows that it served."""
    rows = 0
    for row in range(len(identity)):
        rows += copies(identity[row], selectivity)
    return rows
