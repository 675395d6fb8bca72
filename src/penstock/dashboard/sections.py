"""What a page consists of, before anything draws it: pages are functions of what is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from math import isfinite
from typing import Any

from penstock.dashboard.charts import Values
from penstock.dashboard.markup import Safe
from penstock.history.growing_table import Buckets
from penstock.history.query_history import QueryHistory

MOST_POINTS = 300
RANGES: dict[str, float | None] = {
    "5m": 300.0,
    "15m": 900.0,
    "1h": 3_600.0,
    "6h": 21_600.0,
    "24h": 86_400.0,
    "all": None,
}
RANGE_WORDS = {
    "5m": "5 minutes",
    "15m": "15 minutes",
    "1h": "1 hour",
    "6h": "6 hours",
    "24h": "24 hours",
    "all": "All of it",
}
LONG_SECONDS = 2 * 3_600.0
_SILENT_SECONDS = 60.0
_IDLE_SECONDS = 15.0
_LONG_AGO = -1e12  # before whatever a clock says; what has no time counts as even earlier


@dataclass(frozen=True, slots=True)
class Html:
    """A piece of a page in words."""

    content: Safe
    title: str = ""
    about: str = ""
    is_wide: bool = True


@dataclass(frozen=True, slots=True)
class Chart:
    """A piece of a page that is drawn; ``about`` says what is to be seen."""

    title: str
    options: dict[str, Any] = field(hash=False)
    about: str = ""
    height: int = 240
    is_wide: bool = False


Section = Html | Chart


def side_by_side(sections: Sequence[Section]) -> list[Section]:
    """Lay narrow sections in pairs: one that would stand alone is made wide.

    >>> charts = [Chart("a", {}), Chart("b", {}), Chart("c", {}), Chart("d", {}, is_wide=True)]
    >>> [(each.title, each.is_wide) for each in side_by_side(charts)]
    [('a', False), ('b', False), ('c', True), ('d', True)]
    """
    laid: list[Section] = []
    for is_wide, run in groupby(sections, key=lambda each: each.is_wide):
        them = list(run)
        if not is_wide and len(them) % 2:
            them[-1] = replace(them[-1], is_wide=True)
        laid += them
    return laid


@dataclass(frozen=True, slots=True)
class Shown:
    """One query and the time that is looked at, up to ``until_seconds``."""

    query: QueryHistory
    journal: str
    since_seconds: float
    until_seconds: float
    now_seconds: float
    share_read: float = 1.0

    def batches(self, most: int = MOST_POINTS) -> Buckets:
        """Return the micro-batches of that time, put together to as many as can be drawn."""
        return self.query.batches.buckets(self.since_seconds, self.until_seconds, most)

    def operator(self, name: str, most: int = MOST_POINTS) -> Buckets:
        """Return what an operator did in that time."""
        return self.query.operators.buckets(name, self.since_seconds, self.until_seconds, most)

    def balance(self, name: str, most: int = MOST_POINTS) -> Buckets:
        """Return how evenly the tasks of an operator shared its work in that time."""
        return self.query.operators.balance(name, self.since_seconds, self.until_seconds, most)

    def is_within(self, at_seconds: float) -> bool:
        """Say whether a moment is looked at."""
        return self.since_seconds < at_seconds <= self.until_seconds

    @property
    def state(self) -> tuple[str, str]:
        """Say how the query is, and in which tone to say so."""
        query = self.query
        if query.stopped is not None:
            return ("failed", "bad") if query.failure else ("ended", "soft")
        if query.newest is None and not query.started:
            return "no batch yet", "soft"
        if self.now_seconds - query.last_at_seconds > self.silent_seconds:
            return "silent", "warn"
        return ("starting", "soft") if query.newest is None else ("running", "good")

    @property
    def silent_seconds(self) -> float:
        """After how long without a word a query counts as silent."""
        trigger = self.query.batches.last()["trigger"]
        return max(_SILENT_SECONDS, 10 * trigger if isfinite(trigger) else 0.0)

    @property
    def is_long(self) -> bool:
        """Whether so much is looked at that it need not be drawn anew every second."""
        begun = max(self.since_seconds, _begun(self.query, self.until_seconds))
        return self.until_seconds - begun > LONG_SECONDS

    @property
    def idle_seconds(self) -> float:
        """How long a running query has ended no batch, beyond what its batches usually take."""
        query, last = self.query, self.query.batches.last()
        usual = (3 * each for each in (last["trigger"], last["seconds"]) if isfinite(each))
        idle = self.now_seconds - (last["at"] if isfinite(last["at"]) else query.last_at_seconds)
        is_idle = query.is_running and idle > max((_IDLE_SECONDS, *usual))
        return idle if is_idle else 0.0


def range_of(query: QueryHistory, chosen: str, now_seconds: float) -> tuple[float, float]:
    """Return the time to look at: up to now while a query runs, else up to its last word.

    Where nobody chose, all of a short run and the last hour of a long one.
    """
    # After a clock was set back, batches go on to be drawn where it had been.
    told = (query.last_at_seconds, query.batches.last()["at"])
    last = max((each for each in told if isfinite(each)), default=now_seconds)
    is_live = query.is_running and now_seconds - last < _SILENT_SECONDS
    until = max(last, now_seconds) if is_live else last
    is_long = until - _begun(query, until) > LONG_SECONDS
    width = RANGES.get(chosen, RANGES["1h"] if is_long else None)
    # Much is told before the first batch ends, and at any time where a clock was set back.
    return (_LONG_AGO if width is None else until - width), until


def _begun(query: QueryHistory, otherwise: float) -> float:
    """Return when the first batch ended."""
    first = query.batches.first_time_after(_LONG_AGO)
    return otherwise if first is None else first


def rates(rows: Values, spans: Values) -> list[float]:
    """Return rows per second; NaN where no time passed.

    >>> rates([10.0, 5.0], [2.0, 0.0])
    [5.0, nan]
    """
    return [row / span if span > 0 else float("nan") for row, span in zip(rows, spans, strict=True)]
