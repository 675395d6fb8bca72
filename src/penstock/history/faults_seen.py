"""What went wrong in a query, and how often it began and ended."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from penstock.history.bounded_counts import MOST_NAMES, BoundedCounts
from penstock.journal.events import (
    BatchSkipped,
    CorruptLine,
    FaultSeen,
    QueryStarted,
    QueryStopped,
    RowsFailed,
    RowsShed,
    UnknownEvent,
)

KEPT_FAULTS = 500
KEPT_RUNS = 200
MOST_LETTERS = 20_000
EXAMPLE_LETTERS = 200


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault and when it was seen."""

    at_seconds: float
    what: str
    detail: str
    count: int
    batch_id: int | None


class Began(NamedTuple):
    """A start of a query, and how its run before had ended: None where nobody wrote it down."""

    name: str
    at_seconds: float
    version: str
    slots: int
    after: str | None


class FaultsSeen:
    """Dead letters by operator and error, faults, restarts and lines that can't be read.

    ``examples`` are the newest message of each operator and error, where a journal tells any.
    """

    def __init__(self) -> None:
        self.failed = BoundedCounts[tuple[str, str]](("others", "others"))
        self.examples: dict[tuple[str, str], str] = {}
        self.shed = BoundedCounts[tuple[str, str]](("others", "others"))
        self.by_kind = BoundedCounts[str]("others")
        self.newest: deque[Fault] = deque(maxlen=KEPT_FAULTS)
        self.began: deque[Began] = deque(maxlen=KEPT_RUNS)
        self._starts = BoundedCounts[str]("others")
        self._left_out = (0, 0)
        self.skipped_batches = 0
        self.corrupt_lines = 0
        self.unknown_events = 0
        self.newest_corrupt: CorruptLine | None = None
        self._ended: dict[str | None, str] = {}

    @property
    def starts(self) -> int:
        """How often any query began."""
        return self._starts.total - self._left_out[0]

    @property
    def restarts(self) -> int:
        """How often a query began again; several may share a journal."""
        return self._all_restarts() - self._left_out[1]

    def newest_start(self, query: str) -> Began | None:
        """Return when a query began last, of those that share the journal; "" is any of them."""
        return next((each for each in reversed(self.began) if query in ("", each.name)), None)

    def leave_out_starts(self) -> None:
        """Count no start so far; a query that begins again from now on still begins again."""
        self.began.clear()
        self._left_out = (self._starts.total, self._all_restarts())

    def _all_restarts(self) -> int:
        return self._starts.total - len(self._starts.largest())

    @property
    def executor_losses(self) -> int:
        """How many executors were lost, as far as anybody noticed."""
        return sum(n for what, n in self.by_kind.largest() if what.startswith("executor lost"))

    def failed_rows(self, at_seconds: float, told: RowsFailed) -> None:
        """Take in rows on which a function failed."""
        named = 0
        for reason, rows in told.reasons.items():
            self.failed.add((told.operator, reason), rows)
            named += rows
        for reason, message in told.examples.items():
            name = told.operator, reason
            if name in self.examples or len(self.examples) < MOST_NAMES:
                self.examples[name] = message[:EXAMPLE_LETTERS]
        if told.rows > named:
            self.failed.add((told.operator, "not told"), told.rows - named)

    def shed_rows(self, at_seconds: float, told: RowsShed) -> None:
        """Take in rows that were set aside as the user chose."""
        self.shed.add((told.source, told.reason), told.rows)

    def fault(self, at_seconds: float, told: FaultSeen) -> None:
        """Take in a fault."""
        self.by_kind.add(told.what, told.count)
        detail = told.detail[:MOST_LETTERS]
        self.newest.append(Fault(at_seconds, told.what, detail, told.count, told.batch_id))

    def start(self, at_seconds: float, told: QueryStarted) -> None:
        """Take in that a query began."""
        # An end that says whose it was is no other query's; of a journal with one query none does.
        after = self._ended.pop(told.name, None) or self._ended.pop(None, None)
        if not self.starts:
            after = None
        self.began.append(Began(told.name, at_seconds, told.penstock_version, told.slots, after))
        self._starts.add(told.query_id, 1)

    def stop(self, at_seconds: float, told: QueryStopped) -> None:
        """Take in that a query ended."""
        if told.query in self._ended or len(self._ended) < MOST_NAMES:
            self._ended[told.query] = told.error or told.reason

    def skip(self, at_seconds: float, told: BatchSkipped) -> None:
        """Take in that a batch came again that had been committed."""
        self.skipped_batches += 1

    def corrupt(self, at_seconds: float, told: CorruptLine) -> None:
        """Take in a line that is no event."""
        self.corrupt_lines += 1
        self.newest_corrupt = told

    def unknown(self, at_seconds: float, told: UnknownEvent) -> None:
        """Take in an event that only a newer Penstock knows."""
        self.unknown_events += 1
