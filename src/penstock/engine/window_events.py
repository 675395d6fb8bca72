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
        low_micros: int | None = None,
    ) -> Iterator[KnownEvent]:
        """Yield what happened in a batch that is committed; ``results`` windows' rows came out.

        ``low_micros`` is the watermark that closed them.
        """
        if counts.late_rows:
            yield RowsLate(batch_id, self._operator, counts.late_rows)
        if plan is not None:
            windows, newest = self._closed(plan), self._newest_end(plan)
            yield WindowsClosed(batch_id, self._operator, windows, results, newest)
        if ladder != self._ladder:
            self._ladder = ladder
            kept = f"keeps {ladder.describe(self._panes)}"
            yield WindowPlanChanged(batch_id, self._operator, kept, ladder.reason)
        yield self._stored(batch_id, state, low_micros)

    def _closed(self, plan: ClosingPlan) -> int:
        """Return how many windows a plan closes."""
        if not plan.is_bulk:
            return sum(merge.spec is not None for merge in plan.merges)
        return sum(len(spec.ends(self._after(plan), plan.through)) for spec in self._panes.specs)

    def _after(self, plan: ClosingPlan) -> int:
        """Return the boundary after which the windows of a plan in bulk end."""
        oldest = min(piece.first for piece in plan.reads)
        return oldest if plan.after is None else max(oldest, plan.after)

    def _newest_end(self, plan: ClosingPlan) -> float | None:
        """Return the end of the newest window that a plan closes; None where it closes none."""
        if plan.is_bulk:
            after, newest = self._after(plan), max(piece.end for piece in plan.reads) - 1
            found = (
                spec.ends(after, min(plan.through, spec.last_end_with(newest)))
                for spec in self._panes.specs
            )
            ends = [each[-1] for each in found if each]
        else:
            ends = [merge.end for merge in plan.merges if merge.spec is not None]
        return self._panes.start_micros(max(ends)) / 1e6 if ends else None

    def _stored(
        self, batch_id: int, state: WindowState, low_micros: int | None = None
    ) -> PanesStored:
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
            open_windows=self._panes.open_windows(
                state.closed, [(segment.first, segment.end) for segment in segments]
            ),
            watermark_seconds=None if low_micros is None else low_micros / 1e6,
        )
