"""One journal as metrics see it: the queries that it is of, and how well it can be read."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.journal.events import CorruptLine, QueryStarted, QueryStopped
from penstock.journal.lines import Event
from penstock.journal.topology_events import TopologyPlanned
from penstock.metrics import catalogue as m
from penstock.metrics.counting import count
from penstock.metrics.label_values import LabelValues, clean
from penstock.metrics.query_metrics import QueryMetrics

MOST_QUERIES = 50


class JournalMetrics:
    """Adds up a journal, event by event.

    Most journals are of one query. That of ``autoscale`` is of several, whose events name them;
    what such a journal tells without a name, as of the slots that they share, is of ``place``.
    """

    def __init__(self, place: str) -> None:
        self.place = clean(place)
        self.lines = 0
        self.corrupt_lines = 0
        self.missed_events = 0
        self._last_seq: int | None = None
        self._begin()

    def _begin(self) -> None:
        self._unnamed = QueryMetrics()
        self._named: dict[str, QueryMetrics] = {}
        self._names = LabelValues(MOST_QUERIES)
        self._lacks_beginning = False
        self._undecided: Event | None = None

    def take(self, event: Event) -> None:
        """Add one line of the journal."""
        self.lines += 1
        body = event.body
        if isinstance(body, CorruptLine):
            self.corrupt_lines += 1
            return
        self._follow_numbers(event.seq)
        name: str | None = getattr(body, "query", None)
        if name is not None and not self._named:
            self._is_of_several(name)
        self._decide()
        if not isinstance(body, QueryStarted):
            query = self._unnamed if name is None else self._query(name)
            if isinstance(body, QueryStopped):
                query.stop(body)
            if isinstance(body, TopologyPlanned) and body.started is not None:
                query.go_on(body.started)
            count(query, body)
            query.tally.put(m.LAST_EVENT, event.at_seconds)
        elif self._named:
            _start(self._query(body.name), event)
        else:
            # Only the next event tells whether it is the start of one query of several.
            self._undecided = event

    def queries(self) -> Iterator[tuple[str, QueryMetrics]]:
        """Return the queries by name."""
        self._decide()
        yield from self._named.items()
        began = self._unnamed.started
        yield clean(began.name) if began else self.place, self._unnamed

    def _follow_numbers(self, seq: int) -> None:
        if self._last_seq is not None and seq <= self._last_seq:
            # The journal was deleted and begun anew: these are another query's numbers.
            self._begin()
            self._last_seq = None
        if self._last_seq is None:
            self._lacks_beginning = seq > 1
        self.missed_events += max(0, seq - 1 - (self._last_seq or 0))
        self._last_seq = seq

    def _decide(self) -> None:
        event, self._undecided = self._undecided, None
        if event is not None:
            _start(self._unnamed, event, self._lacks_beginning)

    def _is_of_several(self, name: str) -> None:
        """Learn from the first event that names a query that a start before it was of that one."""
        query, event = QueryMetrics(), self._undecided
        if event is not None:
            self._undecided = None
            _start(query, event)
        elif self._unnamed.started is not None:
            query, self._unnamed = self._unnamed, query
        self._named[self._names.of(name)] = query

    def _query(self, name: str) -> QueryMetrics:
        return self._named.setdefault(self._names.of(name), QueryMetrics())


def _start(query: QueryMetrics, event: Event, lacks_beginning: bool = False) -> None:
    assert isinstance(event.body, QueryStarted)
    query.start(event.body, is_restart=query.started is not None or lacks_beginning)
    query.tally.put(m.LAST_EVENT, event.at_seconds)
