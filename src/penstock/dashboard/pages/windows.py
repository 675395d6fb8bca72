"""Windows: which are open, how far the watermark is, what panes hold, and what came too late."""

from __future__ import annotations

from math import isfinite

import numpy as np

from penstock.dashboard.charts import Line, lines
from penstock.dashboard.markup import Safe, Tile, notice, table, tiles
from penstock.dashboard.sections import Chart, Html, Section, Shown
from penstock.dashboard.words import NOTHING, count, counted, lateness, moment, size, span, unit_of
from penstock.history.growing_table import Buckets


def sections(shown: Shown) -> list[Section]:
    """Say what became of windows."""
    seen, batches = shown.query.windows, shown.batches()
    has_mark = len(batches) and bool(np.isfinite(batches["watermark"]).any())
    if not seen.operators and not has_mark:
        return [
            Html(
                notice(
                    "This query has no windows and no watermark.",
                    "Write Stream.read(df, time='ts', watermark='10 seconds') and "
                    ".window(ps.tumbling('1 minute')) to have them.",
                )
            )
        ]
    found: list[Section] = [Html(tiles(_tiles(shown)))]
    found.append(_behind(batches))
    stored = {
        name: each.stored.buckets(shown.since_seconds, shown.until_seconds, 300)
        for name, each in seen.operators.items()
    }
    found.append(
        Chart(
            "Partial results kept",
            lines([Line(name, rows["at"], rows["bytes"] / 1e3) for name, rows in stored.items()],
                  "kilobytes"),
            "What the pane store holds for windows that are still open.",
        )
    )  # fmt: skip
    if any(np.isfinite(rows["open"]).any() for rows in stored.values() if len(rows)):
        found.append(
            Chart(
                "Open windows",
                lines([Line(name, rows["at"], rows["open"], is_step=True)
                       for name, rows in stored.items()], "windows"),
                "Windows, of all keys alike, that began and that the watermark has not closed.",
            )
        )  # fmt: skip
    found.append(Html(_operators(shown), "Windowed operators"))
    found.append(Html(_plans(shown), "How windows are consolidated"))
    found.append(Html(_late(shown), "Late rows"))
    return found


def _behind(batches: Buckets) -> Chart:
    """Draw how late the watermark is, which of a replay may be years."""
    lag = batches["lag"]
    known = np.abs(lag[np.isfinite(lag)])
    seconds, unit = unit_of(float(known.max()) if len(known) else 0.0)
    return Chart(
        "Watermark behind the clock",
        lines([Line("behind", batches["at"], lag / seconds, is_filled=True)], unit, least=None),
        "How far event time is behind the time of commit. A window closes when the watermark "
        "passes its end.",
    )


def _tiles(shown: Shown) -> list[Tile]:
    query = shown.query
    last = query.batches.last()
    stored = [each.stored.last() for each in query.windows.operators.values()]
    open_ = [row["open"] for row in stored if isfinite(row["open"])]
    closed = sum(each.closed_windows for each in query.windows.operators.values())
    return [
        Tile("Watermark", moment(last["watermark"]), "UTC, event time"),
        Tile("Behind the clock", span(last["lag"]), "at the newest commit"),
        Tile("Open windows", count(sum(open_)) if open_ else NOTHING, "of all operators"),
        Tile("Closed windows", count(closed), "so far"),
        Tile("Partial results", size(sum(row["bytes"] for row in stored if isfinite(row["bytes"]))),
             counted(sum(row["rows"] for row in stored if isfinite(row["rows"])), "row")),
        Tile("Late rows", count(query.late_rows), lateness(len(query.windows.late.largest())),
             "warn" if query.late_rows else ""),
    ]  # fmt: skip


def _operators(shown: Shown) -> Safe:
    rows = []
    for name, each in shown.query.windows.operators.items():
        last = each.stored.last()
        rows.append(
            (
                name,
                count(last["open"]),
                moment(last["watermark"]),
                count(last["segments"]),
                count(last["rows"]),
                size(last["bytes"]),
                span(last["age"]),
                count(each.closed_windows),
                count(each.result_rows),
                moment(each.newest_end_seconds),
            )
        )
    heads = ("operator", "open", "watermark (UTC)", "segments", "partials", "size", "oldest pane",
             "closed", "results", "newest end (UTC)")  # fmt: skip
    return table("As of the newest commit", heads, rows, words=(0, 2, 9),
                 empty="There is no windowed operator.")  # fmt: skip


def _plans(shown: Shown) -> Safe:
    rows = [
        (name, each.plan.plan, each.plan.reason, each.plan.batch_id)
        for name, each in shown.query.windows.operators.items()
        if each.plan is not None
    ]
    return table(
        "The consolidation plan of each operator",
        ("operator", "plan", "why", "since batch"),
        rows,
        words=(0, 1, 2),
        empty="No plan has been written down yet.",
    )


def _late(shown: Shown) -> Safe:
    rows = [(name, count(rows)) for name, rows in shown.query.windows.late.largest()]
    return table(
        "Rows that came after a window of theirs had closed",
        ("operator", "rows"),
        rows,
        empty="No row came too late.",
    )
