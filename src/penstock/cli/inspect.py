"""``penstock inspect``: what a checkpoint holds, in plain words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from penstock.elasticity.rails.rail import in_slots
from penstock.inspection import Holding, Problem
from penstock.inspection.files import COMMIT_RECORDS
from penstock.inspection.holding import HeldGroups, HeldRows, HeldSource, HeldWindows


def as_screen(found: Holding, *, quiet: bool = False) -> Group:
    """Lay out what was found; ``quiet`` leaves all out but what looks wrong."""
    if quiet:
        return Group(*(_problem(each) for each in found.problems if not each.is_note))
    parts: list[Any] = [Text(line) for line in _summary(found)]
    for title, lines in (
        ("Operators", _operators(found)),
        ("Watermarks", [_source(each) for each in found.sources]),
        ("Windows", [_windows(each, found.seen_at_seconds) for each in found.windows]),
        ("Keyed state", _keyed(found)),
        ("Key groups", [_groups(each) for each in found.key_groups]),
        ("Learnt so far", _learnt(found)),
        ("Set aside", _set_aside(found)),
        ("Event log", _journal(found)),
    ):
        if lines:
            parts += [Text(f"\n{title}", style="bold"), *map(_line, lines)]
    parts += [Text("\nFiles", style="bold"), Padding(_files(found), (0, 0, 0, 2))]
    parts.append(Text(""))
    if found.is_sound:
        parts.append(Text("Nothing looks wrong."))
    return Group(*parts, *(_problem(each) for each in found.problems))


def _line(text: str) -> Padding:
    return Padding(Text(text), (0, 0, 0, 2))


def _summary(found: Holding) -> list[str]:
    name = f"'{found.name}' " if found.name else ""
    by = f", written by {found.written_by}" if found.written_by else ""
    lines = [f"{found.path}: the checkpoint of query {name}({found.query_id or 'not known'}){by}."]
    if found.last_batch is None or found.committed_at_seconds is None:
        some = any(each.kind == COMMIT_RECORDS for each in found.files)
        nothing = "No micro-batch has been committed yet."
        lines.append("No commit record can be read." if some else nothing)
    else:
        ago = span(found.seen_at_seconds - found.committed_at_seconds)
        lines.append(
            f"The newest micro-batch is {found.last_batch:,}, committed {ago} ago, at "
            f"{moment(found.committed_at_seconds)}."
        )
    lines.append("A query is running on it." if found.is_running else "No query is running on it.")
    if found.decision is not None:
        lines.append(f"It used {in_slots(found.decision.slots)}: {found.decision.reason}.")
    return lines


def _operators(found: Holding) -> list[str]:
    if not found.plan:
        return [", ".join(found.operators)] if found.operators else []
    lines = [
        f"{', '.join(operators)}: run together" if len(operators) > 1 else operators[0]
        for operators in found.plan.values()
    ]
    placed = {operator for operators in found.plan.values() for operator in operators}
    others = [operator for operator in found.operators if operator not in placed]
    return [*lines, *([f"besides: {', '.join(others)}"] if others else [])]


def _source(source: HeldSource) -> str:
    if source.time_column is None and source.watermark_seconds is None:
        return f"{source.name}: none, for it has no time column"
    if source.watermark_seconds is None or source.behind_seconds is None:
        return f"{source.name}: none yet, by the column {source.time_column}"
    newest = ""
    if source.newest_row_seconds is not None:
        behind_newest = source.newest_row_seconds - source.watermark_seconds
        newest = f" and {span(behind_newest)} behind its newest row"
    return (
        f"{source.name}: at {moment(source.watermark_seconds)} by the column {source.time_column}, "
        f"{span(source.behind_seconds)} behind the clock{newest}"
    )


def _windows(held: HeldWindows, now: float) -> str:
    still = "" if held.open_windows is None else f", {held.open_windows:,} still open"
    keys = f" by {held.keys}" if held.keys else ""
    closed = ""
    if held.closed_until_seconds is not None:
        closed = f"; those that end by {moment(held.closed_until_seconds)} have come out"
    age = "" if held.since_seconds is None else f", the oldest {span(now - held.since_seconds)} old"
    return (
        f"{held.operator}: windows of {held.windows or 'a length not known'}{keys}{still}{closed}. "
        f"Its pane store has {count(held.segments, 'segment')} with {count(held.rows, 'row')}, "
        f"{size(held.bytes)}{age}."
    )


def _keyed(found: Holding) -> list[str]:
    lines = []
    for held in found.keyed:
        keys = "keys that can't be counted" if held.key_count is None else ""
        keys = keys or count(held.key_count or 0, "key")
        timers = f", timers in {count(held.timers, 'group')}" if held.timers else ""
        of = f" (by {held.keys})" if held.keys else ""
        files = f"{count(held.files, 'file')}, {size(held.bytes)}"
        lines.append(f"{held.operator}: {keys}{of} in {files}{timers}")
    return lines


def _groups(held: HeldGroups) -> str:
    fewest, most = min(held.groups_by_task), max(held.groups_by_task)
    each = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
    tasks = count(len(held.groups_by_task), "task")
    share = ""
    if held.busiest_share is not None:
        share = f"; the busiest task has {held.busiest_share:.0%} of the load"
    return f"{held.operator}: {held.groups:,} groups on {tasks}, {each} each{share}"


def _learnt(found: Holding) -> list[str]:
    lines = [f"placement of {it.owner}: {it.kind}, {size(it.bytes)}" for it in found.placement]
    if found.policy:
        lines.append(f"policy: {found.policy.kind}, {size(found.policy.bytes)}")
    if found.admission:
        lines.append(f"admission: {found.admission.kind}, {size(found.admission.bytes)}")
    return lines


def _set_aside(found: Holding) -> list[str]:
    kept = (("dead letters", found.dead_letters), ("rows shed", found.shed_rows))
    return [f"{name}: {_rows(rows)}" for name, rows in kept if rows is not None]


def _rows(held: HeldRows) -> str:
    rows = "rows that can't be counted" if held.rows is None else count(held.rows, "row")
    return f"{rows} in {count(held.files, 'file')}, {size(held.bytes)}"


def _journal(found: Holding) -> list[str]:
    held = found.journal
    if held is None:
        return ["none in the checkpoint: the query was told another place, or has not begun"]
    since = ""
    if held.first_seconds is not None and held.last_seconds is not None:
        since = f" over {span(held.last_seconds - held.first_seconds)}, from "
        since += f"{moment(held.first_seconds)} to {moment(held.last_seconds)}"
    return [
        f"{count(held.events, 'event')}{since}; {count(held.starts, 'start')} of the query; "
        f"{count(held.files, 'file')}, {size(held.bytes)}"
    ]


def _files(found: Holding) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_footer=True)
    table.add_column("kind", "all")
    table.add_column("files", f"{sum(each.files for each in found.files):,}", justify="right")
    table.add_column("size", size(found.bytes), justify="right")
    for each in found.files:
        table.add_row(each.kind, f"{each.files:,}", size(each.bytes))
    return table


def _problem(problem: Problem) -> Text:
    remedy = f" {problem.remedy}" if problem.remedy else ""
    if problem.is_note:
        return Text(f"NOTE   {problem.what}.{remedy}")
    return Text(f"WRONG  {problem.what}.{remedy}", style="red")


def count(number: int, noun: str) -> str:
    """Write a number with its noun.

    >>> count(1, "row"), count(2_000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def size(length_bytes: int) -> str:
    """Write a length as people do.

    >>> size(999), size(1_500), size(2_500_000_000)
    ('999 bytes', '1.5 kB', '2.5 GB')
    """
    amount, units = float(length_bytes), ("kB", "MB", "GB", "TB", "PB")
    if amount < 1_000:
        return f"{length_bytes} bytes"
    for unit in units:
        amount /= 1_000
        if amount < 1_000 or unit == units[-1]:
            break
    return f"{amount:.1f} {unit}"


def span(seconds: float) -> str:
    """Write a length of time as people do, in its two largest units.

    >>> span(0.4), span(75), span(7_300), span(200_000)
    ('0.4 s', '1 min 15 s', '2 h 1 min', '2 days 7 h')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min"
    return f"{hours // 24} days {hours % 24} h"


def moment(seconds: float) -> str:
    """Write a time in UTC.

    >>> moment(0)
    '1970-01-01 00:00:00 UTC'
    """
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return f"{seconds:.0f} s after 1970"
