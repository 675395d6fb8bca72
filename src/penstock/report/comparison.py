"""Several runs side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.history.summary import Summary
from penstock.report.story import Story, Table
from penstock.report.words import figure, share

_NUMBERS: tuple[tuple[str, Callable[[Summary], str]], ...] = (
    ("rows", lambda s: f"{s.rows:,}"),
    ("rows/s", lambda s: figure(s.rows_per_second)),
    ("batches", lambda s: f"{s.batches:,}"),
    ("mean batch", lambda s: figure(s.mean_batch_seconds, "s")),
    ("95 % of batches", lambda s: figure(s.p95_batch_seconds, "s")),
    ("behind", lambda s: "-" if s.behind is None else share(s.behind)),
    ("latency", lambda s: figure(s.mean_latency_seconds, "s")),
    ("most rows waiting", lambda s: figure(s.most_waiting_rows)),
    ("mean slots", lambda s: figure(s.mean_slots)),
    ("slot-hours", lambda s: figure(s.slot_hours)),
    ("saved", lambda s: "-" if s.saved is None else share(s.saved)),
    ("changes of slots", lambda s: f"{s.slot_changes:,}"),
    ("late rows", lambda s: f"{s.late_rows:,}"),
    ("failed rows", lambda s: f"{s.failed_rows:,}"),
    ("restarts", lambda s: f"{s.restarts:,}"),
)
_NOTE = (
    "behind: the share of batches that took longer than their trigger. saved: the share of slot "
    "time not used, against all slots all the time."
)


def comparison_of(stories: Sequence[Story]) -> Table:
    """Return a column of numbers for each story."""
    rows = [(name, *(written(story.summary) for story in stories)) for name, written in _NUMBERS]
    return Table(("", *(story.name for story in stories)), rows, note=_NOTE)
