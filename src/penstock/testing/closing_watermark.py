"""A watermark that a test can push past the end of all windows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from penstock.windows.watermark import Mark, Seen, Watermark, latest

_FAR = timedelta(days=36_500) // timedelta(microseconds=1)
_LAST = int(datetime(9999, 12, 31, tzinfo=UTC).timestamp()) * 1_000_000


@dataclass(frozen=True)
class ClosingWatermark:
    """Follows another rule until ``is_closing``; then it jumps a century ahead of the newest row.

    So all windows come out, and no row had to be made up for that.

    >>> from penstock.windows.watermark import FixedDelay
    >>> rule = ClosingWatermark(FixedDelay.of("10 seconds"), lambda: True)
    >>> mark = rule.advance(Mark(), Seen(rows=1, newest_micros=0, oldest_micros=0))
    >>> datetime.fromtimestamp(mark.micros / 1e6, UTC).year
    2069
    """

    rule: Watermark
    is_closing: Callable[[], bool]

    @property
    def counts_late(self) -> bool:
        """Whether the other rule does."""
        return self.rule.counts_late

    def advance(self, mark: Mark, seen: Seen) -> Mark:
        """Return the other rule's mark, or one that closes all windows."""
        after = self.rule.advance(mark, seen)
        if not self.is_closing() or after.newest_micros is None:
            return after
        return replace(after, micros=latest(after.micros, min(after.newest_micros + _FAR, _LAST)))

    def describe(self) -> str:
        """Say the other rule: a checkpoint should see no difference."""
        return self.rule.describe()
