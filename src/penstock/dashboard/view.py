"""What one browser looks at: a journal, a query in it, a time, as its address says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import urlencode

from penstock.dashboard.sections import RANGES, Shown, range_of
from penstock.dashboard.watched import Watched
from penstock.history.journal_history import JournalHistory
from penstock.history.query_history import QueryHistory


@dataclass(frozen=True, slots=True)
class View:
    """Which journal, by its number, which query in it, by its name, and which time.

    A query has no number: in the newest part of a journal, which is shown first, they may come in
    another order than in all of it. "" is the first of them.
    """

    journal: int = 0
    query: str = ""
    range: str = ""

    @classmethod
    def of(cls, watched: Watched, journal: str, query: str, range: str) -> View:
        """Read what an address asks for; what is not there becomes the first."""
        number = _number(journal, len(watched.journals))
        asked, journal_read = cls(number, query), watched.journals[number]
        name = asked.name_of_query(journal_read.shown, is_whole=journal_read.is_whole)
        return cls(number, name, range if range in RANGES else "")

    def name_of_query(self, history: JournalHistory, *, is_whole: bool) -> str:
        """Return the name of the query; one that is not there is the first, once all has been read.

        Addresses that people kept may have its number instead, which is of the whole journal, too.
        """
        names = [each.name for each in history.queries]
        if self.query in names or (self.query and not is_whole):
            return self.query
        return names[_number(self.query, len(names))]

    def address(self, path: str, **changes: object) -> str:
        """Return the address of a page for this view, or for one that differs from it.

        >>> View(1, "clicks", "1h").address("/windows", range="6h")
        '/windows?journal=1&query=clicks&range=6h'
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
        asked = self.name_of_query(history, is_whole=journal.is_whole)
        found = [each for each in history.queries if each.name == asked]
        # Rather nothing, while it may yet come, than another query's numbers under its name.
        query = found[0] if found else QueryHistory(asked)
        now = watched.clock()
        since, until = range_of(query, self.range, now)
        name = watched.names[self.journal]
        return Shown(query, name, since, until, now, journal.share_read)


def _number(text: str, below: int) -> int:
    is_number = text.isascii() and text.isdigit() and len(text) < 10
    return int(text) if is_number and int(text) < below else 0
