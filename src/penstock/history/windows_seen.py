"""What became of windows: panes stored, windows closed, rows that were late."""

from __future__ import annotations

from collections import deque
from math import nan

from penstock.history.bounded_counts import BoundedCounts
from penstock.history.growing_table import GrowingTable, Merge
from penstock.journal.window_events import (
    PanesStored,
    RowsLate,
    WindowPlanChanged,
    WindowsClosed,
)

MOST_OPERATORS = 200
KEPT_PLANS = 200


class WindowedOperator:
    """One windowed operator: what its pane store holds, and what has come out of it."""

    def __init__(self) -> None:
        self.stored = GrowingTable(
            {
                "at": Merge.LAST,
                "rows": Merge.LAST,
                "bytes": Merge.LAST,
                "segments": Merge.LAST,
                "age": Merge.LAST,
                "open": Merge.LAST,
                "watermark": Merge.LAST,
            },
            most_rows=20_000,
        )
        self.closed_windows = 0
        self.result_rows = 0
        self.newest_end_seconds: float | None = None
        self.plan: WindowPlanChanged | None = None


class WindowsSeen:
    """All windowed operators of a query, by name."""

    def __init__(self) -> None:
        self.operators: dict[str, WindowedOperator] = {}
        self.late = BoundedCounts[str]("others")
        self.plans: deque[tuple[float, WindowPlanChanged]] = deque(maxlen=KEPT_PLANS)

    def store(self, at_seconds: float, told: PanesStored) -> None:
        """Take in what a pane store holds."""
        mark = told.watermark_seconds
        self._of(told.operator).stored.append(
            (
                at_seconds,
                float(told.rows),
                float(told.bytes),
                float(told.segments),
                told.age_seconds,
                nan if told.open_windows is None else float(told.open_windows),
                nan if mark is None else mark,
            )
        )

    def close(self, at_seconds: float, told: WindowsClosed) -> None:
        """Take in that windows closed."""
        operator = self._of(told.operator)
        operator.closed_windows += told.windows
        operator.result_rows += told.rows
        if told.newest_end_seconds is not None:
            operator.newest_end_seconds = told.newest_end_seconds

    def replan(self, at_seconds: float, told: WindowPlanChanged) -> None:
        """Take in that windows are formed in another way."""
        self._of(told.operator).plan = told
        self.plans.append((at_seconds, told))

    def late_rows(self, at_seconds: float, told: RowsLate) -> None:
        """Take in rows that came after a window of theirs had closed."""
        self.late.add(told.operator, told.rows)

    def _of(self, operator: str) -> WindowedOperator:
        found = self.operators.get(operator)
        if found is None:
            name = operator if len(self.operators) < MOST_OPERATORS else "others"
            found = self.operators.setdefault(name, WindowedOperator())
        return found
