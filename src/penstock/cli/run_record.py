"""What a run has done so far, as its journal tells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from penstock.elasticity.observation import Observation
from penstock.journal.events import (
    BatchFinished,
    DecisionMade,
    HotKeysChanged,
    KeyGroupsMoved,
    PlacementChanged,
    QueryStarted,
)
from penstock.journal.lines import Event
from penstock.journal.window_events import RowsLate

Placed = PlacementChanged | KeyGroupsMoved | HotKeysChanged
KEPT_BATCHES = 60
KEPT_DECISIONS = 1_000


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """One micro-batch, as a line of the progress shows it; ``rows_out`` is by operator."""

    batch_id: int
    rows_in: int
    rows_per_second: float
    batch_seconds: float
    trigger_seconds: float | None
    waiting_rows: int | None
    slots: int
    failed_rows: int
    rows_out: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class RunRecord:
    """Totals since the query last started, the newest micro-batches, and what was decided.

    ``decisions`` are of the policy, ``placements`` of where rows and keys go.

    >>> RunRecord().after([Event(1, 0.0, BatchFinished(Observation(0, 0.0, 0.5, 1.0, 4)))]).batches
    1
    """

    batches: int = 0
    rows_in: int = 0
    failed_rows: int = 0
    late_rows: int = 0
    rows_out: Mapping[str, int] = field(default_factory=dict)
    recent: tuple[BatchRecord, ...] = ()
    decisions: tuple[DecisionMade, ...] = ()
    placements: tuple[Placed, ...] = ()
    last_at_seconds: float | None = None

    def after(self, events: Iterable[Event]) -> RunRecord:
        """Return the record with some more events in it."""
        record = self
        for event in events:
            record = record._after(event)
        return record

    def _after(self, event: Event) -> RunRecord:
        body = event.body
        if isinstance(body, QueryStarted):
            # A journal goes on over restarts; a record is of one run, whose first decision is
            # journaled just before its start.
            first = [made for made in self.decisions[-1:] if made.batch_id < 0]
            return RunRecord(decisions=tuple(first))
        if isinstance(body, DecisionMade):
            return replace(self, decisions=(*self.decisions, body)[-KEPT_DECISIONS:])
        if isinstance(body, Placed):
            return replace(self, placements=(*self.placements, body)[-KEPT_DECISIONS:])
        if isinstance(body, RowsLate):
            return replace(self, late_rows=self.late_rows + body.rows)
        if isinstance(body, BatchFinished):
            return self._after_batch(body.observation)
        return self

    def _after_batch(self, seen: Observation) -> RunRecord:
        batch = self._batch_record(seen)
        names = dict.fromkeys([*self.rows_out, *batch.rows_out])
        totals = {n: self.rows_out.get(n, 0) + batch.rows_out.get(n, 0) for n in names}
        return replace(
            self,
            batches=self.batches + 1,
            rows_in=self.rows_in + batch.rows_in,
            failed_rows=self.failed_rows + batch.failed_rows,
            rows_out=totals,
            recent=(*self.recent, batch)[-KEPT_BATCHES:],
            last_at_seconds=seen.at_seconds,
        )

    def _batch_record(self, seen: Observation) -> BatchRecord:
        since_last = seen.batch_seconds
        if self.last_at_seconds is not None:
            since_last = max(since_last, seen.at_seconds - self.last_at_seconds)
        slots = seen.slots
        if self.decisions:
            slots = min(slots, self.decisions[-1].decision.slots)
        return BatchRecord(
            batch_id=seen.batch_id,
            rows_in=seen.rows_in,
            rows_per_second=seen.rows_in / since_last if since_last > 0 else 0.0,
            batch_seconds=seen.batch_seconds,
            trigger_seconds=seen.trigger_seconds,
            waiting_rows=seen.waiting_rows,
            slots=slots,
            failed_rows=sum(operator.failed_rows for operator in seen.operators),
            rows_out={operator.name: operator.rows_out for operator in seen.operators},
        )
