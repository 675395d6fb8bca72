"""Windows: how many were open and closed, what their panes take, what came too late."""

from __future__ import annotations

from datetime import tzinfo
from math import inf

import numpy as np

from penstock.drawing.figure import Figure
from penstock.history.query_history import QueryHistory
from penstock.history.windows_seen import WindowedOperator
from penstock.report.chapters.load import MOST_POINTS, TIME
from penstock.report.story import Chapter, Table
from penstock.report.words import counted, duration, figure, size

MOST_CURVES = 6


def windows_chapter(query: QueryHistory, zone: tzinfo) -> Chapter | None:
    """Tell what became of windows, by operator."""
    windows = query.windows
    if not windows.operators and not windows.late.total:
        return None
    closed = sum(each.closed_windows for each in windows.operators.values())
    late = counted(windows.late.total, "row")
    said = f"{counted(closed, 'window')} closed, and {late} came after theirs had."
    rows = [_row(name, each, query) for name, each in windows.operators.items()]
    columns = ("operator", "open", "closed", "results", "store", "partials", "age", "late rows")
    tables = [Table(columns, rows)]
    plans = [
        (name, each.plan.plan, each.plan.reason)
        for name, each in windows.operators.items()
        if each.plan is not None
    ]
    if plans:
        title = "How windows are formed, at the end"
        tables.append(Table(("operator", "plan", "why"), plans, ("plan", "why"), title=title))
    figures = []
    for column, title, unit, scale in (
        ("bytes", "What pane stores hold", "KiB", 1 / 1024),
        ("open", "Open windows", "windows", 1.0),
    ):
        drawn = _figure(windows.operators, column, title, unit, scale, zone)
        if drawn is not None:
            figures.append(drawn)
    return Chapter("Windows", f"{said[0].upper()}{said[1:]}", tuple(figures), tuple(tables))


def _row(name: str, operator: WindowedOperator, query: QueryHistory) -> tuple[str, ...]:
    last = operator.stored.last()
    known = len(operator.stored) > 0
    return (
        name,
        figure(last["open"]),
        f"{operator.closed_windows:,}",
        f"{operator.result_rows:,}",
        size(last["bytes"]) if known else "-",
        f"{last['rows']:,.0f}" if known else "-",
        duration(last["age"]) if known else "-",
        f"{dict(query.windows.late.largest()).get(name, 0):,}",
    )


def _figure(
    operators: dict[str, WindowedOperator],
    column: str,
    title: str,
    unit: str,
    scale: float,
    zone: tzinfo,
) -> Figure | None:
    """Draw one number of the operators, all at the moments of the one with most of them."""
    there = {
        name: each.stored.buckets(-inf, inf, MOST_POINTS)
        for name, each in list(operators.items())[:MOST_CURVES]
        if len(each.stored) and not np.isnan(each.stored.column(column)).all()
    }
    if not there:
        return None
    x = max((each["at"] for each in there.values()), key=len)
    series = {
        name: np.interp(x, each["at"], each[column] * scale, left=np.nan).tolist()
        for name, each in there.items()
    }
    return Figure(column, title, TIME, unit, x.tolist(), series, zone=zone)
