"""What each kind of event adds to the numbers of its query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from penstock.elasticity.observation import Observation
from penstock.journal.events import (
    BatchFinished,
    BatchSkipped,
    DecisionMade,
    FaultSeen,
    ForecastMade,
    HotKeysChanged,
    KeyGroupsMoved,
    LimitSet,
    PlacementChanged,
    PlanChanged,
    RowsFailed,
    RowsShed,
    SlotsChanged,
    SourceProgress,
    StateStored,
)
from penstock.journal.window_events import PanesStored, RowsLate, WindowsClosed
from penstock.metrics import catalogue as m
from penstock.metrics.label_values import OTHER
from penstock.metrics.query_metrics import QueryMetrics


def count(query: QueryMetrics, body: object) -> None:
    """Add one event; kinds that no metric is of add nothing."""
    counting = _COUNTING.get(type(body))
    if counting is not None:
        counting(query, body)


def _batch(query: QueryMetrics, body: BatchFinished) -> None:
    seen, tally = body.observation, query.tally
    tally.put(m.SLOTS_USED, seen.slots_in_use)
    if not query.is_slots_told:
        tally.put(m.SLOTS_OBSERVED, seen.slots)
    if seen.trigger_seconds is None:
        tally.drop(m.TRIGGER_SECONDS)
    tally.put(m.TRIGGER_SECONDS, seen.trigger_seconds)
    told = {source.name for source in seen.sources if source.waiting_rows is not None}
    query.sources_told = told
    tally.put_all(m.SOURCE_WAITING, [(each.name, each.waiting_rows) for each in seen.sources])
    if not seen.batch_seconds > 0:
        # autoscale journals that a query had nothing to do as a batch that took no time.
        return
    tally.begin_batch()
    tally.add(m.BATCHES, 1)
    tally.add(m.SPARK_JOBS, seen.jobs)
    tally.observe(m.BATCH_SECONDS, seen.batch_seconds)
    query.count_latency(seen)
    tally.put(m.LAST_BATCH, seen.at_seconds)
    for source in seen.sources:
        tally.add(m.SOURCE_ROWS, source.rows, source.name)
    _operators(query, seen)
    if body.watermark_seconds is not None:
        tally.put(m.WATERMARK, body.watermark_seconds)
        tally.put(m.WATERMARK_LAG, max(0.0, seen.at_seconds - body.watermark_seconds))


def _operators(query: QueryMetrics, seen: Observation) -> None:
    tally = query.tally
    for each in seen.operators:
        tally.add(m.ROWS_IN, each.rows_in, each.name)
        tally.add(m.ROWS_OUT, each.rows_out, each.name)
        tally.add(m.ROWS_FAILED, each.failed_rows, each.name)
        tally.add(m.BUSY_SECONDS, each.busy_seconds, each.name)
        if each.cpu_seconds is not None:
            tally.add(m.CPU_SECONDS, each.cpu_seconds, each.name)
    tally.put_all(m.TASKS, [(each.name, each.tasks) for each in seen.operators])
    tally.put_all(
        m.BALANCE,
        [
            (each.name, each.slowest_task_seconds / each.mean_task_seconds)
            for each in seen.operators
            if each.mean_task_seconds > 0
        ],
    )


def _skipped(query: QueryMetrics, body: BatchSkipped) -> None:
    query.tally.add(m.BATCHES_SKIPPED, 1)


def _progress(query: QueryMetrics, body: SourceProgress) -> None:
    # The batch itself tells what it left behind; this was told before it took its rows.
    if body.source not in query.sources_told:
        query.tally.put(m.SOURCE_WAITING, body.waiting_rows, body.source)


def _forecast(query: QueryMetrics, body: ForecastMade) -> None:
    query.tally.put(m.FORECAST_HORIZON, body.horizon_seconds)
    query.tally.put_all(m.FORECAST_ROWS, body.rows.items())


def _decision(query: QueryMetrics, body: DecisionMade) -> None:
    decision, tally = body.decision, query.tally
    tally.add(m.DECISIONS, 1)
    tally.put(m.SLOTS_PLANNED, decision.slots)
    for rail in dict.fromkeys(decision.held_by):
        tally.add(m.DECISIONS_HELD, 1, rail)
    if decision.demand_slots is None:
        tally.drop(m.DEMAND_SLOTS)
    tally.put(m.DEMAND_SLOTS, decision.demand_slots)


def _slots(query: QueryMetrics, body: SlotsChanged) -> None:
    query.is_slots_told = True
    query.tally.put(m.SLOTS_PLANNED, body.planned)
    query.tally.put(m.SLOTS_REQUESTED, body.requested)
    query.tally.put(m.SLOTS_OBSERVED, body.observed)
    query.tally.put(m.SLOTS_WARM, body.warm)


def _limit(query: QueryMetrics, body: LimitSet) -> None:
    query.tally.put(m.LIMIT_ROWS, body.rows)


def _shed(query: QueryMetrics, body: RowsShed) -> None:
    query.tally.add(m.SHED_ROWS, body.rows, body.source)


def _windows(query: QueryMetrics, body: WindowsClosed) -> None:
    query.tally.add(m.WINDOWS_CLOSED, body.windows, body.operator)
    query.tally.add(m.WINDOW_ROWS, body.rows, body.operator)


def _panes(query: QueryMetrics, body: PanesStored) -> None:
    query.tally.put(m.PANE_ROWS, body.rows, body.operator)
    query.tally.put(m.PANE_BYTES, body.bytes, body.operator)
    query.tally.put(m.PANE_SEGMENTS, body.segments, body.operator)
    query.tally.put(m.PANE_AGE, body.age_seconds, body.operator)


def _state(query: QueryMetrics, body: StateStored) -> None:
    query.tally.put(m.STATE_BYTES, body.bytes, body.operator)
    query.tally.put(m.STATE_FILES, body.files, body.operator)


def _late(query: QueryMetrics, body: RowsLate) -> None:
    query.tally.add(m.LATE_ROWS, body.rows, body.operator)


def _failed(query: QueryMetrics, body: RowsFailed) -> None:
    reasons = Counter({error: rows for error, rows in body.reasons.items() if rows > 0})
    for error, rows in reasons.items():
        query.tally.add(m.DEAD_LETTERS, rows, body.operator, error)
    untold = body.rows - reasons.total()
    if untold > 0:
        query.tally.add(m.DEAD_LETTERS, untold, body.operator, OTHER)


def _plan(query: QueryMetrics, body: PlanChanged) -> None:
    query.tally.add(m.PLAN_CHANGES, 1)


def _placement(query: QueryMetrics, body: PlacementChanged) -> None:
    query.tally.add(m.PLACEMENT_CHANGES, 1)


def _moves(query: QueryMetrics, body: KeyGroupsMoved) -> None:
    query.tally.add(m.KEY_GROUP_MOVES, len(body.moves), body.operator)
    query.tally.add(m.KEY_GROUP_PAUSE, body.pause_seconds, body.operator)


def _hot_keys(query: QueryMetrics, body: HotKeysChanged) -> None:
    query.tally.put(m.HOT_KEYS, body.keys, body.operator)


def _fault(query: QueryMetrics, body: FaultSeen) -> None:
    query.tally.add(m.FAULTS, body.count, body.what)


_COUNTING: Mapping[type, Callable[[QueryMetrics, Any], None]] = {
    BatchFinished: _batch,
    BatchSkipped: _skipped,
    SourceProgress: _progress,
    ForecastMade: _forecast,
    DecisionMade: _decision,
    SlotsChanged: _slots,
    LimitSet: _limit,
    RowsShed: _shed,
    WindowsClosed: _windows,
    PanesStored: _panes,
    StateStored: _state,
    RowsLate: _late,
    RowsFailed: _failed,
    PlanChanged: _plan,
    PlacementChanged: _placement,
    KeyGroupsMoved: _moves,
    HotKeysChanged: _hot_keys,
    FaultSeen: _fault,
}
