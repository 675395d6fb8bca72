"""Where rows went: how even tasks were, the hottest keys, and key groups that moved."""

from __future__ import annotations

from datetime import tzinfo
from math import inf

from penstock.drawing.figure import Figure
from penstock.history.query_history import QueryHistory
from penstock.placement.group_ranges import in_ranges
from penstock.report.chapters.load import MOST_POINTS, TIME
from penstock.report.chapters.operators import work_of
from penstock.report.headline import clock_for
from penstock.report.story import Chapter, Table
from penstock.report.words import counted, figure, share

MOST_CHANGES = 50


def placement_chapter(query: QueryHistory, zone: tzinfo) -> Chapter | None:
    """Tell how even the tasks of the busiest operator were, and what was done about it."""
    placed = query.placement
    work = [each for each in work_of(query) if each.tasks > 1 and each.mean_task_seconds > 0]
    if not work and not placed.changes and not placed.hottest:
        return None
    said = ""
    figures: tuple[Figure, ...] = ()
    rows: list[tuple[str, ...]]
    if work:
        first = work[0]
        said = (
            f"Of the busiest operator, {first.name}, a task took "
            f"{figure(first.mean_task_seconds, 's')} on average, and the slowest of all "
            f"{figure(first.slowest_task_seconds, 's')}. "
        )
        seen = query.operators.buckets(first.name, -inf, inf, MOST_POINTS)
        series = {"slowest task": seen["slowest"].tolist(), "mean task": seen["mean"].tolist()}
        figures = (
            Figure(
                "balance", f"Tasks of {first.name}", TIME, "seconds", seen["at"].tolist(), series,
                zone=zone,
            ),
        )  # fmt: skip
    if placed.moved_groups:
        said += f"{counted(placed.moved_groups, 'key group')} moved to other tasks. "
    else:
        said += "No key group moved. "
    tables = []
    if placed.hottest:
        rows = [
            (operator, hot.key, share(hot.share), figure(hot.mean_seconds, "s"))
            for operator, told in placed.hottest.items()
            for hot in told.keys
        ]
        tables.append(Table(("operator", "key", "share of its load", "a row takes"), rows,
                            title="The hottest keys, at the end"))  # fmt: skip
    if placed.owners:
        rows = [
            (operator, str(len(told.owners)), str(len(set(told.owners))), _spread(told.owners))
            for operator, told in placed.owners.items()
        ]
        tables.append(Table(("operator", "key groups", "tasks", "groups of a task"), rows,
                            title="Key groups, at the end"))  # fmt: skip
    when = clock_for(query, zone)
    if placed.moves:
        rows = [
            (when(each.at_seconds), each.operator, in_ranges(each.groups), str(each.source),
             str(each.target))
            for each in list(placed.moves)[-MOST_CHANGES:]
        ]  # fmt: skip
        columns = ("when", "operator", "groups", "from task", "to task")
        tables.append(Table(columns, rows, columns[1:3], title="Key groups that moved",
                            over_time=True))  # fmt: skip
    if placed.changes:
        rows = [
            (when(each.at_seconds), each.operator, f"{each.what}: {each.reason}")
            for each in list(placed.changes)[-MOST_CHANGES:]
        ]
        heads = ("when", "operator", "what and why")
        tables.append(Table(heads, rows, heads[1:], title="What changed", over_time=True))
    return Chapter("Placement", said.strip(), figures, tuple(tables))


def _spread(owners: tuple[int, ...]) -> str:
    counts = [owners.count(task) for task in set(owners)]
    if not counts:
        return "-"
    return str(counts[0]) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
