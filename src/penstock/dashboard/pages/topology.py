"""Topology: which operators there are, in which components, and how busy they are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, isfinite, nan

import numpy as np

from penstock.dashboard.markup import Safe, element, joined, notice, table
from penstock.dashboard.sections import Html, Section, Shown
from penstock.dashboard.words import count, share, span
from penstock.drawing.topology import OperatorNote, topology_svg
from penstock.history.weighted import weighted_mean
from penstock.journal.topology_events import PlannedOperator

MOST_DRAWN = 300
MOST_LISTED = 500
# Drawn text is of 11 px; below 10 it can't be read.
_LEAST_SCALE = 0.92


@dataclass(frozen=True, slots=True)
class Busy:
    """How busy one operator was in the time that is shown.

    ``utilisation`` is the time its tasks took over the time of the slots they ran on, as many at
    once as there are: 1 is never idle.
    """

    rows_in_per_second: float
    rows_out_per_second: float
    tasks: float
    utilisation: float
    slowest_seconds: float
    imbalance: float
    failed_rows: float


def sections(shown: Shown) -> list[Section]:
    """Draw the operators, and say what each did."""
    operators = planned(shown)
    if not operators:
        return [
            Html(notice("The journal does not tell the operators yet.",
                        "They are written when the first micro-batch is committed."))
        ]  # fmt: skip
    slots = _mean_slots(shown)
    busy = {each.name: busy_of(shown, each.name, slots) for each in operators}
    # Sorting keeps the order of the plan among operators that are equally busy.
    busiest = sorted(operators, key=lambda each: -_or_zero(busy[each.name].utilisation))
    names = {each.name for each in busiest[:MOST_DRAWN]}
    drawn = [each for each in operators if each.name in names]
    left = len(operators) - len(drawn)
    about = (
        f"The {MOST_DRAWN} busiest of {len(operators):,} operators in the time that is shown. "
        f"{left:,} others are left out, with the lines to them."
        if left > 0
        else ""
    )
    unlisted = len(operators) - MOST_LISTED
    said = f"{unlisted:,} others, which are less busy, are left out." if unlisted > 0 else ""
    return [
        Html(_drawing(drawn, busy), "Operators and components", about),
        Html(_table(busiest[:MOST_LISTED], busy), "What each operator does", said),
    ]


def _drawing(operators: Sequence[PlannedOperator], busy: Mapping[str, Busy]) -> Safe:
    """Draw operators in their components, each with how busy it was."""
    notes = {each.name: _note(busy[each.name]) for each in operators}
    drawing = Safe(topology_svg(operators, notes))
    legend = element(
        "p",
        "Colour is utilisation, from green (idle) to red (never idle); a thick border is Python; "
        "dashed lines carry dead letters; a box is a component, which runs as one stage.",
        class_="about",
    )
    natural = re.search(r'width="(\d+)', drawing)
    where = element(
        "div",
        drawing,
        class_="drawing",
        tabindex="0",
        role="region",
        aria_label="Topology",
        # Shrunk to fit as long as it can be read; beyond that it is scrolled.
        style=f"--least: {ceil(_LEAST_SCALE * int(natural[1])) if natural else 0}px",
    )
    return joined((where, legend))


def _note(busy: Busy) -> OperatorNote:
    tasks = f" · {count(busy.tasks)} {'task' if busy.tasks == 1 else 'tasks'}"
    return OperatorNote(
        f"{count(busy.rows_in_per_second)} rows/s{tasks if isfinite(busy.tasks) else ''}",
        busy.utilisation if isfinite(busy.utilisation) else None,
        f"utilised {share(busy.utilisation)}, slowest task {span(busy.slowest_seconds)}",
    )


def planned(shown: Shown) -> tuple[PlannedOperator, ...]:
    """Return the operators as planned; of a journal that has no plan, as they were measured."""
    if shown.query.topology is not None:
        return shown.query.topology.operators
    return tuple(
        PlannedOperator(name, "source" if name in shown.query.sources else "operator", name)
        for name in shown.query.operators.names
    )


def busy_of(shown: Shown, name: str, slots: float | None = None) -> Busy:
    """Add up what an operator did in the time that is shown, on so many ``slots`` on average."""
    rows = shown.operator(name, most=100_000)
    if not len(rows):
        return Busy(*(nan,) * 7)
    seconds = float(np.nansum(rows["span"]))
    ran, counts = rows["tasks"] > 0, rows["count"]
    tasks = weighted_mean(rows["tasks"][ran], counts[ran])
    busy = float(np.nansum(rows["busy"]))
    # Of more tasks than slots, some wait for others: they had no time of their own meanwhile.
    at_once = min(tasks, _mean_slots(shown) if slots is None else slots)
    slowest = rows["slowest"][ran]
    return Busy(
        rows_in_per_second=float(np.nansum(rows["rows_in"])) / seconds if seconds > 0 else nan,
        rows_out_per_second=float(np.nansum(rows["rows_out"])) / seconds if seconds > 0 else nan,
        tasks=round(tasks, 1) if isfinite(tasks) else nan,
        utilisation=busy / (at_once * seconds) if seconds > 0 and at_once > 0 else nan,
        slowest_seconds=float(np.nanmax(slowest)) if len(slowest) else nan,
        imbalance=weighted_mean(rows["balance"][ran], counts[ran]),
        failed_rows=float(np.nansum(rows["failed"])),
    )


def _mean_slots(shown: Shown) -> float:
    batches = shown.batches()
    return weighted_mean(batches["slots"], batches["count"])


def _table(ordered: Sequence[PlannedOperator], busy: Mapping[str, Busy]) -> Safe:
    rows = [
        (
            each.name,
            each.kind,
            each.component,
            "Python" if each.runs_python else "JVM",
            count(found.tasks),
            count(found.rows_in_per_second),
            count(found.rows_out_per_second),
            share(found.utilisation),
            span(found.slowest_seconds),
            f"{found.imbalance:.2f}" if isfinite(found.imbalance) else "–",
            count(found.failed_rows),
        )
        for each in ordered
        for found in (busy[each.name],)
    ]
    heads = ("operator", "kind", "component", "runs in", "tasks", "rows in/s", "rows out/s",
             "utilised", "slowest task", "slowest / mean", "failed")  # fmt: skip
    return table("Operators, the busiest first", heads, rows, words=(0, 1, 2, 3))


def _or_zero(number: float) -> float:
    return number if isfinite(number) else 0.0
