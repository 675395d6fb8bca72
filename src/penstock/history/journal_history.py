"""Follows a journal and keeps what it tells, without ever reading it again from its start."""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from math import inf, isfinite, nan
from pathlib import Path
from typing import Any

from penstock.errors import PenstockError
from penstock.history.query_history import QueryHistory, handlers_of
from penstock.history.quick_lines import quick
from penstock.journal.events import ControlTaken, CorruptLine, QueryStarted
from penstock.journal.file_follower import FileFollower
from penstock.journal.location import journal_of
from penstock.journal.reader import Cursor, LineFollower, RawLine
from penstock.journal.segments import segment_numbers, segment_path
from penstock.journal.topology_events import TopologyPlanned
from penstock.secrets import logger

_log = logger("penstock.history")
_LINES_AT_ONCE = 500
MOST_QUERIES = 200
_OTHERS = "others"


class JournalHistory:
    """What a journal tells of its queries; ``refresh`` takes in what was written since.

    Of a journal that several queries share (that of ``autoscale``) each has a history of its own,
    and the slots, faults and changes that are nobody's alone. Whoever reads while another thread
    refreshes holds ``lock``. ``revision`` grows with every line, so that a page knows whether to
    draw anew.
    With ``newest_segments`` it begins so many files before the end, for a first look at a long one.
    What happened before ``since_seconds`` or after ``until_seconds`` is left out, but for what the
    query is: its start and its topology. ``left_out`` says from when until when there was any.
    """

    def __init__(
        self,
        path: Path,
        newest_segments: int | None = None,
        *,
        since_seconds: float = -inf,
        until_seconds: float = inf,
    ) -> None:
        self.path = path
        self._since, self._until = since_seconds, until_seconds
        self._newest_segments = newest_segments
        self.lock = threading.RLock()
        self.revision = 0
        self.problem: str | None = None
        self.share_read = 0.0
        self._journal: Path | None = None
        self._follower: LineFollower | FileFollower | None = None
        self._has_failed = False
        self._begin()

    @property
    def name(self) -> str:
        """What people call it: the directory that is not just called journal or checkpoint."""
        path = self.path.absolute()
        if path.is_file():
            return path.stem
        while path.name in ("journal", "checkpoint") and path.parent.name:
            path = path.parent
        return path.name

    @property
    def journal(self) -> Path | None:
        """Where the journal is; None as long as there is none."""
        return self._journal

    @property
    def queries(self) -> list[QueryHistory]:
        """The queries in it that have names of their own, or the one that has none."""
        # A copy: pages ask while the thread that reads finds another query.
        named = [query for name, query in list(self._queries.items()) if name]
        return named or [self._queries[""]]

    def refresh(self, stop: Callable[[], bool] = lambda: False) -> bool:
        """Take in what is new, and say whether anything was; ``problem`` says why it can't be read.

        Readers get a turn every few hundred lines. ``stop`` ends it early; the next call goes on.
        """
        try:
            lines = self._lines()
        except (PenstockError, OSError) as error:
            self.problem = str(error)
            return False
        self.problem = self._refused
        before = self.revision
        try:
            while self._take_chunk(lines):
                if stop():
                    break
                time.sleep(0)
            self.problem = self._refused
        except (PenstockError, OSError) as error:
            self.problem = str(error)
        self.share_read = 1.0
        return self.revision != before

    def close(self) -> None:
        """Let go of the open file."""
        if self._follower is not None:
            self._follower.close()

    def _begin(self) -> None:
        self._queries = {"": QueryHistory()}
        self._handlers: dict[str, dict[type, Any]] = {"": handlers_of(self._queries[""])}
        self._begun_anew = 0
        self._refused: str | None = None
        self.left_out: tuple[float, float] | None = None
        self._bytes_read = 0
        self._bytes = 1

    def _lines(self) -> Iterator[RawLine]:
        if self._journal is None:
            self._journal = journal_of(self.path)
            self._bytes = max(1, _size(self._journal))
        if self._follower is None and self._journal.is_file():
            self._follower = FileFollower(self._journal)
        elif self._follower is None:
            self._follower = LineFollower(self._journal, self._first_place(self._journal))
        return self._follower.poll_lines()

    def _first_place(self, journal: Path) -> Cursor | None:
        if self._newest_segments is None:
            return None
        numbers = segment_numbers(journal)[-self._newest_segments :]
        return Cursor(segment=numbers[0]) if numbers else None

    def _take_chunk(self, lines: Iterator[RawLine]) -> bool:
        """Take in the next lines, and say whether there were any."""
        chunk: list[RawLine] = []
        try:
            # Filled in place: lines that came before a file failed never come again.
            chunk.extend(islice(lines, _LINES_AT_ONCE))
        finally:
            if chunk:
                with self.lock:
                    self._take(chunk)
        return bool(chunk)

    def _take(self, lines: list[RawLine]) -> None:
        if self._follower is not None and self._follower.times_begun_anew != self._begun_anew:
            begun = self._follower.times_begun_anew
            self._begin()
            self._begun_anew = begun
        is_all = self._since == -inf and self._until == inf
        for line in lines:
            self._bytes_read += len(line.text)
            try:
                told = quick(line)
                body = told.body
                if body is not None and (is_all or self._is_wanted(told.at_seconds, body)):
                    self._dispatch(told.at_seconds, body)
            except PenstockError as error:
                self._refused = str(error)
            except Exception as error:
                self._leave_out(line, error)
        self.revision += len(lines)
        self.share_read = min(1.0, self._bytes_read / self._bytes)

    def _leave_out(self, line: RawLine, error: Exception) -> None:
        """Count a line that can't be taken in; those after it have left their file for good."""
        # A number that nobody could have measured, too large for a table, is the journal's fault;
        # all else is ours, and is logged once.
        if not isinstance(error, OverflowError | struct.error) and not self._has_failed:
            self._has_failed = True
            _log.error("%s line %d is left out", line.path, line.number, exc_info=error)
        corrupt = CorruptLine(str(line.path), line.number, str(error), "")
        self._queries[""].faults.corrupt(nan, corrupt)

    def _is_wanted(self, at_seconds: float, body: Any) -> bool:
        # What has no known time, as a corrupt line, is of any time.
        is_before = at_seconds < self._since
        if not is_before and not at_seconds > self._until:
            return True
        first, last = self.left_out or (at_seconds, at_seconds)
        self.left_out = min(first, at_seconds), max(last, at_seconds)
        return is_before and isinstance(body, QueryStarted | TopologyPlanned)

    def _dispatch(self, at_seconds: float, body: Any) -> None:
        name = self._name_of(body)
        handlers = self._handlers.get(name)
        if handlers is None:
            handlers = self._handlers[name] = handlers_of(self._new(name))
        handle = handlers.get(type(body))
        if handle is not None:
            handle(at_seconds, body)
        if isinstance(body, ControlTaken):  # it holds for all
            for query in self._queries.values():
                query.decisions.control = body
        if at_seconds < self._since:
            self._queries[name].faults.leave_out_starts()
        elif isfinite(at_seconds):
            self._queries[name].last_at_seconds = at_seconds

    def _name_of(self, body: Any) -> str:
        """Return whose event it is; the start of a query that has a history of its own is its."""
        name = getattr(body, "query", None) or ""
        if isinstance(body, QueryStarted) and body.name in self._queries:
            return body.name
        if name not in self._queries and len(self._queries) > MOST_QUERIES:
            return _OTHERS
        return name

    def _new(self, name: str) -> QueryHistory:
        query, shared = QueryHistory(name), self._queries[""]
        query.slots, query.faults = shared.slots, shared.faults
        query.decisions.changes = shared.decisions.changes
        query.decisions.control = shared.decisions.control
        self._queries[name] = query
        return query


def _size(journal: Path) -> int:
    if journal.is_file():
        return journal.stat().st_size
    found = 0
    for number in segment_numbers(journal):
        with suppress(FileNotFoundError):  # its writer may just have deleted it as too old
            found += segment_path(journal, number).stat().st_size
    return found
