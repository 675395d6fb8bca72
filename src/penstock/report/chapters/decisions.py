"""What was decided, why, what was expected, and what came of it."""

from __future__ import annotations

from datetime import tzinfo

from penstock.history.decisions_seen import DecisionsSeen, Made, Outcome
from penstock.history.query_history import QueryHistory
from penstock.report.headline import clock_for
from penstock.report.story import Chapter, Table
from penstock.report.words import counted, figure, share

MOST_DECISIONS = 100
MOST_CHANGES = 50


def decisions_chapter(query: QueryHistory, zone: tzinfo) -> Chapter | None:
    """Tell the decisions that changed slots, and what else was changed."""
    seen = query.decisions
    if not seen.count and not seen.changes:
        return None
    changed = [made for made in seen.newest if made.slots_before != made.told.decision.slots]
    tables = []
    if changed:
        shown = changed[-MOST_DECISIONS:]
        rows = [_row(query, made, zone) for made in shown]
        columns = ("when", "slots", "why", "expected", "came", "off", "of the trigger")
        left = seen.changed_slots + 1 - len(shown)
        note = (
            "Expected and came: rows of all sources within the horizon of the decision. Of the "
            "trigger: the share that batches took before it, and after."
        )
        if left > 0:
            note += f" {counted(left, 'earlier decision')} left out."
        tables.append(Table(columns, rows, ("why",), note, over_time=True))
    others = [each for each in seen.changes if each.kind != "slots"][-MOST_CHANGES:]
    if others:
        when = clock_for(query, zone)
        rows = [(when(each.at_seconds), each.kind, each.reason) for each in others]
        tables.append(
            Table(
                ("when", "what", "why"),
                rows,
                ("what", "why"),
                title="What else changed",
                over_time=True,
            )
        )
    return Chapter("Decisions", _said(seen), tables=tuple(tables))


def _said(seen: DecisionsSeen) -> str:
    if seen.count < 2:
        return (
            "1 decision was made: it set the number of slots." if seen.count else "None was made."
        )
    changed, kept = seen.changed_slots, seen.count - seen.changed_slots - 1
    said = (
        f"{seen.count:,} decisions were made: the first set the number of slots, "
        f"{f'{changed:,}' if changed else 'none'} changed it, "
        f"{f'{kept:,}' if kept else 'none'} left it as it was."
    )
    return f"{said} The table shows those that set or changed it." if kept else said


def _row(query: QueryHistory, made: Made, zone: tzinfo) -> tuple[str, ...]:
    decision = made.told.decision
    found = query.decisions.outcome(made, query.batches, query.sources)
    before = "" if made.slots_before is None else f"{made.slots_before} → "
    held = f" (held by {', '.join(decision.held_by)})" if decision.held_by else ""
    return (
        clock_for(query, zone)(made.at_seconds),
        f"{before}{decision.slots}",
        f"{decision.reason}{held}",
        figure(found.expected_rows),
        _came(found, has_ended=query.stopped is not None),
        "-" if found.error is None else f"{found.error:+.0%}".replace("%", " %"),
        _shares(found),
    )


def _came(found: Outcome, *, has_ended: bool) -> str:
    if found.actual_rows is None:
        return found.why_unknown(has_ended=has_ended) or "-"
    return figure(found.actual_rows)


def _shares(found: Outcome) -> str:
    if found.share_before is None and found.share_after is None:
        return "-"
    sides = (found.share_before, found.share_after)
    return " → ".join("-" if each is None else share(each) for each in sides)
