"""The topology, and what its operators took."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import tzinfo
from math import inf, nan

import numpy as np

from penstock.drawing.topology import OperatorNote, topology_svg
from penstock.history.query_history import QueryHistory
from penstock.history.weighted import weighted_mean
from penstock.report.story import Chapter, Table
from penstock.report.words import counted, duration, figure, measured, share

MOST_OPERATORS = 20


@dataclass(frozen=True, slots=True)
class Work:
    """What an operator did in a whole run; ``share`` is its part of the time of all operators."""

    name: str
    rows_in: float
    rows_out: float
    busy_seconds: float
    slots: float
    share: float
    tasks: float
    slowest_task_seconds: float
    mean_task_seconds: float
    failed_rows: float
    rows_per_second: float


def work_of(query: QueryHistory) -> list[Work]:
    """Return what each operator did, the busiest first."""
    seen = {name: query.operators.buckets(name, -inf, inf, 1) for name in query.operators.names}
    sums = {
        name: {c: float(np.nansum(v)) for c, v in b.columns.items()} for name, b in seen.items()
    }
    busy = sum(each["busy"] for each in sums.values())
    found = []
    for name, total in sums.items():
        span, buckets = total["span"], seen[name]
        found.append(
            Work(
                name=name,
                rows_in=total["rows_in"],
                rows_out=total["rows_out"],
                busy_seconds=total["busy"],
                slots=total["busy"] / span if span > 0 else nan,
                share=total["busy"] / busy if busy > 0 else 0.0,
                tasks=weighted_mean(buckets["tasks"], buckets["count"]),
                slowest_task_seconds=float(np.nanmax(buckets["slowest"])),
                mean_task_seconds=weighted_mean(buckets["mean"], buckets["count"]),
                failed_rows=total["failed"],
                rows_per_second=total["rows_in"] / span if span > 0 else nan,
            )
        )
    return sorted(found, key=lambda each: -each.busy_seconds)


def topology_chapter(query: QueryHistory, zone: tzinfo) -> Chapter | None:
    """Draw the topology, with what each operator had to do."""
    planned = query.topology
    if planned is None or not planned.operators:
        return None
    notes = {
        each.name: OperatorNote(
            f"{figure(each.rows_per_second)} rows/s, {share(each.share)}",
            each.share,
            f"{counted(each.rows_in, 'row')} in, {duration(each.busy_seconds)} of a slot",
        )
        for each in work_of(query)
    }
    components = {each.component for each in planned.operators if each.component}
    said = (
        f"{counted(len(planned.operators), 'operator')} in "
        f"{counted(len(components), 'component')}, as they ran at the end. Below each name: rows a "
        "second that came in, and its share of the time that all operators took, which is also "
        "its colour."
    )
    return Chapter("The topology", said, drawing=topology_svg(planned.operators, notes))


def operators_chapter(query: QueryHistory, zone: tzinfo) -> Chapter | None:
    """Tell which operators took most of the time."""
    found = work_of(query)
    if not found:
        return None
    first = found[0]
    said = (
        f"{first.name} took {share(first.share)} of the time of all operators, as much as "
        f"{measured(first.slots, 'slot')} can do."
    )
    if not first.busy_seconds:
        said = "No operator took a time that was measured."
    rows = [
        (
            each.name,
            figure(each.busy_seconds, "s"),
            share(each.share),
            figure(each.slots),
            f"{each.rows_in:,.0f}",
            f"{each.rows_out:,.0f}",
            figure(each.tasks),
            figure(each.slowest_task_seconds, "s"),
            f"{each.failed_rows:,.0f}",
        )
        for each in found[:MOST_OPERATORS]
    ]
    columns = ("operator", "busy", "share", "slots", "rows in", "rows out", "tasks",
               "slowest task", "failed")  # fmt: skip
    left = len(found) - MOST_OPERATORS
    note = f"and {counted(left, 'operator')} that took less." if left > 0 else ""
    return Chapter("The busiest operators", said, tables=(Table(columns, rows, note=note),))
