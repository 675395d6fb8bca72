"""What one browser looks at: a journal, a query in it, a time, as its address says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import urlencode

from penstock.dashboard.sections import RANGES, Shown, range_of
from penstock.dashboard.watched import Watched
from penstock.history.journal_history import JournalHistory


@dataclass(frozen=True, slots=True)
class View:
    """Which journal, by its number, which query in it, by its number, and which time."""

    journal: int = 0
    query: int = 0
    range: str = ""

    @classmethod
    def of(cls, watched: Watched, journal: str, query: str, range: str) -> View:
        """Read what an address asks for; what is not there becomes the first."""
        number = _number(journal, len(watched.journals))
        queries = watched.journals[number].shown.queries
        return cls(number, _number(query, len(queries)), range if range in RANGES else "")

    def address(self, path: str, **changes: object) -> str:
        """Return the address of a page for this view, or for one that differs from it.

        >>> View(1, 0, "1h").address("/windows", range="6h")
        '/windows?journal=1&range=6h'
        """
        other = replace(self, **changes)  # type: ignore[arg-type]
        said = {
            name: value
            for name, value in (
                ("journal", other.journal),
                ("query", other.query),
                ("range", other.range),
            )
            if value
        }
        return f"{path}?{urlencode(said)}" if said else path

    def shown(self, watched: Watched, history: JournalHistory) -> Shown:
        """Return what ``history`` shows now; to be asked while holding its lock.

        What a journal shows may be another history a moment later: the one whose lock is held is
        the one to read.
        """
        journal = watched.journals[self.journal]
        queries = history.queries
        query = queries[min(self.query, len(queries) - 1)]
        now = watched.clock()
        since, until = range_of(query, self.range, now)
        name = watched.names[self.journal]
        return Shown(query, name, since, until, now, journal.share_read)


def _number(text: str, below: int) -> int:
    is_number = text.isascii() and text.isdigit() and len(text) < 10
    return int(text) if is_number and int(text) < below else 0
