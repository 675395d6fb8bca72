"""Times in which the plan is left alone, such as those of a nightly job beside the query."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from penstock.elasticity.rails.rail import Held, Situation
from penstock.errors import ConfigurationError

_FARTHEST_SECONDS = 1e12

DAY_SECONDS = 86_400
Written = str | tuple[float, float]

_DAILY = re.compile(r"\s*(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})\s*")


@dataclass(frozen=True, slots=True)
class Period:
    """A time from ``begin_seconds`` up to ``end_seconds``: of every day, or since the epoch."""

    begin_seconds: float
    end_seconds: float
    daily: bool
    written: str

    def contains(self, at_seconds: float) -> bool:
        """Say whether a time, in seconds since the epoch, lies in it.

        >>> night = period("23:00-01:30")
        >>> [night.contains(hour * 3_600.0) for hour in (0, 1, 2, 22, 23)]
        [True, True, False, False, True]
        """
        time = at_seconds % DAY_SECONDS if self.daily else at_seconds
        if self.begin_seconds <= self.end_seconds:
            return self.begin_seconds <= time < self.end_seconds
        return time >= self.begin_seconds or time < self.end_seconds


def period(written: Written) -> Period:
    """Read a period: ``"02:00-03:30"`` of every day in UTC, or two times since the epoch.

    >>> period("25:00-26:00")
    Traceback (most recent call last):
        ...
    penstock.errors.ConfigurationError: the excluded period '25:00-26:00' can't be read. Write \
'02:00-03:30' for a time of every day in UTC, or (begin, end) in seconds since the epoch.
    """
    if isinstance(written, str):
        match = _DAILY.fullmatch(written)
        if match is not None:
            hours, minutes, to_hours, to_minutes = (int(part) for part in match.groups())
            begin, end = hours * 60 + minutes, to_hours * 60 + to_minutes
            if max(minutes, to_minutes) < 60 and max(begin, end) <= 24 * 60 and begin != end:
                return Period(begin * 60.0, end * 60.0, True, f"{written.strip()} UTC")
    elif isinstance(written, tuple | list) and len(written) == 2:
        numbers = all(
            isinstance(each, int | float) and abs(each) <= _FARTHEST_SECONDS for each in written
        )
        if numbers and written[0] < written[1]:
            since, until = float(written[0]), float(written[1])
            return Period(since, until, False, f"{since:.0f} to {until:.0f}")
    raise ConfigurationError(
        f"the excluded period {written!r} can't be read. Write '02:00-03:30' for a time of every "
        f"day in UTC, or (begin, end) in seconds since the epoch."
    )


@dataclass(frozen=True, slots=True)
class Excluded:
    """Leaves the plan alone within some periods.

    >>> backup = Excluded((period("02:00-03:30"),))
    >>> backup.hold(8, Situation(0.0, 2.5 * 3_600, 10.0, planned=4, in_use=4))
    Held(slots=4, why='nothing is changed from 02:00-03:30 UTC')
    """

    periods: tuple[Period, ...]

    name = "excluded period"

    def within(self, at_seconds: float) -> Period | None:
        """Return the period that a time lies in."""
        return next((each for each in self.periods if each.contains(at_seconds)), None)

    def hold(self, slots: int, now: Situation) -> Held | None:
        """Return the plan as it is in an excluded period."""
        inside = self.within(now.at_seconds)
        if inside is None or slots == now.planned:
            return None
        return Held(now.planned, f"nothing is changed from {inside.written}")

    def decided(self, slots: int, now: Situation) -> None:
        """Nothing to learn."""

    def save(self) -> dict[str, Any]:
        """Nothing to remember."""
        return {}

    def load(self, state: dict[str, Any]) -> None:
        """Nothing to take up."""
