"""The load and how it was carried: rows that come and wait, batch times, latency, slots."""

from __future__ import annotations

from datetime import tzinfo
from math import inf, nan

import numpy as np

from penstock.drawing.figure import Figure
from penstock.history.growing_table import Buckets, GrowingTable, Numbers
from penstock.history.query_history import QueryHistory
from penstock.history.weighted import thinned_quantile
from penstock.report.headline import clock_for
from penstock.report.story import Chapter
from penstock.report.words import counted, duration, figure, measured, share

MOST_POINTS = 400
TIME = "time of day"


def input_chapter(query: QueryHistory, zone: tzinfo) -> Chapter | None:
    """Tell how many rows came, and what had been expected."""
    seen = _batches(query)
    if not len(seen):
        return None
    x, span = seen["at"], seen["span"]
    rate = np.divide(seen["rows"], span, out=np.full(len(span), nan), where=span > 0)
    series, bands = {"rows read": rate.tolist()}, {}
    said = (
        f"{figure(_mean(seen['rows'], span))} rows a second were read on average, and "
        f"{figure(_most(rate))} at most."
    )
    expected = query.decisions.forecasts.buckets(-inf, inf, MOST_POINTS)
    if len(expected):
        # A forecast is for the time until its horizon; it stands for the middle of that.
        when = expected["at"] + expected["horizon"] / 2
        series["forecast"] = _at(x, when, expected["rate"])
        low, high = _at(x, when, expected["low"]), _at(x, when, expected["high"])
        if not np.isnan(low).all():
            bands["forecast"] = (low, high)
            said += " The band is where each forecast expected them to lie."
        said += f" Forecasts were {_off(rate, np.asarray(series['forecast']))}."
    title = "Rows that came in"
    drawn = Figure(
        "input", title, TIME, "rows per second", x.tolist(), series, bands,
        dashed={"forecast"}, zone=zone,
    )  # fmt: skip
    return Chapter(title, said, (drawn,))


def waiting_chapter(query: QueryHistory, zone: tzinfo) -> Chapter | None:
    """Tell how many rows waited."""
    seen = _batches(query)
    waiting = query.batches.column("deepest")
    if not len(seen) or np.isnan(waiting).all():
        return None
    most = int(np.nanargmax(waiting))
    if not waiting[most]:
        return Chapter("Rows that waited", "No batch left rows waiting at a source.")
    when = clock_for(query, zone)(float(query.batches.column("at")[most]))
    said = f"After a batch {counted(float(waiting[most]), 'row')} waited at most, at {when}."
    title = "Rows that waited"
    series = {"waiting": seen["waiting"].tolist()}
    drawn = Figure("waiting", title, TIME, "rows", seen["at"].tolist(), series, zone=zone)
    return Chapter(title, said, (drawn,))


def batch_time_chapter(query: QueryHistory, zone: tzinfo) -> Chapter | None:
    """Tell how long batches took, against their trigger."""
    seen = _batches(query)
    all_seconds = query.batches.column("seconds")
    if np.isnan(all_seconds).all():
        return None
    series = {"mean batch" if len(seen) < len(all_seconds) else "batch": seen["seconds"].tolist()}
    if len(seen) < len(all_seconds):
        series["longest batch"] = seen["slowest"].tolist()
    slowest, counts = query.batches.column("slowest"), query.batches.column("count")
    half = thinned_quantile(all_seconds, slowest, counts, 0.5)
    said = f"Half of the batches took {duration(half)} or less"
    trigger = seen["trigger"]
    if np.isnan(trigger).all():
        said += "; there was no trigger, so each began when the one before had ended."
    else:
        series["trigger"] = trigger.tolist()
        behind = query.totals.behind or 0.0
        who = "all" if behind == 1 else "none" if behind == 0 else share(behind)
        said += f"; {who} took longer than their trigger."
    title = "Batch time against the trigger" if "trigger" in series else "Batch time"
    drawn = Figure(
        "batch", title, TIME, "seconds", seen["at"].tolist(), series,
        stepped={"trigger"}, dashed={"trigger"}, zone=zone,
    )  # fmt: skip
    return Chapter(title, said, (drawn,))


def latency_chapter(query: QueryHistory, zone: tzinfo) -> Chapter | None:
    """Tell how long rows took from their arrival until they were done."""
    seen = _batches(query)
    if not len(seen) or np.isnan(seen["latency"]).all():
        return None
    totals = query.totals
    said = (
        "From its arrival until its batch had ended a row took "
        f"{duration(totals.mean_latency_seconds or 0.0)} on average, and "
        f"{duration(totals.longest_latency_seconds)} in the slowest batch."
    )
    series = {"mean latency": seen["latency"].tolist()}
    drawn = Figure("latency", "Latency", TIME, "seconds", seen["at"].tolist(), series, zone=zone)
    return Chapter("Latency", said, (drawn,))


def slots_chapter(query: QueryHistory, zone: tzinfo) -> Chapter | None:
    """Tell how many slots were planned, asked for, there, and used."""
    seen = _batches(query)
    if not len(seen):
        return None
    x = seen["at"]
    series: dict[str, list[float]] = {}
    series["used"] = seen["used"].tolist()
    if len(query.slots):
        series["observed"] = _held(x, query.slots, "observed")
        series["requested"] = _held(x, query.slots, "requested")
    else:
        series["observed"] = seen["slots"].tolist()
    if len(query.decisions.demands):
        series["planned"] = _held(x, query.decisions.demands, "slots")
    totals = query.totals
    least, most = figure(totals.fewest_slots), figure(totals.most_slots)
    span = f"from {least} to {most} slots" if least != most else measured(totals.most_slots, "slot")
    changes = counted(query.decisions.changed_slots, "decision")
    said = f"Batches used {span}; {changes} changed how many there should be."
    drawn = Figure(
        "slots", "Slots", TIME, "slots", x.tolist(), series,
        stepped=set(series), dashed={"planned"}, zone=zone,
    )  # fmt: skip
    return Chapter("Slots", said, (drawn,))


def _batches(query: QueryHistory) -> Buckets:
    return query.batches.buckets(-inf, inf, MOST_POINTS)


def _held(x: Numbers, table: GrowingTable, column: str) -> list[float]:
    """Return the value of a table at each moment: the newest by then."""
    at, values = table.column("at"), table.column(column)
    place = np.searchsorted(at, x, side="right") - 1
    return list(np.where(place >= 0, values[np.maximum(place, 0)], nan).tolist())


def _at(x: Numbers, when: Numbers, values: Numbers) -> list[float]:
    """Return values at other moments, even between those that are known."""
    order = np.argsort(when, kind="stable")
    return list(np.interp(x, when[order], values[order], left=nan, right=nan).tolist())


def _off(rate: Numbers, forecast: Numbers) -> str:
    known = ~np.isnan(rate) & ~np.isnan(forecast)
    if not known.any() or not np.nansum(rate[known]):
        return "for times of which no batch tells"
    off = float(np.sum(np.abs(rate[known] - forecast[known])) / np.sum(rate[known]))
    return f"{share(off)} off on average, as far as it can be seen"


def _mean(rows: Numbers, spans: Numbers) -> float:
    seconds = float(np.nansum(spans))
    return float(np.nansum(rows)) / seconds if seconds > 0 else nan


def _most(values: Numbers) -> float:
    return float(np.nanmax(values)) if not np.isnan(values).all() else nan
