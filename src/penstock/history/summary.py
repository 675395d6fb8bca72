"""A run in a few numbers, for comparing one with another."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isnan

import numpy as np

from penstock.history.query_history import QueryHistory
from penstock.history.weighted import thinned_quantile, weighted_mean


@dataclass(frozen=True, slots=True)
class Summary:
    """What a query did, all in all; None where a journal does not tell.

    ``behind`` is the share of batches that took longer than their trigger, ``saved`` the share of
    slot time that was not used, against always using the most there may be. All is of every batch,
    but for ``p95_batch_seconds``, which is near where old batches are no longer kept one by one.
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
    saved_slot_hours: float | None
    saved: float | None
    slot_changes: int
    late_rows: int
    failed_rows: int
    faults: int
    restarts: int


def summary_of(query: QueryHistory) -> Summary:
    """Sum up what is known of a query."""
    table = query.batches.between(-inf, inf)
    seconds, counts = table["seconds"], table["count"]
    spans = float(np.nansum(table["span"]))
    return Summary(
        seconds=spans,
        batches=query.batch_count,
        rows=query.total_rows,
        rows_per_second=query.total_rows / spans if spans > 0 else None,
        mean_batch_seconds=_known(weighted_mean(seconds, counts)),
        p95_batch_seconds=_known(thinned_quantile(seconds, table["slowest"], counts, 0.95)),
        behind=query.totals.behind,
        mean_latency_seconds=query.totals.mean_latency_seconds,
        most_waiting_rows=_known(float(np.fmax.reduce(table["deepest"], initial=np.nan))),
        mean_slots=query.slot_seconds / spans if spans > 0 else None,
        slot_hours=query.slot_seconds / 3600,
        saved_slot_hours=None if query.saved is None else query.saved_slot_seconds / 3600,
        saved=query.saved,
        slot_changes=query.decisions.changed_slots,
        late_rows=query.late_rows,
        failed_rows=query.failed_rows,
        faults=query.faults.by_kind.total,
        restarts=query.faults.restarts,
    )


def _known(number: float) -> float | None:
    return None if isnan(number) else number
