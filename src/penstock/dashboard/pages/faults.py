"""Faults: rows that failed, restarts, executors lost, and lines that can't be read."""

from __future__ import annotations

from itertools import islice

from penstock.dashboard.charts import COLOURS, Line, lines
from penstock.dashboard.markup import Safe, Tile, notice, table, tiles
from penstock.dashboard.sections import Chart, Html, Section, Shown
from penstock.dashboard.words import NOTHING, count, counted, lateness, moment
from penstock.history.faults_seen import FaultsSeen

MOST_SHOWN = 100


def sections(shown: Shown) -> list[Section]:
    """Say what went wrong."""
    seen, batches = shown.query.faults, shown.batches()
    failed = Line("failed", batches["at"], batches["failed"], colour=COLOURS[5])
    found: list[Section] = [
        *_failure(shown),
        *_unread(seen),
        Html(tiles(_tiles(shown))),
        Chart(
            "Rows that failed",
            lines([failed], "rows"),
            "Rows on which a function of the job raised an error; they went to the dead letters.",
            is_wide=True,
        ),
        Html(
            _letters(seen),
            "Dead letters",
            "With the newest message of each error, in short; each row has its own in the dead "
            "letters.",
        ),
        Html(_faults(seen), "Faults that the query got over"),
        Html(_starts(seen, shown.query.name), "Starts and restarts"),
    ]
    if seen.shed.total:
        found.append(Html(_shed(seen), "Rows set aside on purpose"))
    return found


def _failure(shown: Shown) -> list[Section]:
    failure = shown.query.failure
    return [Html(notice("The query failed.", failure, tone="bad"))] if failure else []


def _unread(seen: FaultsSeen) -> list[Section]:
    """Say what of the journal is not shown: a page must not look whole where it is not."""
    found: list[Section] = []
    if seen.corrupt_lines and seen.newest_corrupt is not None:
        line = seen.newest_corrupt
        said = f"{counted(seen.corrupt_lines, 'line')} of the journal can't be read."
        detail = f"The newest is line {line.line}: {line.reason}. All others are shown."
        found.append(Html(notice(said, detail, tone="warn")))
    if seen.unknown_events:
        said = f"{counted(seen.unknown_events, 'event')} of the journal can't be shown."
        detail = "A newer Penstock wrote them, of kinds that this one does not know."
        found.append(Html(notice(said, detail, tone="warn")))
    return found


def _letters(seen: FaultsSeen) -> Safe:
    return table(
        "By operator and error",
        ("operator", "error", "rows", "for example"),
        [
            (*name, count(rows), seen.examples.get(name, NOTHING))
            for name, rows in seen.failed.largest()[:MOST_SHOWN]
        ],
        words=(0, 1, 3),
        empty="No row failed.",
    )


def _faults(seen: FaultsSeen) -> Safe:
    rows = [
        (
            moment(each.at_seconds),
            NOTHING if each.batch_id is None else each.batch_id,
            each.what,
            each.detail,
            count(each.count),
        )
        for each in islice(reversed(seen.newest), MOST_SHOWN)
    ]
    return table(
        "The newest first",
        ("time (UTC)", "batch", "what", "detail", "times"),
        rows,
        words=(0, 2, 3),
        empty="No fault was seen.",
    )


def _starts(seen: FaultsSeen, query: str) -> Safe:
    # A query that has a name here shares its journal with others, and starts are those of all.
    rows = [
        (
            moment(each.at_seconds),
            *((each.name,) if query else ()),
            each.version,
            count(each.slots),
            each.after or NOTHING,
        )
        for each in islice(reversed(seen.began), MOST_SHOWN)
    ]
    whose = ("query",) if query else ()
    return table(
        "The newest first",
        ("time (UTC)", *whose, "Penstock", "slots", "the run before ended"),
        rows,
        words=(0, 1, 2, 4) if query else (0, 1, 3),
        empty="No start was written down.",
    )


def _shed(seen: FaultsSeen) -> Safe:
    rows = [(name, why, count(rows)) for (name, why), rows in seen.shed.largest()[:MOST_SHOWN]]
    return table("By source", ("source", "why", "rows"), rows, words=(0, 1))


def _tiles(shown: Shown) -> list[Tile]:
    seen, query = shown.query.faults, shown.query
    tone = {True: "bad", False: "good"}
    starts = "start" if seen.starts == 1 else "starts"
    return [
        Tile("Dead letters", count(query.failed_rows), "rows", tone[query.failed_rows > 0]),
        Tile("Faults", count(seen.by_kind.total), "seen and got over"),
        Tile(
            "Restarts",
            count(seen.restarts),
            f"{count(seen.starts)} {starts} in all",
        ),
        Tile("Executors lost", count(seen.executor_losses), "as far as ExecutorSlots saw"),
        Tile("Late rows", count(query.late_rows), lateness(len(query.windows.late.largest()))),
        Tile("Batches run twice", count(seen.skipped_batches), "skipped: already committed"),
    ]
