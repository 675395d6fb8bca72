"""The moments that matter in a run, as a line of time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo
from math import isfinite

import numpy as np

from penstock.history.query_history import QueryHistory
from penstock.report.headline import ENDED, clock_for, ending_of
from penstock.report.story import Chapter, Moment, Table
from penstock.report.words import counted, duration, figure

MOST_MOMENTS = 60
_BURST = 1.5
_CAUGHT_UP = 0.1


def turning_points_chapter(query: QueryHistory, zone: tzinfo) -> Chapter | None:
    """Tell the moments that matter, in their order."""
    moments = moments_of(query, zone)
    if not moments:
        return None
    shown = moments[:MOST_MOMENTS]
    left = len(moments) - len(shown)
    note = (
        f"and {counted(left, 'more moment')}; the chapter of faults has the newest." if left else ""
    )
    when = clock_for(query, zone)
    rows = [(when(each.at_seconds), each.kind, each.what) for each in shown]
    said = "What happened, in its order."
    table = Table(
        ("when", "what", "how it was"), rows, ("what", "how it was"), note, over_time=True
    )
    return Chapter("Turning points", said, tables=(table,))


def moments_of(query: QueryHistory, zone: tzinfo) -> tuple[Moment, ...]:
    """Find the moments that matter: starts, falling behind, backlog, burst, recovery, faults."""
    found = [
        *_starts(query),
        *_behind(query),
        *_burst(query),
        *_backlog(query),
        *_slots(query),
        *(
            Moment(each.at_seconds, f"{each.what}: {each.detail}", "fault")
            for each in query.faults.newest
        ),
    ]
    if query.stopped is not None:
        kind = "error" if query.stopped.error else "end"
        found.append(Moment(query.stopped_at_seconds, ending_of(query, zone), kind))
    known = [each for each in found if isfinite(each.at_seconds)]
    return tuple(sorted(known, key=lambda each: each.at_seconds))


def _starts(query: QueryHistory) -> Iterator[Moment]:
    for number, each in enumerate(query.faults.began):
        slots = f"with {counted(each.slots, 'slot')}"
        # Of very many starts the oldest are forgotten: then the first that is known is none.
        is_first = number == 0 and len(query.faults.began) > query.faults.restarts
        if is_first or not query.faults.restarts:
            yield Moment(each.at_seconds, f"The query began {slots}.", "start")
        else:
            text = f"The query began again {slots}{_after(each.after)}."
            yield Moment(each.at_seconds, text, "restart")


def _after(ending: str | None) -> str:
    """Say how the run before had ended, where that says anything."""
    return "" if not ending or ending == ENDED else f", after: {ending.rstrip('.')}"


def _behind(query: QueryHistory) -> Iterator[Moment]:
    """Find when batches first took longer than their trigger, and when they no longer did."""
    at, slowest = query.batches.column("at"), query.batches.column("slowest")
    trigger = query.batches.column("trigger")
    behind = np.flatnonzero(query.batches.column("behind"))
    if not len(behind):
        return
    first = int(behind[0])
    yield Moment(
        float(at[first]),
        f"A batch took {duration(float(slowest[first]))}, longer than its trigger of "
        f"{duration(float(trigger[first]))}, for the first time.",
        "behind",
    )
    last = int(behind[-1])
    if last + 1 < len(at):
        text = "From here on every batch ended within its trigger."
        yield Moment(float(at[last + 1]), text, "kept up")


def _burst(query: QueryHistory) -> Iterator[Moment]:
    at, rows = query.batches.column("at"), query.batches.column("rows")
    span = query.batches.column("span")
    if len(at) < 3:
        return
    rate = np.divide(rows, span, out=np.zeros(len(rows)), where=span > 0)
    mean, most = float(rows.sum() / max(span.sum(), 1e-9)), int(np.argmax(rate))
    if mean > 0 and rate[most] >= _BURST * mean:
        text = (
            f"The most rows were read: {figure(float(rate[most]))} a second, "
            f"{figure(float(rate[most]) / mean)} times the mean."
        )
        yield Moment(float(at[most]), text, "burst")


def _backlog(query: QueryHistory) -> Iterator[Moment]:
    """Find the largest backlog, and when nine tenths of it had been worked off."""
    at, waiting = query.batches.column("at"), query.batches.column("waiting")
    deepest = query.batches.column("deepest")
    if not len(at) or np.isnan(deepest).all() or not np.nanmax(deepest):
        return
    most = int(np.nanargmax(deepest))
    text = f"{counted(float(deepest[most]), 'row')} waited, more than at any other time."
    yield Moment(float(at[most]), text, "backlog")
    low = np.flatnonzero(waiting[most:] <= _CAUGHT_UP * deepest[most])
    if len(low):
        caught = most + int(low[0])
        took = duration(float(at[caught] - at[most]))
        left = counted(float(waiting[caught]), "row")
        text = f"Caught up within {took}: {left} waited then."
        yield Moment(float(at[caught]), text, "recovery")


def _slots(query: QueryHistory) -> Iterator[Moment]:
    changed = [
        made
        for made in query.decisions.newest
        if made.slots_before is not None and made.slots_before != made.told.decision.slots
    ]
    if changed:
        made = max(
            changed, key=lambda each: abs(each.told.decision.slots - (each.slots_before or 0))
        )
        text = (
            f"From {made.slots_before} to {made.told.decision.slots}: {made.told.decision.reason}"
        )
        yield Moment(made.at_seconds, text, "slots")
