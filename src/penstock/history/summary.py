"""A run in a few numbers, for comparing one with another."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from penstock.history.growing_table import Numbers
from penstock.history.query_history import QueryHistory


@dataclass(frozen=True, slots=True)
class Summary:
    """What a query did, all in all; None where a journal does not tell.

    ``behind`` is the share of batches that took longer than their trigger, ``saved`` the share of
    slot time that was not used, against always using the most there may be.
    """

    seconds: float
    batches: int
    rows: int
    rows_per_second: float | None
    mean_batch_seconds: float | None
    p95_batch_seconds: float | None
    behind: float | None
    mean_latency_seconds: float | None
    most_waiting_rows: float | None
    mean_slots: float | None
    slot_hours: float
    saved_slot_hours: float
    saved: float | None
    slot_changes: int
    late_rows: int
    failed_rows: int
    faults: int
    restarts: int


def summary_of(query: QueryHistory) -> Summary:
    """Sum up what is known of a query."""
    table = query.batches.between(-inf, inf)
    seconds, trigger = table["seconds"], table["trigger"]
    known = seconds[~np.isnan(seconds)]
    timed = (trigger > 0) & ~np.isnan(seconds)
    spans = float(np.nansum(table["span"]))
    offered = query.slot_seconds + query.saved_slot_seconds
    return Summary(
        seconds=spans,
        batches=query.batch_count,
        rows=query.total_rows,
        rows_per_second=query.total_rows / spans if spans > 0 else None,
        mean_batch_seconds=_weighted(seconds, table["count"]),
        p95_batch_seconds=float(np.quantile(known, 0.95)) if len(known) else None,
        behind=_weighted((seconds > trigger)[timed].astype(float), table["count"][timed]),
        mean_latency_seconds=_weighted(table["latency"], table["rows"]),
        most_waiting_rows=_most(table["waiting"]),
        mean_slots=query.slot_seconds / spans if spans > 0 else None,
        slot_hours=query.slot_seconds / 3600,
        saved_slot_hours=query.saved_slot_seconds / 3600,
        saved=query.saved_slot_seconds / offered if offered > 0 else None,
        slot_changes=query.decisions.changed_slots,
        late_rows=query.late_rows,
        failed_rows=query.failed_rows,
        faults=query.faults.by_kind.total,
        restarts=query.faults.restarts,
    )


def _most(values: Numbers) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.max()) if len(known) else None


def _weighted(values: Numbers, weights: Numbers) -> float | None:
    known = ~np.isnan(values) & (weights > 0)
    return float(np.average(values[known], weights=weights[known])) if known.any() else None
