"""Topology: which operators there are, in which components, and how busy they are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import isfinite, nan

import numpy as np

from penstock.dashboard.markup import Safe, element, notice, table
from penstock.dashboard.sections import Html, Section, Shown
from penstock.dashboard.words import count, share, span
from penstock.drawing.topology import OperatorNote, topology_svg
from penstock.journal.topology_events import PlannedOperator

_LEAST_WIDTH = 1_000


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
    busy = {each.name: busy_of(shown, each.name) for each in operators}
    notes = {
        name: OperatorNote(
            f"{count(each.rows_in_per_second)} rows/s"
            + (f" · {count(each.tasks)} {'task' if each.tasks == 1 else 'tasks'}"
               if isfinite(each.tasks) else ""),
            each.utilisation if isfinite(each.utilisation) else None,
            f"utilised {share(each.utilisation)}, slowest task {span(each.slowest_seconds)}",
        )
        for name, each in busy.items()
    }  # fmt: skip
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
        # Shrunk to fit as long as it can be read.
        style=f"--least: {min(_LEAST_WIDTH, int(natural[1]) if natural else 0)}px",
    )
    return [
        Html(Safe(where + legend), title="Operators and components"),
        Html(_table(operators, busy), title="What each operator does"),
    ]


def planned(shown: Shown) -> tuple[PlannedOperator, ...]:
    """Return the operators as planned; of a journal that has no plan, as they were measured."""
    if shown.query.topology is not None:
        return shown.query.topology.operators
    return tuple(
        PlannedOperator(name, "source" if name in shown.query.sources else "operator", name)
        for name in shown.query.operators.names
    )


def busy_of(shown: Shown, name: str) -> Busy:
    """Add up what an operator did in the time that is shown."""
    rows = shown.operator(name, most=100_000)
    if not len(rows):
        return Busy(*(nan,) * 7)
    seconds = float(np.nansum(rows["span"]))
    ran = rows["tasks"] > 0
    tasks = float(rows["tasks"][ran].mean()) if ran.any() else nan
    busy = float(np.nansum(rows["busy"]))
    # Of more tasks than slots, some wait for others: they had no time of their own meanwhile.
    at_once = min(tasks, float(np.nanmean(shown.batches()["slots"])))
    mean, slowest = rows["mean"][ran], rows["slowest"][ran]
    whole = mean > 0
    return Busy(
        rows_in_per_second=float(np.nansum(rows["rows_in"])) / seconds if seconds > 0 else nan,
        rows_out_per_second=float(np.nansum(rows["rows_out"])) / seconds if seconds > 0 else nan,
        tasks=round(tasks, 1) if isfinite(tasks) else nan,
        utilisation=busy / (at_once * seconds) if seconds > 0 and at_once > 0 else nan,
        slowest_seconds=float(np.nanmax(slowest)) if len(slowest) else nan,
        imbalance=float(np.mean(slowest[whole] / mean[whole])) if whole.any() else nan,
        failed_rows=float(np.nansum(rows["failed"])),
    )


def _table(operators: tuple[PlannedOperator, ...], busy: dict[str, Busy]) -> Safe:
    ordered = sorted(operators, key=lambda each: -_or_zero(busy[each.name].utilisation))
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
