"""Now: does it keep up, with how many slots, and what is expected next."""

from __future__ import annotations

from math import isfinite, nan

import numpy as np

from penstock.dashboard.charts import COLOURS, SOFT, Line, lines
from penstock.dashboard.markup import Safe, Tile, notice, tiles
from penstock.dashboard.sections import Chart, Html, Section, Shown, rates
from penstock.dashboard.words import NOTHING, count, counted, moment, share, span
from penstock.history.growing_table import Buckets

_FEW = 10


def sections(shown: Shown) -> list[Section]:
    """Say how the query is doing."""
    batches = shown.batches()
    made: list[Section] = []
    if (said := _remark(shown)) is not None:
        made.append(Html(said))
    if not len(batches):
        return [*made, Html(_nothing(shown))]
    made.append(Html(tiles(_tiles(shown))))
    at = batches["at"]
    made.append(_input(shown, batches))
    made.append(
        Chart(
            "Rows waiting",
            lines(
                [Line("rows waiting", at, batches["waiting"], is_filled=True)],
                "rows",
                nothing="The sources don't tell how many rows wait.",
            ),
            "What the sources have and no batch has taken yet. Flat is well; growing is behind.",
        )
    )
    made.append(_batch_time(batches))
    made.append(
        Chart(
            "Latency",
            lines([Line("mean latency", at, batches["latency"])], "seconds"),
            "From a row's arrival at its source to the commit of its batch, worked out from rows "
            "that came and waited.",
        )
    )
    made.append(_slots(shown, batches))
    return made


def _nothing(shown: Shown) -> Safe:
    if shown.query.newest is not None:
        return notice("Nothing happened in this time.", "Choose a longer one at the top.")
    if shown.query.stopped is not None:
        return notice("The query ended before its first micro-batch did.")
    return notice(
        "No micro-batch has ended yet.",
        "The first one of a query takes longest: Spark starts its workers and compiles its plan. "
        "This page shows it as soon as it is committed.",
    )


def _remark(shown: Shown) -> Safe | None:
    query = shown.query
    if query.failure:
        return notice("The query failed.", query.failure, tone="bad")
    if shown.state[0] == "silent":
        ago = span(shown.now_seconds - query.last_at_seconds)
        may_be = "it has no rows to take, or its process died without a word."
        is_first = query.newest is None
        why = f"Its first batch takes long, {may_be}" if is_first else f"I{may_be[1:]}"
        return notice(f"Nothing was heard of the query for {ago}.", why, tone="warn")
    return None


def _tiles(shown: Shown) -> list[Tile]:
    query = shown.query
    last = query.batches.last()
    state, tone = shown.state
    trigger = last["trigger"]
    of_trigger = last["seconds"] / trigger if isfinite(trigger) and trigger > 0 else nan
    hours = NOTHING if query.saved is None else count(query.saved_slot_seconds / 3600)
    return [
        Tile("State", state, _since(shown), tone),
        _input_tile(shown),
        Tile(
            "Rows waiting",
            count(last["waiting"]),
            "at all sources" if isfinite(last["waiting"]) else "the sources don't tell",
        ),
        Tile(
            "Batch time",
            span(last["seconds"]),
            f"{share(of_trigger)} of the trigger ({span(trigger)})"
            if isfinite(trigger) and trigger > 0
            else "no trigger: end to end",
            "bad" if of_trigger > 1 else "",
        ),
        Tile("Latency", span(last["latency"]), "mean of the newest batch"),
        Tile("Slots", count(last["used"]), _slot_words(shown), ""),
        Tile(
            "Saved so far",
            f"{hours} slot-hours",
            "nobody says how many slots there may be"
            if query.saved is None
            else f"{share(query.saved)} of always using the most",
        ),
        Tile("Done", counted(query.total_rows, "row"), counted(query.batch_count, "batch")),
    ]


def _input_tile(shown: Shown) -> Tile:
    """Say how many rows come; none while no batch ends, for a source that is silent starts none."""
    query = shown.query
    at = query.batches.last()["at"]
    recent = query.batches.between(at - 30.0, at)
    rate = rates([recent["rows"][-_FEW:].sum()], [recent["span"][-_FEW:].sum()])[0]
    rate = 0.0 if shown.idle_seconds else rate
    expected = query.decisions.forecasts.last()
    about = "no forecast"
    if isfinite(expected["rate"]):
        about = f"expected {count(expected['rate'])} rows/s within {span(expected['horizon'])}"
    if rate == 0.0:
        came = query.batches.column("at")[query.batches.column("rows") > 0]
        about = f"none since {moment(came[-1])} UTC; {about}" if len(came) else about
    return Tile("Input", f"{count(rate)} rows/s", about)


def _since(shown: Shown) -> str:
    query = shown.query
    if query.stopped is not None:
        return f"last word at {moment(query.last_at_seconds)} UTC"
    began = query.faults.newest_start(query.name)
    if began is None:
        return ""
    ago = shown.now_seconds - began.at_seconds
    return f"for {span(ago)}" if ago >= 0 else f"began at {moment(began.at_seconds)} UTC"


def _slot_words(shown: Shown) -> str:
    query = shown.query
    last = query.batches.last()
    counts = query.slots.last()
    planned = query.decisions.demands.last()["slots"]
    if isfinite(counts["planned"]):
        return (
            f"{count(counts['planned'])} planned, {count(counts['requested'])} requested, "
            f"{count(counts['observed'])} observed"
        )
    most = f", {count(last['most'])} at most" if isfinite(last["most"]) else ""
    return f"{count(planned)} planned, {count(last['slots'])} observed{most}"


def _input(shown: Shown, batches: Buckets) -> Chart:
    drawn = [
        Line("rows in", batches["at"], rates(batches["rows"], batches["span"]), is_filled=True)
    ]
    found = shown.query.decisions.forecasts.buckets(shown.since_seconds, shown.until_seconds, 200)
    if len(found):
        # A forecast is of the mean until its horizon: it belongs to the middle of that time.
        at = found["at"] + found["horizon"] / 2
        known = bool(len(found["low"])) and bool((found["low"] == found["low"]).any())
        drawn.append(
            Line(
                "forecast",
                at,
                found["rate"],
                colour=COLOURS[1],
                is_dashed=True,
                low=found["low"] if known else (),
                high=found["high"] if known else (),
            )
        )
    return Chart(
        "Input rate and forecast",
        lines(drawn, "rows per second"),
        "The band is where the forecast expects nine of ten rates.",
        height=280,
        is_wide=True,
    )


def _batch_time(batches: Buckets) -> Chart:
    """Draw how long batches took; the slowest of several apart, below the mean of them."""
    at, mean, slowest = batches["at"], batches["seconds"], batches["slowest"]
    trigger = batches["trigger"]
    drawn = [
        Line("mean", at, mean, colour=COLOURS[0]),
        Line("trigger", at, trigger, colour=SOFT, is_dashed=True),
    ]
    # Where each point is one batch, its own time would hide the mean.
    if not np.array_equal(mean, slowest, equal_nan=True):
        drawn.insert(0, Line("slowest", at, slowest, colour=COLOURS[1]))
    return Chart(
        "Batch time",
        lines(drawn, "seconds"),
        "Below the trigger's line a batch is done before the next is due."
        if np.isfinite(trigger).any()
        else "Without a trigger a batch begins when the one before it is done.",
    )


def _slots(shown: Shown, batches: Buckets) -> Chart:
    query, since, until = shown.query, shown.since_seconds, shown.until_seconds
    planned = query.decisions.demands.buckets(since, until, 200)
    counts = query.slots.buckets(since, until, 200)
    # Mostly they are the same number: each is thinner than those below it, so that all are seen.
    drawn = [
        Line(
            "used",
            batches["at"],
            batches["used"],
            is_step=True,
            tells_before=True,
            is_filled=True,
            width=9,
        ),
        Line("planned", planned["at"], planned["slots"], is_step=True, width=6),
        Line("demand", planned["at"], planned["demand"], colour=SOFT, is_dashed=True),
    ]
    if len(counts):
        drawn.append(Line("requested", counts["at"], counts["requested"], is_step=True, width=3.5))
        drawn.append(Line("observed", counts["at"], counts["observed"], is_step=True))
    else:
        there = Line("observed", batches["at"], batches["slots"], is_step=True, tells_before=True)
        drawn.append(there)
    return Chart(
        "Slots",
        lines(drawn, "slots"),
        "Planned is what the policy wants, requested what the cluster was asked for, observed what "
        "there is, used what the batches took, demand what the forecast needs.",
    )
