"""Compare: several runs, live or simulated, side by side."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.dashboard.charts import Line, lines
from penstock.dashboard.markup import notice, table
from penstock.dashboard.sections import Chart, Html, Section, Shown, rates
from penstock.dashboard.words import count, share, span
from penstock.history.summary import Summary, summary_of

MOST_DRAWN = 8


def sections(runs: Sequence[Shown]) -> list[Section]:
    """Lay runs side by side, each drawn from its own beginning."""
    runs = [each for each in runs if each.query.newest is not None]
    if not runs:
        return [Html(notice("There is no run with a micro-batch yet."))]
    found: list[Section] = []
    if len(runs) == 1:
        found.append(
            Html(
                notice(
                    "There is one run only.",
                    "Start the dashboard with several: penstock dashboard RUN1 RUN2. Simulated "
                    "ones come from penstock simulate TRACE --out DIR --journal.",
                )
            )
        )
    names = [name_of(each) for each in runs]
    summaries = [summary_of(each.query) for each in runs]
    found.append(Html(table("Each run as a whole", ("", *names), _rows(summaries)), "Side by side"))
    drawn = runs[:MOST_DRAWN]
    found += [
        _chart("Input rate", "rows per second", drawn, "rate"),
        _chart("Slots used", "slots", drawn, "used"),
        _chart("Batch time", "seconds", drawn, "seconds"),
        _chart("Rows waiting", "rows", drawn, "waiting"),
        _chart("Latency", "seconds", drawn, "latency"),
    ]
    return found


def name_of(shown: Shown) -> str:
    """Say which run it is: by its journal, and by the query where a journal has several."""
    return f"{shown.journal}: {shown.query.name}" if shown.query.name else shown.journal


def _rows(them: Sequence[Summary]) -> list[tuple[str, ...]]:
    return [
        ("time", *(span(each.seconds) for each in them)),
        ("batches", *(count(each.batches) for each in them)),
        ("rows", *(count(each.rows) for each in them)),
        ("rows per second", *(count(each.rows_per_second) for each in them)),
        ("batch time, mean", *(span(each.mean_batch_seconds) for each in them)),
        ("batch time, 95 %", *(span(each.p95_batch_seconds) for each in them)),
        ("batches over their trigger", *(share(each.behind) for each in them)),
        ("latency, mean", *(span(each.mean_latency_seconds) for each in them)),
        ("most rows waiting", *(count(each.most_waiting_rows) for each in them)),
        ("slots, mean", *(count(each.mean_slots) for each in them)),
        ("slot-hours", *(count(each.slot_hours) for each in them)),
        ("slot-hours saved", *(count(each.saved_slot_hours) for each in them)),
        ("saved", *(share(each.saved) for each in them)),
        ("changes of slots", *(count(each.slot_changes) for each in them)),
        ("late rows", *(count(each.late_rows) for each in them)),
        ("failed rows", *(count(each.failed_rows) for each in them)),
        ("faults", *(count(each.faults) for each in them)),
        ("restarts", *(count(each.restarts) for each in them)),
    ]


def _chart(title: str, unit: str, runs: Sequence[Shown], column: str) -> Chart:
    made = []
    for each in runs:
        rows = each.batches()
        if not len(rows):
            continue
        since = rows["at"] - (rows["at"][0] - rows["span"][0])
        values = rates(rows["rows"], rows["span"]) if column == "rate" else rows[column]
        is_step = column == "used"
        made.append(Line(name_of(each), since, values, is_step=is_step, tells_before=is_step))
    return Chart(
        title,
        lines(made, unit, is_time=False),
        "Seconds since each run began, or since the time that is shown begins.",
        is_wide=column in ("rate", "used"),
    )
