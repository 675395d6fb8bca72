"""Control: what is in force below the form that changes it."""

from __future__ import annotations

from math import isfinite

from penstock.dashboard.markup import Safe, notice
from penstock.dashboard.pages import decisions
from penstock.dashboard.sections import Html, Section, Shown
from penstock.dashboard.words import count, counted


def sections(shown: Shown) -> list[Section]:
    """Say how many slots are in force, and what changed them."""
    if shown.query.decisions.last is None:
        return [Html(notice("No decision has been made yet."))]
    return [
        Html(_in_force(shown)),
        *[each for each in decisions.sections(shown) if each.title == "What else changed"],
    ]


def _in_force(shown: Shown) -> Safe:
    """Say the slots that there are to be: of queries that share a journal, those of all."""
    last, planned = shown.query.decisions.last, shown.query.shared_slots
    assert last is not None
    wanted = last.told.decision
    if not isfinite(planned):
        return notice(f"In force: {counted(wanted.slots, 'slot')}.", wanted.reason)
    return notice(
        f"In force: {counted(planned, 'slot')} for all queries together.",
        f"This one asks for {count(wanted.slots)}: {wanted.reason}",
    )
