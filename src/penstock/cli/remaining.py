"""How long a run still takes, where that can be told."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from rich.text import Text

from penstock.cli.run_record import RunRecord

_BAR_WIDTH = 30


@dataclass(frozen=True, slots=True)
class Remaining:
    """The share of a run that is done, and how long the rest takes.

    >>> Remaining(0.5, 75.0).line().plain
    '━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━  50 %, 1:15 left'
    """

    share: float
    seconds: float

    def line(self) -> Text:
        """Draw a bar, with the time left beside it."""
        full = round(_BAR_WIDTH * min(1.0, max(0.0, self.share)))
        minutes, seconds = divmod(round(max(0.0, self.seconds)), 60)
        hours, minutes = divmod(minutes, 60)
        clock = f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
        return Text.assemble(
            ("━" * full, "green"),
            ("━" * (_BAR_WIDTH - full), "bright_black"),
            f"  {self.share:.0%}, ".replace("%", " %"),
            f"{clock} left",
        )


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
        """Look at what is done, and at the clock, which starts when this is first asked."""
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
    return Remaining(record.rows_in / (record.rows_in + waiting), waiting * seconds / rows)
