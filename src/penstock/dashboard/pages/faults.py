"""Faults: rows that failed, restarts, executors lost, and lines that can't be read."""

from __future__ import annotations

from itertools import islice

from penstock.dashboard.charts import COLOURS, Line, lines
from penstock.dashboard.markup import Tile, notice, table, tiles
from penstock.dashboard.sections import Chart, Html, Section, Shown
from penstock.dashboard.words import NOTHING, count, moment

MOST_SHOWN = 100


def sections(shown: Shown) -> list[Section]:
    """Say what went wrong."""
    seen, batches = shown.query.faults, shown.batches()
    found: list[Section] = []
    if seen.corrupt_lines and seen.newest_corrupt is not None:
        line = seen.newest_corrupt
        found.append(
            Html(
                notice(
                    f"{count(seen.corrupt_lines)} lines of the journal can't be read.",
                    f"The newest is line {line.line}: {line.reason}. All others are shown.",
                    tone="warn",
                )
            )
        )
    found.append(Html(tiles(_tiles(shown))))
    found.append(
        Chart(
            "Rows that failed",
            lines([Line("failed", batches["at"], batches["failed"], colour=COLOURS[5])], "rows"),
            "Rows on which a function of the job raised an error; they went to the dead letters.",
            is_wide=True,
        )
    )
    letters = [
        (operator, reason, count(rows)) for (operator, reason), rows in seen.failed.largest()
    ]
    found.append(
        Html(
            table(
                "By operator and error",
                ("operator", "error", "rows"),
                letters[:MOST_SHOWN],
                words=(0, 1),
                empty="No row failed.",
            ),
            "Dead letters",
        )
    )
    faults = [
        (
            moment(each.at_seconds),
            NOTHING if each.batch_id is None else each.batch_id,
            each.what,
            each.detail,
            count(each.count),
        )
        for each in islice(reversed(seen.newest), MOST_SHOWN)
    ]
    found.append(
        Html(
            table(
                "The newest first",
                ("time (UTC)", "batch", "what", "detail", "times"),
                faults,
                words=(0, 2, 3),
                empty="No fault was seen.",
            ),
            "Faults that the query got over",
        )
    )
    starts = [
        (moment(each.at_seconds), each.version, count(each.slots), each.after or NOTHING)
        for each in islice(reversed(seen.began), MOST_SHOWN)
    ]
    found.append(
        Html(
            table(
                "The newest first",
                ("time (UTC)", "Penstock", "slots", "the run before ended"),
                starts,
                words=(0, 1, 3),
                empty="No start was written down.",
            ),
            "Starts and restarts",
        )
    )
    if seen.shed.total:
        shed = [(name, reason, count(rows)) for (name, reason), rows in seen.shed.largest()]
        found.append(
            Html(
                table("By source", ("source", "why", "rows"), shed[:MOST_SHOWN], words=(0, 1)),
                "Rows set aside on purpose",
            )
        )
    return found


def _tiles(shown: Shown) -> list[Tile]:
    seen, query = shown.query.faults, shown.query
    tone = {True: "bad", False: "good"}
    return [
        Tile("Dead letters", count(query.failed_rows), "rows", tone[query.failed_rows > 0]),
        Tile("Faults", count(seen.by_kind.total), "seen and got over"),
        Tile("Restarts", count(seen.restarts), f"{count(seen.starts)} starts in all"),
        Tile("Executors lost", count(seen.executor_losses), ""),
        Tile("Late rows", count(query.late_rows), "set aside"),
        Tile("Batches run twice", count(seen.skipped_batches), "skipped: already committed"),
    ]
