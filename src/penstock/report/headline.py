"""What a reader must know of a run, in a few sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import tzinfo
from functools import partial
from math import inf, isfinite

import numpy as np

from penstock.history.query_history import QueryHistory
from penstock.history.summary import Summary, summary_of
from penstock.report.words import (
    clock,
    clock_on_day,
    counted,
    day_and_clock,
    duration,
    figure,
    measured,
    share,
)

ENDED = "ended"
"""What a query writes down that was stopped, or had no more to do; it says nothing more."""
_LONG_SECONDS = 20 * 3_600.0


def time_of(query: QueryHistory) -> tuple[float | None, float | None]:
    """Return when a query began, as far as its journal tells, and when it was last heard of."""
    at = query.batches.column("at")
    starts = [each.at_seconds for each in query.faults.began if not query.name]
    # Not the end of the first row: of a long run it stands for many batches.
    first = query.first_began_seconds
    began = min([first if isfinite(first) else inf, *starts])
    ended = max([float(at[-1]) if len(at) else -inf, query.last_at_seconds], default=-inf)
    return (began if isfinite(began) else None, ended if isfinite(ended) else None)


def clock_for(query: QueryHistory, zone: tzinfo) -> Callable[[float], str]:
    """Return how moments of a run are written: with the date where the time of day won't do."""
    began, ended = time_of(query)
    is_long = began is not None and ended is not None and ended - began > _LONG_SECONDS
    return partial(clock_on_day if is_long else clock, zone=zone)


def ending_of(query: QueryHistory, zone: tzinfo) -> str:
    """Say how a run ended."""
    told = query.stopped
    if told is None:
        _, last = time_of(query)
        when = (
            "" if last is None else f"; the last word from it is of {clock_for(query, zone)(last)}"
        )
        return f"Nothing says that it has ended{when}."
    if told.error:
        return f"It ended with an error: {told.error.rstrip('.')}."
    why = "" if told.reason in ("", ENDED) else f": {told.reason.rstrip('.')}"
    return f"It ended as asked{why}."


def headline_of(query: QueryHistory, zone: tzinfo) -> tuple[str, ...]:
    """Say when it ran, how much it did, whether it kept up, what it used, and how it ended."""
    return tuple(_sentences(query, summary_of(query), zone))


def _sentences(query: QueryHistory, found: Summary, zone: tzinfo) -> Iterator[str]:
    began, ended = time_of(query)
    if began is not None and ended is not None:
        yield (
            f"It ran from {day_and_clock(began, zone)} for {duration(max(0.0, ended - began))} "
            f"and did {counted(found.rows, 'row')} in {counted(found.batches, 'batch')}"
            f"{_rate(found)}."
        )
    if found.batches:
        yield _kept_up(query, found)
        yield _waited(query, zone)
        yield _slots(found)
    lost = [
        _late(found.late_rows, len(query.windows.late.largest())),
        f"{counted(found.failed_rows, 'row')} failed and {_was(found.failed_rows)} set aside"
        if found.failed_rows
        else "",
        f"{counted(query.faults.shed.total, 'row')} {_was(query.faults.shed.total)} shed"
        if query.faults.shed.total
        else "",
    ]
    told = [each for each in lost if each]
    if told:
        # Each may have an "and" or a comma of its own.
        text = ", and ".join([", ".join(told[:-1]), told[-1]] if told[:-1] else told)
        yield f"{text[0].upper()}{text[1:]}."
    elif found.batches:
        yield "No row was late, and none failed."
    if found.restarts or found.faults:
        faults = f"{counted(found.faults, 'fault')} {_was(found.faults)} seen"
        again = f"began again {_times(found.restarts)}" if found.restarts else "never began again"
        yield f"It {again}, and {faults}."
    yield ending_of(query, zone)


def _rate(found: Summary) -> str:
    if not found.rows_per_second:
        return ""
    return f", {figure(found.rows_per_second)} a second"


def _kept_up(query: QueryHistory, found: Summary) -> str:
    slowest = query.batches.column("slowest")
    if np.isnan(slowest).all():
        return "Nothing says how long its batches took."
    longest = float(np.nanmax(slowest))
    if found.behind is None:
        return f"Batches ran one after the other, the longest for {duration(longest)}."
    trigger = _trigger(query)
    if found.behind == 0:
        return f"It kept up: every batch ended within its trigger{trigger}."
    if found.behind < 0.05:
        return (
            f"It kept up but for {share(found.behind)} of its batches, which took longer than "
            f"their trigger{trigger}; the longest took {duration(longest)}."
        )
    who = "all" if found.behind == 1 else f"{share(found.behind)} of"
    return (
        f"It fell behind: {who} its batches took longer than their trigger"
        f"{trigger}, the longest {duration(longest)}."
    )


def _waited(query: QueryHistory, zone: tzinfo) -> str:
    waiting, deepest = query.batches.column("waiting"), query.batches.column("deepest")
    if not len(waiting) or np.isnan(waiting).all():
        return "Its sources do not tell how many rows wait."
    most = int(np.nanargmax(deepest))
    if not deepest[most]:
        return "No rows were left waiting by any batch."
    known = waiting[~np.isnan(waiting)]
    when = clock_for(query, zone)(float(query.batches.column("at")[most]))
    left = f"{counted(known[-1], 'row')} {'still waited' if known[-1] else 'waited'} at the end"
    return f"At most {counted(float(deepest[most]), 'row')} waited, at {when}; {left}."


def _slots(found: Summary) -> str:
    mean = "" if found.mean_slots is None else f"{measured(found.mean_slots, 'slot')} on average, "
    used = f"It used {mean}{measured(found.slot_hours, 'slot-hour')}"
    if found.saved is None or not found.saved_slot_hours:
        return f"{used}."
    return (
        f"{used}, and saved {figure(found.saved_slot_hours)}: {share(found.saved)} of what all "
        "slots all the time would have taken."
    )


def _trigger(query: QueryHistory) -> str:
    """Name the trigger, where all batches that had one had the same."""
    triggers = query.batches.column("trigger")
    known = np.unique(triggers[~np.isnan(triggers)])
    return f" of {duration(float(known[0]))}" if len(known) == 1 else ""


def _late(rows: int, operators: int) -> str:
    """Say how many rows were late; one that is late for several operators counts for each."""
    if not rows:
        return ""
    if operators < 2:
        return f"{counted(rows, 'row')} came late"
    return f"rows came late {_times(rows)}, counted for each of {operators} operators"


def _was(number: int) -> str:
    return "was" if number == 1 else "were"


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number:,} times")
