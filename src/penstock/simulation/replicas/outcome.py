"""What came of a simulation with replicas, put together from what became of every row."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from penstock.simulation.replicas import arrays
from penstock.simulation.replicas.arrays import Floats, Mask
from penstock.simulation.replicas.queue_times import QueueTimes
from penstock.simulation.replicas.replica_times import ReplicaTimes
from penstock.simulation.replicas.roots import Roots
from penstock.simulation.run import SimulatedRun, TimedDecision, Timeline

REASONS: Mapping[int, str] = {
    arrays.NO_ROOM: "queue full",
    arrays.TOO_LATE: "too late",
    arrays.RESTARTED: "lost in a restart",
}
QUANTILES = (0.5, 0.9, 0.95, 0.99)


def outcome(
    policy: str,
    mechanism: str,
    roots: Roots,
    waits: QueueTimes,
    replicas: ReplicaTimes,
    by_operator: Mapping[str, ReplicaTimes],
    decisions: tuple[TimedDecision, ...],
    duration_seconds: float,
    changes: int,
) -> SimulatedRun:
    """Put a run together; rows count that were done by the end of the load."""
    done = roots.done_at <= duration_seconds
    latency = roots.done_at[done] - roots.born[done]
    failed = roots.failed_at <= duration_seconds
    counts = np.bincount(roots.why[failed], minlength=len(REASONS) + 1)
    quantiles = np.quantile(latency, QUANTILES) if len(latency) else np.full(len(QUANTILES), np.nan)
    return SimulatedRun(
        policy=policy,
        mechanism=mechanism,
        rows=len(roots.born),
        done_rows=int(done.sum()),
        failed={name: int(counts[code]) for code, name in REASONS.items() if counts[code]},
        mean_latency_seconds=float(latency.mean()) if len(latency) else float("nan"),
        latency_quantiles=dict(zip(QUANTILES, quantiles.tolist(), strict=True)),
        slot_seconds=float(replicas.until(np.array([duration_seconds]))[0]),
        duration_seconds=duration_seconds,
        changes=changes,
        timeline=_timeline(roots, waits, replicas, by_operator, latency, done, failed),
        decisions=decisions,
    )


def _timeline(
    roots: Roots,
    waits: QueueTimes,
    replicas: ReplicaTimes,
    by_operator: Mapping[str, ReplicaTimes],
    latency: Floats,
    done: Mask,
    failed: Mask,
) -> Timeline:
    step, waiting = waits.step_seconds, waits.means()
    steps = len(waiting)

    def counted(at: Floats, weights: Floats | None = None) -> Floats:
        number = np.minimum((at / step).astype(np.int64), steps - 1)
        return np.bincount(number, weights, minlength=steps).astype(np.float64)

    rows_done = counted(roots.done_at[done])
    summed = counted(roots.done_at[done], latency)
    with np.errstate(invalid="ignore"):
        mean = np.where(rows_done > 0, summed / rows_done, np.nan)
    return Timeline(
        step_seconds=step,
        rows_in=counted(roots.born),
        rows_done=rows_done,
        rows_failed=counted(roots.failed_at[failed]),
        latency_seconds=mean,
        slots=replicas.means(steps, step),
        waiting_rows=waiting,
        operator_slots={name: each.means(steps, step) for name, each in by_operator.items()},
    )
