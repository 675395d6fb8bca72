"""What was a period ago comes again: the seasonal naive forecast."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from statistics import median
from typing import Any

from penstock.elasticity.forecast.history import MOST_BUCKETS, History
from penstock.elasticity.forecast.period import find_period

# New buckets of history after which a period is looked for again.
LOOK_EVERY = 16
# Buckets that a period is kept in, or more, and periods that are kept.
BUCKETS_PER_PERIOD, PERIODS = 48, 2.5
# Samples that say how much the level changed since a period ago.
RECENT = 5


class Seasons:
    """Keeps the past of a rate, finds its period unless one is given, and says what comes again.

    >>> seasons = Seasons(period_seconds=100.0)
    >>> for second in range(0, 150, 5):
    ...     seasons.observe(float(second), 200.0 if second % 100 < 50 else 80.0, step_seconds=5.0)
    >>> ahead = seasons.follow()
    >>> ahead(20.0), ahead(70.0)
    (80.0, 200.0)
    """

    def __init__(self, period_seconds: float | None = None) -> None:
        self._given = period_seconds
        self._found: float | None = None
        self._history: History | None = None
        self._recent: list[tuple[float, float]] = []
        self._unlooked = 0

    @property
    def period_seconds(self) -> float | None:
        """The period that was given or found, or None."""
        return self._given or self._found

    def observe(self, at_seconds: float, rate: float, step_seconds: float) -> None:
        """Take in a sample; ``step_seconds`` is how far apart samples usually are, 0 if unknown."""
        if self._history is None:
            if step_seconds <= 0:
                return
            coarse = 0.0 if self._given is None else self._given / BUCKETS_PER_PERIOD / 2
            self._history = History(max(step_seconds, coarse))
        self._recent = [*self._recent[1 - RECENT :], (at_seconds, rate)]
        if self._history.add(at_seconds, rate, self._longest_bucket()):
            self._unlooked += 1
        if self._given is None and self._unlooked >= LOOK_EVERY:
            self._unlooked = 0
            found = find_period(self._history.filled())
            self._found = None if found is None else found * self._history.width_seconds

    def _longest_bucket(self) -> float | None:
        period = self.period_seconds
        if period is None:
            return None
        return max(period / BUCKETS_PER_PERIOD, PERIODS * period / MOST_BUCKETS)

    def follow(self) -> Callable[[float], float] | None:
        """Return the rate expected so many seconds on; None where no period before is known.

        It is the rate a whole number of periods before, and as much more as the last few rates were
        more than those a period before them, by the median.
        """
        period, history = self.period_seconds, self._history
        if period is None or history is None:
            return None
        newest = self._recent[-1][0]
        if history.rate_at(newest - period) is None:
            return None
        before = ((rate, history.rate_at(at - period)) for at, rate in self._recent)
        more = median(rate - past for rate, past in before if past is not None)
        last = self._recent[-1][1]

        def ahead(seconds: float) -> float:
            past = history.rate_at(newest + seconds - period * max(1, ceil(seconds / period)))
            return last if past is None else past + more

        return ahead

    def save(self) -> dict[str, Any]:
        """Return all that was learnt, in what JSON knows."""
        return {
            "history": None if self._history is None else self._history.save(),
            "found": self._found,
            "recent": [list(each) for each in self._recent],
            "unlooked": self._unlooked,
        }

    def load(self, state: dict[str, Any]) -> None:
        """Take up what ``save`` returned."""
        history, found = state["history"], state["found"]
        self._history = None if history is None else History.saved(history)
        self._found = None if found is None else float(found)
        self._recent = [(float(at), float(rate)) for at, rate in state["recent"]]
        self._unlooked = int(state["unlooked"])
