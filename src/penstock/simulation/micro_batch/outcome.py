"""What came of a run in micro-batches, in the words that all mechanisms share."""

from __future__ import annotations

import numpy as np

from penstock.replay.arrivals import Arrivals
from penstock.replay.batches import Replayed
from penstock.simulation.load import check_days
from penstock.simulation.run import Numbers, SimulatedRun, TimedDecision, Timeline

STEP_SECONDS = 1.0
QUANTILES = (0.5, 0.95, 0.99, 0.999)
LATE = "later than the deadline"


def outcome_of(
    ran: Replayed,
    arrivals: Arrivals,
    *,
    policy: str,
    mechanism: str,
    duration_seconds: float,
    deadline_seconds: float | None,
    decisions: tuple[TimedDecision, ...],
) -> SimulatedRun:
    """Put a run together; rows that missed the deadline failed, though they were processed."""
    check_days(
        ran.ended_seconds,
        "it would take",
        "Allow more slots, or write what rows of this topology really take and put out.",
    )
    ends = np.array([batch.ended_seconds for batch in ran.batches])
    rows = np.array([batch.rows for batch in ran.batches], dtype=np.float64)
    late = np.zeros(len(ends))
    if deadline_seconds is not None:
        last = np.cumsum(rows)
        in_time = np.interp(ends - deadline_seconds, arrivals.times_seconds, arrivals.totals)
        late = np.clip(np.floor(in_time + 1e-6) - (last - rows), 0, rows)
    failed = {LATE: int(late.sum())} if late.any() else {}
    return SimulatedRun(
        policy=policy,
        mechanism=mechanism,
        rows=arrivals.rows,
        done_rows=int(rows.sum() - late.sum()),
        failed=failed,
        mean_latency_seconds=ran.mean_latency_seconds,
        latency_quantiles={each: ran.latencies.quantile_seconds(each) for each in QUANTILES},
        slot_seconds=_slot_seconds(ran, duration_seconds),
        duration_seconds=duration_seconds,
        changes=ran.changes,
        timeline=_timeline(ran, arrivals, late, duration_seconds),
        decisions=decisions,
        batches=ran.batches,
        behind_seconds=ran.behind_seconds,
    )


def _timeline(ran: Replayed, arrivals: Arrivals, late: Numbers, duration: float) -> Timeline:
    whole = max(duration, ran.ended_seconds)
    steps = max(1, int(np.ceil(whole / STEP_SECONDS - 1e-9)))
    edges = np.arange(steps + 1, dtype=np.float64) * STEP_SECONDS
    arrived = np.interp(edges, arrivals.times_seconds, arrivals.totals)
    starts = np.array([batch.started_seconds for batch in ran.batches])
    ends = np.array([batch.ended_seconds for batch in ran.batches])
    rows = np.array([batch.rows for batch in ran.batches], dtype=np.float64)
    # A batch that ends at an edge is done in the step before it.
    step = np.clip(np.ceil(ends / STEP_SECONDS - 1e-9).astype(np.int64) - 1, 0, steps - 1)
    done = np.bincount(step, rows - late, steps)
    waited = np.bincount(step, _latency_sums(arrivals, rows, ends), steps)
    all_done = np.bincount(step, rows, steps)
    latency = np.full(steps, np.nan)
    np.divide(waited, all_done, out=latency, where=all_done > 0)
    at, slots = np.array(ran.timeline, dtype=np.float64).T
    return Timeline(
        step_seconds=STEP_SECONDS,
        rows_in=np.diff(arrived),
        rows_done=done.astype(np.float64),
        rows_failed=np.bincount(step, late, steps).astype(np.float64),
        latency_seconds=latency,
        slots=_means(edges, at, slots),
        waiting_rows=_waiting(edges, arrivals, starts, rows),
    )


def _latency_sums(arrivals: Arrivals, rows: Numbers, ends: Numbers) -> Numbers:
    """Return the latencies of each batch's rows, added up."""
    last = np.cumsum(rows)
    until = _arrival_sums(arrivals, np.concatenate(([0.0], last)))
    return np.asarray(rows * ends - np.diff(until))


def _arrival_sums(arrivals: Arrivals, row: Numbers) -> Numbers:
    """Return the arrival times of the first rows of the load, added up, for each of ``row``."""
    times = np.array(arrivals.times_seconds)
    totals = np.array(arrivals.totals, dtype=np.float64)
    areas = np.diff(totals) * (times[1:] + times[:-1]) / 2
    known = np.concatenate(([0.0], np.cumsum(areas)))
    knot = np.clip(np.searchsorted(totals, row, side="left") - 1, 0, len(totals) - 2)
    size = np.diff(totals)[knot]
    within = row - totals[knot]
    share = np.divide(within, size, out=np.zeros_like(row), where=size > 0)
    when = times[knot] + share * np.diff(times)[knot]
    return np.asarray(known[knot] + within * (times[knot] + when) / 2)


def _waiting(edges: Numbers, arrivals: Arrivals, starts: Numbers, rows: Numbers) -> Numbers:
    """Return the mean of the rows that had arrived and no batch had taken yet, by step."""
    times = np.array(arrivals.times_seconds)
    totals = np.array(arrivals.totals, dtype=np.float64)
    areas = np.concatenate(([0.0], np.cumsum(np.diff(times) * (totals[1:] + totals[:-1]) / 2)))
    knot = np.clip(np.searchsorted(times, edges, side="right") - 1, 0, len(times) - 1)
    level = np.interp(edges, times, totals)
    until = areas[knot] + (edges - times[knot]) * (totals[knot] + level) / 2
    taken = _means(edges, np.concatenate(([0.0], starts)), np.concatenate(([0.0], np.cumsum(rows))))
    return np.asarray(np.maximum(0.0, np.diff(until) / np.diff(edges) - taken))


def _means(edges: Numbers, at: Numbers, values: Numbers) -> Numbers:
    """Return the mean in each step of what is ``values`` from each time ``at`` on."""
    areas = np.concatenate(([0.0], np.cumsum(np.diff(at) * values[:-1])))
    piece = np.clip(np.searchsorted(at, edges, side="right") - 1, 0, len(at) - 1)
    until = areas[piece] + (edges - at[piece]) * values[piece]
    return np.asarray(np.diff(until) / np.diff(edges))


def _slot_seconds(ran: Replayed, duration_seconds: float) -> float:
    """Return what the slots cost until the load was over; what then waits counts as latency."""
    at, slots = np.array(ran.timeline, dtype=np.float64).T
    edges = np.array([0.0, duration_seconds])
    return float(_means(edges, at, slots)[0]) * duration_seconds
