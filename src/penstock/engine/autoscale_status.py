"""What an autoscaler says of itself and of the queries that it looks after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from penstock.elasticity.decision import Decision
from penstock.elasticity.watched_queries import Watched


@dataclass(frozen=True, slots=True)
class QueryDecision:
    """What was decided for one query after one of its micro-batches."""

    query: str
    batch_id: int
    decision: Decision


@dataclass(frozen=True, slots=True)
class WatchedStatus:
    """One query that is looked after: its last micro-batch, and the slots it should have."""

    query: str
    batch_id: int
    batch_seconds: float
    trigger_seconds: float | None
    rows_in: int
    waiting_rows: int | None
    state_rows: int | None
    slots: int
    reason: str


@dataclass(frozen=True, slots=True)
class AutoscaleStatus:
    """What an autoscaler is doing; ``planned_slots`` is what all queries together should have."""

    state: Literal["watching", "stopped"]
    dry_run: bool
    slots: int
    planned_slots: int
    queries: tuple[WatchedStatus, ...] = ()


def status_of(query: Watched) -> WatchedStatus:
    """Say what a query did last, and what it should have."""
    progress = query.progress
    return WatchedStatus(
        query=progress.title,
        batch_id=progress.batch_id,
        batch_seconds=progress.batch_seconds,
        trigger_seconds=query.trigger_seconds,
        rows_in=progress.rows_in,
        waiting_rows=query.last.waiting_rows if query.last else None,
        state_rows=progress.state_rows,
        slots=query.decision.slots,
        reason=query.decision.reason,
    )
