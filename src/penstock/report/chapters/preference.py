"""Preference queries: how panes were split, and the newest skyline."""

from __future__ import annotations

from datetime import tzinfo
from math import inf

import numpy as np

from penstock.drawing.figure import Figure
from penstock.history.preference_seen import PreferenceOperator
from penstock.history.query_history import QueryHistory
from penstock.journal.window_events import SkylineSeen
from penstock.report.chapters.load import MOST_POINTS, TIME
from penstock.report.story import Chapter, Table
from penstock.report.words import clock, counted, figure, share

MOST_GROUPS = 6


def preference_chapter(query: QueryHistory, zone: tzinfo) -> Chapter | None:
    """Tell how the panes of preference queries were split, and draw their newest windows."""
    operators = query.preference.operators
    if not operators:
        return None
    figures: list[Figure] = []
    rows = []
    for name, each in operators.items():
        figures += _figures(name, each, zone)
        split = each.newest_split
        rows.append(
            (
                name,
                "-" if split is None else figure(split.parts_per_pane),
                "-" if split is None else figure(split.threshold_rows),
                "-" if split is None else share(split.utilisation),
                f"{np.nansum(each.tasks.column('windows')):,.0f}",
                "" if split is None else split.reason,
            )
        )
    count = len(operators)
    said = (
        f"{count} preference {'query' if count == 1 else 'queries'} ran. Each pane is split in as "
        "many parts as keep tasks busy; a skyline is what no other row beats."
    )
    columns = ("operator", "parts a pane", "rows a part", "utilisation", "windows", "newest reason")
    tables = (Table(columns, rows, ("newest reason",)),)
    return Chapter("Preference queries", said, tuple(figures), tables)


def _figures(name: str, operator: PreferenceOperator, zone: tzinfo) -> list[Figure]:
    figures = []
    splits = operator.splits.buckets(-inf, inf, MOST_POINTS)
    if len(splits):
        series = {"parts": splits["parts"].tolist()}
        figures.append(
            Figure("parts", f"Parts a pane was split in, {name}", TIME, "parts",
                   splits["at"].tolist(), series, stepped={"parts"}, zone=zone)
        )  # fmt: skip
    if operator.skyline:
        figures.append(_skyline(name, operator.skyline, zone))
    return figures


def _skyline(name: str, groups: tuple[SkylineSeen, ...], zone: tzinfo) -> Figure:
    """Draw the newest window as points, a group of it in each colour."""
    shown, first = groups[-MOST_GROUPS:], groups[-1]
    points = [
        (x, y, n) for n, each in enumerate(shown) for x, y in zip(each.x, each.y, strict=False)
    ]
    series = {
        each.key or "skyline": [y if m == n else float("nan") for _, y, m in points]
        for n, each in enumerate(shown)
    }
    until = clock(first.window_end_seconds, zone)
    return Figure(
        "skyline",
        f"The newest skyline of {name}: {counted(sum(each.rows for each in groups), 'row')} "
        f"of the window until {until}",
        _axis(first.x_column, first.x_is_maximized),
        _axis(first.y_column, first.y_is_maximized),
        [x for x, _, _ in points],
        series,
        joined=False,
        zone=zone if first.x_is_time else None,
    )


def _axis(column: str, is_maximized: bool) -> str:
    return f"{column} ({'more' if is_maximized else 'less'} is better)"
