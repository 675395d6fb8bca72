"""What a policy wishes for, before the guard rails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import ceil

from penstock.elasticity.observation import Observation

MOST = 1_000_000
"""More slots than anybody has: what a demand without bound is cut to."""
LONGEST_WAIT_SECONDS = 60.0
LONGEST_WAIT_INTERVALS = 6


@dataclass(frozen=True, slots=True)
class Moment:
    """When a policy is asked: after which batch, and with how many slots planned.

    ``now_seconds`` never goes back. ``interval_seconds`` is the time to the next decision,
    ``batch_seconds`` that in which a batch should be done. ``most`` slots are all there may be.
    ``short_seconds`` is for how long slots that are planned have not come.
    """

    seen: Observation
    now_seconds: float
    interval_seconds: float
    batch_seconds: float
    planned: int
    most: int
    short_seconds: float = 0.0

    @property
    def batch_share(self) -> float:
        """How much of what waits the next batch should do, for all to be done in the interval."""
        return min(1.0, self.batch_seconds / self.interval_seconds)

    @property
    def to_come(self) -> int:
        """How many of the planned slots do not exist yet."""
        return max(0, self.planned - max(1, self.seen.slots))

    @property
    def there(self) -> int:
        """How many of the planned slots exist."""
        return self.planned - self.to_come


@dataclass(frozen=True, slots=True)
class Wish:
    """How many slots a policy wants, and why, up to 'asking for'."""

    slots: int
    reason: str
    demand_slots: float | None = None
    horizon_seconds: float | None = None
    expected_rows: Mapping[str, float] = field(default_factory=dict)
    low_rows: Mapping[str, float] = field(default_factory=dict)
    high_rows: Mapping[str, float] = field(default_factory=dict)


def wait_for_slots(wish: Wish, moment: Moment) -> Wish:
    """Wish for nothing more while planned slots are still to come, for a time.

    For policies that go from how busy the slots are, and wish from those that are there: the others
    say nothing. Fewer can be wished for at any time. Slots that have not come after a minute, or 6
    control intervals where that is longer, may never do: the wish goes by those there are.
    """
    longest = max(LONGEST_WAIT_SECONDS, LONGEST_WAIT_INTERVALS * moment.interval_seconds)
    if not moment.to_come or wish.slots < moment.there or moment.short_seconds >= longest:
        return wish
    still = f"{wish.reason}; {moment.to_come} of {moment.planned} slots are still to come"
    return replace(wish, slots=moment.planned, reason=still)


def whole_slots(demand: float) -> int:
    """Round a demand up to slots, 1 or more.

    >>> whole_slots(5.2), whole_slots(0.0), whole_slots(7.0000000001)
    (6, 1, 7)
    """
    return max(1, ceil(min(demand, MOST) - 1e-9))


def figure(number: float) -> str:
    """Write a number of rows or slots in a few digits, with no exponent.

    >>> figure(5.2341), figure(999.96), figure(123_456.7), figure(0.0)
    ('5.23', '1000', '123457', '0')
    """
    return f"{number:.0f}" if number >= 99.95 else f"{number:.3g}"
