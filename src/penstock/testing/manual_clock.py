"""A clock that only the test moves."""

from __future__ import annotations

import threading
from datetime import datetime

from penstock.arguments import checked, shown
from penstock.errors import ArgumentError
from penstock.windows.durations import Duration, seconds


class ManualClock:
    """Tells the time that a test sets, in seconds since the epoch: ``ps.run(..., clock=clock)``.

    It stands still until it is moved. Any thread may read and move it.

    Parameters
    ----------
    start
        The time it shows at first: seconds since the epoch, or a ``datetime``.

    Examples
    --------
    >>> clock = ManualClock(100)
    >>> clock()
    100.0
    >>> clock.advance("1 minute")
    160.0
    >>> clock.set(50)
    50.0

    """

    @checked
    def __init__(self, start: float | datetime = 0.0) -> None:
        self._lock = threading.Lock()
        self._now_seconds = _as_seconds(start)

    def __call__(self) -> float:
        """Return the time, in seconds since the epoch."""
        with self._lock:
            return self._now_seconds

    def advance(self, by: Duration) -> float:
        """Move on by a duration, such as ``"10 seconds"`` or 2.5, and return the new time.

        To turn the clock back, write ``set``.
        """
        step_seconds = seconds(by)
        with self._lock:
            self._now_seconds += step_seconds
            return self._now_seconds

    @checked
    def set(self, to: float | datetime) -> float:
        """Show another time, earlier or later, and return it."""
        now_seconds = _as_seconds(to)
        with self._lock:
            self._now_seconds = now_seconds
        return now_seconds

    def __repr__(self) -> str:
        """Show the time it shows."""
        return f"ManualClock({self()})"


def _as_seconds(moment: float | datetime) -> float:
    try:
        return moment.timestamp() if isinstance(moment, datetime) else float(moment)
    except (ValueError, OverflowError):
        raise ArgumentError(
            f"no clock shows {shown(moment)}. Write a later time, or one with a time zone."
        ) from None
