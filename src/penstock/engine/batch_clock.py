"""How long a micro-batch takes, and how long it may."""

from __future__ import annotations

import time
from collections.abc import Callable

from penstock.preference.utilisation import BatchTime


class BatchClock:
    """Times micro-batches while they run.

    A batch has its trigger. Where there is none it has the time between two starts: its own time
    and the pause before it, which is none where rows wait.

    What is learnt of a batch is learnt before it is committed; what the last one took from there to
    its end is counted for it.
    """

    def __init__(
        self, trigger_seconds: float | None, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._trigger_seconds = trigger_seconds
        self._clock = clock
        self._began = self._asked = 0.0
        self._ended: float | None = None
        self._pause = self._after = 0.0

    def begin(self) -> None:
        """Note that a micro-batch begins."""
        self._began = self._clock()
        self._pause = 0.0 if self._ended is None else self._began - self._ended

    def time(self, slots: int) -> BatchTime:
        """Return the time that the running micro-batch has, and takes."""
        self._asked = self._clock()
        taken = self._asked - self._began + self._after
        return BatchTime(self._trigger_seconds or self._pause + taken, taken, slots)

    def end(self) -> None:
        """Note that it is over."""
        self._ended = self._clock()
        self._after = self._ended - self._asked
