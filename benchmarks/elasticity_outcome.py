"""What came of one run of the elasticity benchmark: the metrics of PSPS (section V-A)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from penstock.journal import BatchFinished, DecisionMade, Event, FaultSeen, QueryStarted

Seconds = NDArray[np.float64]


@dataclass(frozen=True)
class Batch:
    """A micro-batch: when it was committed, the rows it took and the slots it used."""

    batch_id: int
    committed_seconds: float
    rows: int
    slots: int


@dataclass(frozen=True)
class Course:
    """How a run went, by its journal."""

    batches: tuple[Batch, ...]
    restarts: int
    faults: tuple[str, ...]

    @property
    def rows(self) -> int:
        """The rows of all batches together."""
        return sum(batch.rows for batch in self.batches)


def course(events: Iterable[Event]) -> Course:
    """Read a journal. A batch uses the slots of the decision that was in force when it began."""
    batches, faults = [], []
    starts, planned = 0, 0
    for event in events:
        match event.body:
            case QueryStarted():
                starts += 1
            case DecisionMade(decision=decision):
                planned = decision.slots
            case FaultSeen(what=what, detail=detail):
                faults.append(f"{what}: {detail}")
            case BatchFinished(observation=seen):
                used = seen.used_slots
                slots = min(planned, seen.slots) if used is None else used
                batches.append(Batch(seen.batch_id, seen.at_seconds, seen.rows_in, slots))
    return Course(tuple(batches), starts - 1, tuple(faults))


@dataclass(frozen=True)
class Arrivals:
    """When rows were due, in the order in which they are read; all in seconds since the epoch."""

    start_seconds: float
    lasts_seconds: float
    due: Seconds


def latencies(came: Arrivals, batches: Sequence[Batch]) -> Seconds:
    """How long after it was due each row was committed: every batch takes the next so many."""
    ends = np.cumsum([batch.rows for batch in batches])
    if not len(ends) or ends[-1] != len(came.due):
        taken = ends[-1] if len(ends) else 0
        raise RuntimeError(f"{taken} rows were taken of {len(came.due)}")
    committed = np.array([batch.committed_seconds for batch in batches])
    batch_of_row = np.searchsorted(ends, np.arange(len(came.due)), side="right")
    return np.asarray(committed[batch_of_row] - came.due)


def mean_slots(start_seconds: float, batches: Sequence[Batch]) -> float:
    """The slots in use, weighted by time: those of a batch count since the one before it."""
    moments = [start_seconds, *(batch.committed_seconds for batch in batches)]
    return float(np.average([batch.slots for batch in batches], weights=np.diff(moments)))


def throughput_degradation(
    came: Arrivals, batches: Sequence[Batch], interval_seconds: float
) -> float:
    """The mean of abs(input - output) / input over the intervals in which rows come."""
    intervals = int(came.lasts_seconds // interval_seconds)
    edges = came.start_seconds + interval_seconds * np.arange(intervals + 1)
    rows_in = np.histogram(came.due, edges)[0]
    committed = [batch.committed_seconds for batch in batches]
    rows_out = np.histogram(committed, edges, weights=[batch.rows for batch in batches])[0]
    busy = rows_in > 0
    return float(np.mean(np.abs(rows_in[busy] - rows_out[busy]) / rows_in[busy]))


@dataclass(frozen=True)
class Outcome:
    """One row of the table."""

    way: str
    saved: float
    degradation: float
    in_time: float
    mean_latency_s: float
    p95_latency_s: float
    mean_slots: float
    most_slots: int
    changes: int
    restarts: int
    lost_rows: int
    doubled_rows: int
    faults: int
    batches: int
    rows: int
    cpu: float


def outcome(
    way: str,
    seen: Course,
    came: Arrivals,
    *,
    over_slots: int,
    interval_seconds: float,
    deadline_seconds: float,
    lost_rows: int,
    doubled_rows: int,
    cpu: float,
) -> Outcome:
    """Sum a run up. Resources are saved beside ``over_slots``, which would do at the peak."""
    batches = seen.batches
    took = latencies(came, batches)
    slots = mean_slots(came.start_seconds, batches)
    used = [batch.slots for batch in batches]
    return Outcome(
        way=way,
        saved=1 - slots / over_slots,
        degradation=throughput_degradation(came, batches, interval_seconds),
        in_time=float(np.mean(took <= deadline_seconds)),
        mean_latency_s=float(np.mean(took)),
        p95_latency_s=float(np.quantile(took, 0.95)),
        mean_slots=slots,
        most_slots=max(used),
        changes=sum(a != b for a, b in pairwise(used)),
        restarts=seen.restarts,
        lost_rows=lost_rows,
        doubled_rows=doubled_rows,
        faults=len(seen.faults),
        batches=len(batches),
        rows=seen.rows,
        cpu=cpu,
    )
