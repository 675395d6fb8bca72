"""What the journal is told of the windows that one operator forms, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.engine.partials import PartialCounts
from penstock.engine.window_state import WindowState
from penstock.journal.events import KnownEvent
from penstock.journal.window_events import PanesStored, RowsLate, WindowPlanChanged, WindowsClosed
from penstock.windows.consolidation import ClosingPlan
from penstock.windows.panes import Panes
from penstock.windows.rungs import Ladder


class WindowEvents:
    """Tells of late rows, of windows that closed, of another plan, and of what is stored."""

    def __init__(self, operator: str, panes: Panes) -> None:
        self._operator = operator
        self._panes = panes
        self._ladder = Ladder()

    def events(
        self,
        batch_id: int,
        state: WindowState,
        counts: PartialCounts,
        plan: ClosingPlan | None,
        ladder: Ladder,
        results: int,
    ) -> Iterator[KnownEvent]:
        """Yield what happened in a batch that is committed; ``results`` windows' rows came out."""
        if counts.late_rows:
            yield RowsLate(batch_id, self._operator, counts.late_rows)
        if plan is not None:
            yield WindowsClosed(batch_id, self._operator, self._closed(plan), results)
        if ladder != self._ladder:
            self._ladder = ladder
            kept = f"keeps {ladder.describe(self._panes)}"
            yield WindowPlanChanged(batch_id, self._operator, kept, ladder.reason)
        yield self._stored(batch_id, state)

    def _closed(self, plan: ClosingPlan) -> int:
        """Return how many windows a plan closes."""
        if not plan.is_bulk:
            return sum(merge.spec is not None for merge in plan.merges)
        oldest = min(piece.first for piece in plan.reads)
        after = oldest if plan.after is None else max(oldest, plan.after)
        return sum(len(spec.ends(after, plan.through)) for spec in self._panes.specs)

    def _stored(self, batch_id: int, state: WindowState) -> PanesStored:
        segments = state.segments
        oldest = min((segment.first for segment in segments), default=0)
        age = state.closed - oldest if segments else 0
        return PanesStored(
            batch_id=batch_id,
            operator=self._operator,
            segments=len(segments),
            rows=sum(segment.rows for segment in segments),
            bytes=sum(segment.bytes for segment in segments),
            age_seconds=max(0, age) * self._panes.micros / 1e6,
        )
