"""Enorm run again: what consolidation saves, counted by the planner, and what fusion does."""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm
from pathlib import Path

from penstock.reproduction.enorm_fusion import fusion
from penstock.reproduction.result import Beside, Figure, Progress, Reproduction, Table
from penstock.windows.consolidation import ClosingPlan, plan_closing
from penstock.windows.panes import PanedSpec, Panes
from penstock.windows.rungs import Ladder
from penstock.windows.segments import Segment
from penstock.windows.specs import tumbling

_MINUTE = 60_000_000
_HOUR_WINDOWS = (5, 10, 15, 20)  # minutes, from partials of one minute (Figs. 7 and 8)
_DAY_WINDOWS = (1, 3, 6, 36, 144)  # ten minutes each, from partials of ten (section 2)
_MANY_WINDOWS = (5, 10, 15, 20, 25, 30)  # minutes (section 7.1)

_NO_COUNT = "The paper asks for these windows in its motivating job, but prints no count for them."


def reproduce(*, data: Path | None, quick: bool, progress: Progress) -> Reproduction:
    """Count what is merged, as the planner plans it, and fuse random jobs."""
    progress("consolidation", 0.0)
    hour, day = closing(_HOUR_WINDOWS, 60), closing(_DAY_WINDOWS, 144)
    table = Table(
        "enorm_consolidation",
        "Partial results that are consolidated (Figs. 7 and 8)",
        (
            Beside("5, 10, 15, 20 minutes, an hour: naive", 240, hour.naive_inputs),
            Beside("5, 10, 15, 20 minutes, an hour: efficient", 86, hour.inputs),
            Beside(
                "10, 30 minutes, 1, 6, 24 hours, a day: naive",
                None,
                day.naive_inputs,
                why=_NO_COUNT,
            ),
            Beside(
                "10, 30 minutes, 1, 6, 24 hours, a day: efficient", None, day.inputs, why=_NO_COUNT
            ),
        ),
    )
    figures = (
        over_time("enorm_fig_7_hour", "5, 10, 15 and 20 minutes over an hour", hour, 60, "minutes"),
        over_time(
            "enorm_fig_7_day", "10 minutes to 24 hours over a day", day, 144, "tens of minutes"
        ),
        over_windows(),
    )
    random_jobs = fusion(quick, progress)
    return Reproduction(
        "enorm",
        _TITLE,
        (table, *random_jobs.tables),
        (*figures, *random_jobs.figures),
        (*random_jobs.remarks, *_REMARKS),
    )


def closing(lengths: Sequence[int], panes: int) -> ClosingPlan:
    """Plan all windows of so many panes each, over a time in which every pane has rows.

    >>> plan = closing((5, 10, 15, 20), 60)
    >>> plan.naive_inputs, plan.inputs
    (240, 86)
    """
    specs = Panes(_MINUTE, tuple(PanedSpec(tumbling(n), n, n, 0) for n in lengths))
    rows = Segment("rows", 0, panes, 1, through=0, is_delta=True, rows=panes, bytes=panes)
    return plan_closing(specs, [rows], Ladder(), None, panes)


def over_time(name: str, title: str, plan: ClosingPlan, panes: int, unit: str) -> Figure:
    """Draw how many partial results have been consolidated by the end of each pane."""
    moments = range(panes + 1)
    ended = [(merge.end, merge.panes, merge.inputs) for merge in plan.merges]
    naive = [sum(count for end, count, _ in ended if end <= moment) for moment in moments]
    efficient = [sum(count for end, _, count in ended if end <= moment) for moment in moments]
    return Figure(
        name=name,
        title=f"Partial results consolidated: {title}",
        x_label=unit,
        y_label="partial results",
        x=list(moments),
        series={"naive": naive, "efficient": efficient},
    )


def over_windows() -> Figure:
    """Draw what an hour costs with one window of 5 minutes, with two ... up to 30 minutes."""
    numbers = range(1, len(_MANY_WINDOWS) + 1)
    plans = [(lengths, closing(lengths, lcm(*lengths))) for lengths in map(_first, numbers)]
    return Figure(
        name="enorm_fig_9_windows",
        title="Partial results consolidated in an hour, by the number of windows",
        x_label="windows of 5, 10, 15 ... minutes",
        y_label="partial results an hour",
        x=list(numbers),
        series={
            "naive": [60 * plan.naive_inputs / lcm(*lengths) for lengths, plan in plans],
            "efficient": [60 * plan.inputs / lcm(*lengths) for lengths, plan in plans],
        },
    )


def _first(number: int) -> tuple[int, ...]:
    return _MANY_WINDOWS[:number]


_TITLE = "Enorm: Efficient Window-Based Computation in Large-Scale Distributed Stream Processing"
_REMARKS = (
    "Fig. 9 measures throughput on Amazon EC2 over the keys of a partial result. What can be "
    "counted without its machines is drawn instead: partial results an hour, by the number of "
    "windows. As in the paper, more windows add little once results are shared.",
    "Figs. 10 to 13 and 16 measure migration and serialisation on Amazon EC2; they are times of "
    "those machines, not of a simulated one.",
)
