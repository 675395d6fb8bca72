"""What went wrong: rows that failed, restarts, executors lost, lines that can't be read."""

from __future__ import annotations

from datetime import tzinfo

from penstock.history.query_history import QueryHistory
from penstock.report.headline import clock_for
from penstock.report.story import Chapter, Table
from penstock.report.words import counted, day_and_clock

MOST_FAULTS = 50
MOST_REASONS = 50


def faults_chapter(query: QueryHistory, zone: tzinfo) -> Chapter | None:
    """Tell what went wrong; that nothing did is worth a sentence, too."""
    seen = query.faults
    said = [
        f"{counted(seen.failed.total, 'row')} failed" if seen.failed.total else "",
        f"{counted(seen.shed.total, 'row')} were shed" if seen.shed.total else "",
        counted(seen.restarts, "restart") if seen.restarts else "",
        f"{counted(seen.executor_losses, 'executor')} lost" if seen.executor_losses else "",
        counted(seen.by_kind.total, "fault") if seen.by_kind.total else "",
        f"{counted(seen.skipped_batches, 'batch')} skipped that had been committed"
        if seen.skipped_batches
        else "",
        f"{counted(seen.corrupt_lines, 'line')} of the journal can't be read"
        if seen.corrupt_lines
        else "",
        f"{counted(seen.unknown_events, 'event')} that only a newer Penstock knows"
        if seen.unknown_events
        else "",
    ]
    told = "; ".join(each for each in said if each)
    if not told:
        return Chapter("Faults", "Nothing went wrong that the journal knows of.")
    return Chapter("Faults", f"{told}.", tables=tuple(_tables(query, zone)))


def _tables(query: QueryHistory, zone: tzinfo) -> list[Table]:
    seen, tables = query.faults, []
    rows: list[tuple[str, ...]]
    if seen.failed.total:
        rows = [
            (*name, f"{n:,}", seen.examples.get(name, "-"))
            for name, n in seen.failed.largest()[:MOST_REASONS]
        ]
        columns = ("operator", "error", "rows", "for example")
        words = ("error", "for example")
        tables.append(Table(columns, rows, words, title="Dead letters"))
    if seen.shed.total:
        rows = [(*name, f"{n:,}") for name, n in seen.shed.largest()[:MOST_REASONS]]
        tables.append(Table(("source", "why", "rows"), rows, ("why",), title="Rows that were shed"))
    if seen.newest:
        shown = list(seen.newest)[-MOST_FAULTS:]
        when = clock_for(query, zone)
        rows = [
            (when(each.at_seconds), f"{each.count:,}", f"{each.what}: {each.detail}")
            for each in shown
        ]
        tables.append(
            Table(("when", "times", "what"), rows, ("what",), title="Faults", over_time=True)
        )
    if seen.restarts:
        rows = [
            (day_and_clock(each.at_seconds, zone), each.version, str(each.slots),
             each.after or "nobody wrote down how the run before had ended")
            for each in list(seen.began)[1:][-MOST_FAULTS:]
        ]  # fmt: skip
        heads = ("began again", "Penstock", "slots", "after")
        tables.append(Table(heads, rows, ("after",), title="Restarts", over_time=True))
    if seen.newest_corrupt is not None:
        line = seen.newest_corrupt
        rows = [(f"{line.file} line {line.line}", line.reason)]
        tables.append(
            Table(("line", "why"), rows, ("why",), title="The newest line that is no event")
        )
    return tables
