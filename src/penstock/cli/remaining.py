"""How long a run still takes, where that can be told."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rich.text import Text

from penstock.cli.files_read import FilesRead
from penstock.cli.run_record import RunRecord

_BAR_WIDTH = 30


class Line(Protocol):
    """Something to show below the table of a run."""

    def line(self) -> Text:
        """Return what to show."""
        ...


@dataclass(frozen=True, slots=True)
class Remaining:
    """The share of a run that is done, and how long the rest takes, where that is known.

    >>> Remaining(0.5, 75.0, "5 of 10 files").line().plain
    '━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━  50 %, 1:15 left, 5 of 10 files'
    """

    share: float
    seconds: float | None
    done: str = ""

    def line(self) -> Text:
        """Draw a bar, with the time left beside it."""
        full = round(_BAR_WIDTH * min(1.0, max(0.0, self.share)))
        told = [f"{self.share:.0%}".replace("%", " %")]
        told += [] if self.seconds is None else [f"{_clock(self.seconds)} left"]
        told += [self.done] if self.done else []
        return Text.assemble(
            ("━" * full, "green"),
            ("━" * (_BAR_WIDTH - full), "bright_black"),
            f"  {', '.join(told)}",
        )


def _clock(left_seconds: float) -> str:
    minutes, seconds = divmod(round(max(0.0, left_seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


@dataclass(frozen=True, slots=True)
class DoneSoFar:
    """What a run has done whose sources don't tell how much there is.

    >>> DoneSoFar(12_000, 8.0).line().plain
    '12,000 rows done, 1,500 rows/s; the source does not tell how many there are'
    """

    rows: int
    seconds: float

    def line(self) -> Text:
        """Say the rows and their rate."""
        rate = f", {self.rows / self.seconds:,.0f} rows/s" if self.seconds > 0 else ""
        rows = f"{self.rows:,} {'row' if self.rows == 1 else 'rows'} done{rate}"
        return Text(f"{rows}; the source does not tell how many there are")


class OfLoad:
    """What is left of a load of so many rows that come within so many seconds.

    Rows that have come are worked off behind the load: where fewer are done than should be, the
    pace so far says how long the rest takes.
    """

    def __init__(
        self, rows: int, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rows = rows
        self._seconds = seconds
        self._clock = clock
        self._started: float | None = None

    def __call__(self, record: RunRecord) -> Remaining | None:
        """Look at what is done, and at the clock, which starts with the first micro-batch."""
        if not record.batches:
            return None
        now = self._clock()
        if self._started is None:
            self._started = now
        elapsed = now - self._started
        share = min(1.0, record.rows_in / self._rows)
        to_come = max(0.0, self._seconds - elapsed)
        at_this_pace = elapsed * (1 - share) / share if share else 0.0
        return Remaining(share, to_come or at_this_pace)


def of_backlog(record: RunRecord) -> Remaining | None:
    """Say what is left of the rows that wait at the sources, at the pace of the newest batches."""
    waiting = record.recent[-1].waiting_rows if record.recent else None
    recent = record.recent[-5:]
    seconds = sum(batch.batch_seconds for batch in recent)
    rows = sum(batch.rows_in for batch in recent)
    if waiting is None or not rows:
        return None
    all_rows = record.rows_in + waiting
    done = f"{record.rows_in:,} of {all_rows:,} rows"
    return Remaining(record.rows_in / all_rows, waiting * seconds / rows, done)


class OfAvailable:
    """What is left of that which was there when a query began that takes no more.

    Sources that count their rows tell it, and those of files with the help of a checkpoint on this
    machine's disk. Of others nobody knows more than what is done.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = clock()
        self._read: FilesRead | None = None
        self._before: frozenset[str] = frozenset()
        self._list: Callable[[], set[str] | None] = lambda: None
        self._files: set[str] | None = None
        self._newest: tuple[int, int, float] | None = None

    def before_start(self, checkpoint: Path | None) -> None:
        """Note what has been read by runs before; None is a checkpoint on another disk."""
        if checkpoint is None:
            return
        self._read = FilesRead(checkpoint)
        last = self._read.last_batch()
        if last is not None:
            self._before = frozenset(self._read.after(last))

    def started(self, list_files: Callable[[], set[str] | None]) -> None:
        """Begin to count; files are listed when somebody first asks what is left."""
        self._began = self._clock()
        self._list = list_files

    def __call__(self, record: RunRecord) -> Line | None:
        """Look at what is done, and at the clock."""
        known = of_backlog(record) or self._of_files(record)
        if known is not None or not record.batches:
            return known
        return DoneSoFar(record.rows_in, self._clock() - self._began)

    def _of_files(self, record: RunRecord) -> Remaining | None:
        if self._read is None:
            return None
        if self._files is None:
            self._files = (self._list() or set()) - self._before
        every = len(self._files)
        if not every:
            return None
        if not record.recent:
            return Remaining(0.0, None, f"0 of {every:,} files")
        batch_id, now = record.recent[-1].batch_id, self._clock()
        if self._newest is None or self._newest[0] != batch_id:
            self._newest = batch_id, len(self._read.after(batch_id) & self._files), now
        _, files, at = self._newest
        if not files:
            return None
        # Between two batches nothing is known to be done, but time goes by.
        left = (at - self._began) * (every - files) / files - (now - at)
        return Remaining(files / every, max(0.0, left), f"{files:,} of {every:,} files")
