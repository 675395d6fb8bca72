"""What POSG's state machines know, as arrays that a kernel works on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]

ROUND_ROBIN, SEND_ALL, WAIT_ALL, RUN = 0, 1, 2, 3
# Places in ``Scheduling.numbers``.
STATE, EPOCH, TURN, TO_ASK, KNOWN, REPLIED, SINCE_RUN, REQUESTS, REPLIES, SENT = range(10)

MATRICES, REPLY = 0, 1


class Rules(NamedTuple):
    """The settings of both machines; no ``resync_tuples`` are 0."""

    window: int
    mu: float
    only_if_moved: bool
    alike: bool
    idle_counts: bool
    resync_tuples: int
    network_seconds: float


class Learning(NamedTuple):
    """The instances: ``recent`` are the tuples since the end of the last window."""

    recent_counts: Floats
    recent_costs: Floats
    counts: Floats
    costs: Floats
    ratios: Floats
    snapshot: Floats
    sent: Floats
    has_sent: Flags
    executed: Whole
    stabilizing: Flags
    worked: Floats
    free: Floats


class Scheduling(NamedTuple):
    """The scheduler: the matrices it has, what it estimates by, and its loads."""

    counts: Floats
    costs: Floats
    is_known: Flags
    estimated_counts: Floats
    estimated_costs: Floats
    ratios: Floats
    means: Floats
    loads: Floats
    differences: Floats
    has_replied: Flags
    numbers: Whole


def learning(instances: int, rows: int, columns: int) -> Learning:
    """Return instances that have seen nothing."""
    shape = (instances, rows, columns)
    return Learning(
        recent_counts=np.zeros(shape),
        recent_costs=np.zeros(shape),
        counts=np.zeros(shape),
        costs=np.zeros(shape),
        ratios=np.zeros(shape),
        snapshot=np.zeros(shape),
        sent=np.zeros(shape),
        has_sent=np.zeros(instances, np.bool_),
        executed=np.zeros(instances, np.int64),
        stabilizing=np.zeros(instances, np.bool_),
        worked=np.zeros(instances),
        free=np.zeros(instances),
    )


def scheduling(instances: int, rows: int, columns: int) -> Scheduling:
    """Return a scheduler that knows nothing."""
    shape = (instances, rows, columns)
    return Scheduling(
        counts=np.zeros(shape),
        costs=np.zeros(shape),
        is_known=np.zeros(instances, np.bool_),
        estimated_counts=np.zeros(shape),
        estimated_costs=np.zeros(shape),
        ratios=np.zeros(shape),
        means=np.zeros(instances),
        loads=np.zeros(instances),
        differences=np.zeros(instances),
        has_replied=np.zeros(instances, np.bool_),
        numbers=np.zeros(SENT + 1, np.int64),
    )
