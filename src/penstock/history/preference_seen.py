"""What became of preference queries: how panes were split, and the newest skylines."""

from __future__ import annotations

from math import nan

from penstock.history.growing_table import GrowingTable, Merge
from penstock.journal.window_events import PanesSplit, SkylineSeen, WindowTasks

MOST_OPERATORS = 100
MOST_GROUPS = 50


class PreferenceOperator:
    """One preference query: its splits over time, its window tasks, and its newest window."""

    def __init__(self) -> None:
        self.splits = GrowingTable(
            {
                "at": Merge.LAST,
                "parts": Merge.MEAN,
                "threshold": Merge.MEAN,
                "alpha": Merge.MEAN,
                "utilisation": Merge.MEAN,
                "tasks": Merge.MEAN,
            },
            most_rows=20_000,
        )
        self.tasks = GrowingTable(
            {
                "at": Merge.LAST,
                "windows": Merge.SUM,
                "updates": Merge.SUM,
                "merges": Merge.SUM,
                "utilisation": Merge.MEAN,
                "idle": Merge.MEAN,
            },
            most_rows=20_000,
        )
        self.newest_split: PanesSplit | None = None
        self.skyline: tuple[SkylineSeen, ...] = ()


class PreferenceSeen:
    """All preference queries of a query, by their operator."""

    def __init__(self) -> None:
        self.operators: dict[str, PreferenceOperator] = {}

    def split(self, at_seconds: float, told: PanesSplit) -> None:
        """Take in how panes were split."""
        operator = self._of(told.operator)
        operator.newest_split = told
        threshold = nan if told.threshold_rows is None else told.threshold_rows
        operator.splits.append(
            (
                at_seconds,
                told.parts_per_pane,
                threshold,
                told.alpha,
                told.utilisation,
                float(told.tasks),
            )
        )

    def formed(self, at_seconds: float, told: WindowTasks) -> None:
        """Take in how windows were formed."""
        self._of(told.operator).tasks.append(
            (
                at_seconds,
                float(told.windows),
                float(told.updates),
                float(told.merges),
                told.utilisation,
                told.idle_share,
            )
        )

    def seen(self, at_seconds: float, told: SkylineSeen) -> None:
        """Take in a window that came out: the groups of one window come one after the other.

        Only so many of them can be told apart in a drawing.
        """
        if len(told.x) != len(told.y):
            return
        operator = self._of(told.operator)
        same = [
            each
            for each in operator.skyline
            if each.window_end_seconds == told.window_end_seconds
            and each.window_start_seconds == told.window_start_seconds
            and each.key != told.key
        ]
        operator.skyline = (*same, told)[:MOST_GROUPS]

    def _of(self, operator: str) -> PreferenceOperator:
        found = self.operators.get(operator)
        if found is None:
            name = operator if len(self.operators) < MOST_OPERATORS else "others"
            found = self.operators.setdefault(name, PreferenceOperator())
        return found
