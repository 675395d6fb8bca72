"""All that a journal tells of one query: numbers over time, and the newest of what happened."""

from __future__ import annotations

from math import isfinite, nan
from typing import Any

from penstock.history.decisions_seen import DecisionsSeen
from penstock.history.faults_seen import FaultsSeen
from penstock.history.growing_table import GrowingTable, Merge
from penstock.history.operator_tables import OperatorTables
from penstock.history.placement_seen import PlacementSeen
from penstock.history.preference_seen import PreferenceSeen
from penstock.history.quick_lines import BatchNumbers, ObservedNumbers
from penstock.history.row_latency import RowLatency
from penstock.history.run_totals import RunTotals
from penstock.history.windows_seen import WindowsSeen
from penstock.journal.events import (
    DecisionMade,
    ForecastMade,
    QueryStarted,
    QueryStopped,
    SlotsChanged,
)
from penstock.journal.topology_events import StartedQuery, TopologyPlanned
from penstock.journal.window_events import RowsLate

BATCH_COLUMNS = {
    "at": Merge.LAST,
    "batch": Merge.LAST,
    "seconds": Merge.MEAN,
    "slowest": Merge.MAX,
    "trigger": Merge.LAST,
    "behind": Merge.SUM,
    "rows": Merge.SUM,
    "waiting": Merge.LAST,
    "deepest": Merge.MAX,
    "slots": Merge.MEAN,
    "used": Merge.MEAN,
    "most": Merge.MAX,
    "latency": Merge.MEAN,
    "watermark": Merge.LAST,
    "lag": Merge.LAST,
    "failed": Merge.SUM,
    "span": Merge.SUM,
    "jobs": Merge.MEAN,
}
SLOT_COLUMNS = {
    "at": Merge.LAST,
    "planned": Merge.LAST,
    "requested": Merge.LAST,
    "observed": Merge.LAST,
    "warm": Merge.LAST,
}


class QueryHistory:
    """One query: batches, operators and slots over time, and what was decided, moved and lost.

    ``batches`` has a row for each micro-batch; ``span`` there is the time since the batch before
    ended, so that rows over spans are rates, ``behind`` how many took longer than their trigger,
    ``deepest`` the most rows that waited, and ``lag`` how far the watermark was behind the clock,
    also where that was set back, so that ``at`` stands still. ``operators`` are asked by name. What
    is said of the whole run is in ``totals``: of older batches, ``batches`` has rows that stand for
    several.
    """

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.started: QueryStarted | StartedQuery | None = None
        self.stopped: QueryStopped | None = None
        self.stopped_at_seconds = nan
        self.topology: TopologyPlanned | None = None
        self.batches = GrowingTable(BATCH_COLUMNS)
        self.operators = OperatorTables()
        self.slots = GrowingTable(SLOT_COLUMNS)
        self.decisions = DecisionsSeen()
        self.faults = FaultsSeen()
        self.windows = WindowsSeen()
        self.placement = PlacementSeen()
        self.preference = PreferenceSeen()
        self.sources: tuple[str, ...] = ()
        self.newest: BatchNumbers | None = None
        self.totals = RunTotals()
        self.batch_count = 0
        self.total_rows = 0
        self.failed_rows = 0
        self.late_rows = 0
        self.slot_seconds = 0.0
        self.saved_slot_seconds = 0.0
        self._offered_slot_seconds = 0.0
        self.first_began_seconds = nan
        self.last_at_seconds = nan
        self._latency = RowLatency()
        self._ended: float | None = None
        self._is_first = True

    @property
    def is_running(self) -> bool:
        """Whether nothing says that the query has ended."""
        return self.stopped is None and (self.started or self.newest) is not None

    @property
    def failure(self) -> str | None:
        """The error that ended the query; None where none did."""
        return self.stopped.error if self.stopped is not None else None

    @property
    def saved(self) -> float | None:
        """The share of slot time not used, against always using the most there may be.

        None where no batch says how many that are.
        """
        offered = self._offered_slot_seconds
        return self.saved_slot_seconds / offered if offered > 0 else None

    @property
    def shared_slots(self) -> float:
        """The slots planned for all queries of the journal; NaN where it is of this one alone.

        Where queries share slots, what one decides is what it asks for, and no more.
        """
        return self.slots.last()["planned"] if self.name else nan

    def finish_batch(self, at_seconds: float, told: BatchNumbers) -> None:
        """Take in a micro-batch."""
        seen = told.observation
        ended = at_seconds if seen.at_seconds is None else seen.at_seconds
        seconds = nan if seen.batch_seconds is None else seen.batch_seconds
        took = seen.batch_seconds or 0.0
        span = self._span(ended, max(took, seen.trigger_seconds or 0.0))
        if not self.batch_count:
            self.first_began_seconds = ended - took
        rows = 0
        for source in seen.sources:
            rows += source.rows
        self._count(told, rows, span)
        waits = [s.waiting_rows for s in seen.sources if s.waiting_rows is not None]
        waiting = sum(waits) if waits else None
        failed = 0
        for each in seen.operators:
            failed += each.failed_rows
        self.operators.append(ended, span, seen.operators)
        self.failed_rows += failed
        used = _used(seen)
        latency = self._latency.after(ended - took, ended, rows, waiting, seen.trigger_seconds)
        if seen.batch_seconds is None:
            latency = nan
        trigger = nan if seen.trigger_seconds is None else seen.trigger_seconds
        left = nan if waiting is None else waiting
        mark = nan if told.watermark_seconds is None else told.watermark_seconds
        is_behind = self.totals.add(seconds, trigger, rows, latency, used)
        self.batches.append(
            (
                ended,
                seen.batch_id,
                seconds,
                seconds,
                trigger,
                is_behind,
                rows,
                left,
                left,
                seen.slots,
                used,
                seen.most_slots or nan,
                latency,
                mark,
                ended - mark,
                failed,
                span,
                seen.jobs,
            )
        )

    def start(self, at_seconds: float, told: QueryStarted) -> None:
        """Take in that the query began, or began again."""
        self.started, self.stopped = told, None
        self.faults.start(at_seconds, told)
        self._latency.begin_anew()
        self._is_first = True

    def stop(self, at_seconds: float, told: QueryStopped) -> None:
        """Take in that the query ended."""
        self.stopped, self.stopped_at_seconds = told, at_seconds
        self.faults.stop(at_seconds, told)

    def plan(self, at_seconds: float, told: TopologyPlanned) -> None:
        """Take in which operators there are, and the components they run in."""
        self.topology = told
        self.started = self.started or told.started  # its own start may be too old to be there
        self.sources = tuple([each.name for each in told.operators if each.kind == "source"])

    def count_slots(self, at_seconds: float, told: SlotsChanged) -> None:
        """Take in how many slots were planned, asked for and given."""
        counts = (told.planned, told.requested, told.observed, told.warm)
        self.slots.append((at_seconds, *map(float, counts)))
        self.decisions.slots(at_seconds, told)

    def forecast(self, at_seconds: float, told: ForecastMade) -> None:
        """Take in a forecast."""
        self.decisions.forecast(at_seconds, told, self.sources)

    def decide(self, at_seconds: float, told: DecisionMade) -> None:
        """Take in a decision."""
        self.decisions.decide(at_seconds, told, self.batches.last()["at"])

    def late(self, at_seconds: float, told: RowsLate) -> None:
        """Take in rows that were late."""
        self.late_rows += told.rows
        self.windows.late_rows(at_seconds, told)

    def _span(self, ended: float, usual: float) -> float:
        """Return the time since the batch before ended; ``usual`` where a run or a clock begins.

        A run that had nothing to do for a night held its slots all the while; where nobody ran the
        query then, its start is in the journal.
        """
        is_first, self._is_first = self._is_first, False
        before, self._ended = self._ended, ended if isfinite(ended) else self._ended
        if before is None or not isfinite(ended) or ended < before:
            return usual
        return min(ended - before, usual) if is_first else ended - before

    def _count(self, told: BatchNumbers, rows: int, span: float) -> None:
        seen = told.observation
        self.newest = told
        if not self.sources or self.topology is None:
            self.sources = tuple([source.name for source in seen.sources])
        self.batch_count += 1
        self.total_rows += rows
        used = _used(seen)
        self.slot_seconds += used * span
        if seen.most_slots:
            self.saved_slot_seconds += max(0, seen.most_slots - used) * span
            self._offered_slot_seconds += max(used, seen.most_slots) * span


def _used(seen: ObservedNumbers) -> int:
    """Return the slots that a batch used: what it was given of those that there are."""
    return max(1, seen.slots if seen.used_slots is None else min(seen.used_slots, seen.slots))


def handlers_of(query: QueryHistory) -> dict[type, Any]:
    """Return what takes in each kind of event, called with its time and itself."""
    from penstock.journal import events as e
    from penstock.journal import placement_events as p
    from penstock.journal import window_events as w

    return {
        BatchNumbers: query.finish_batch,
        e.QueryStarted: query.start,
        e.QueryStopped: query.stop,
        TopologyPlanned: query.plan,
        e.SlotsChanged: query.count_slots,
        e.ForecastMade: query.forecast,
        e.DecisionMade: query.decide,
        e.LimitSet: query.decisions.limit,
        e.PlanChanged: query.decisions.plan,
        e.PlanWeighed: query.decisions.weigh,
        e.ControlTaken: query.decisions.controlled,
        e.RowsFailed: query.faults.failed_rows,
        e.RowsShed: query.faults.shed_rows,
        e.FaultSeen: query.faults.fault,
        e.BatchSkipped: query.faults.skip,
        e.CorruptLine: query.faults.corrupt,
        e.UnknownEvent: query.faults.unknown,
        e.PlacementChanged: query.placement.changed,
        e.KeyGroupsMoved: query.placement.moved,
        e.HotKeysChanged: query.placement.hot_keys,
        p.HottestKeys: query.placement.hot,
        p.KeyGroupsPlaced: query.placement.placed,
        w.PanesStored: query.windows.store,
        w.WindowsClosed: query.windows.close,
        w.WindowPlanChanged: query.windows.replan,
        w.RowsLate: query.late,
        w.PanesSplit: query.preference.split,
        w.WindowTasks: query.preference.formed,
        w.SkylineSeen: query.preference.seen,
    }
