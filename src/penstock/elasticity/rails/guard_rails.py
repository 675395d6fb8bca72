"""The guard rails of a policy: all settings in one place."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.arguments import shown
from penstock.elasticity.rails.excluded import Period, Written, period
from penstock.elasticity.rails.rail import Wait
from penstock.elasticity.settings import length, number, one_of, whole
from penstock.errors import ConfigurationError
from penstock.windows.durations import Duration, seconds

WAITS = {
    "scale_out_cool_down": 0.5,
    "scale_in_cool_down": 3.0,
    "turns_within": 30.0,
    "turns_hold": 12.0,
    "useless_hold": 30.0,
}
"""How long the rails wait unless said, in control intervals: who looks twice as often learns in
half the time whether a change was right."""


@dataclass(frozen=True, slots=True)
class GuardRails:
    """What no decision may do, whatever the policy wishes. Every rail is on unless said otherwise.

    Parameters
    ----------
    min_slots, max_slots
        The fewest and the most slots. Without ``max_slots`` it is as many as the slots say there
        can be, or as there are.
    slot_seconds_per_hour
        The most slot-seconds within any hour, looked at in every control interval. None: what
        ``max_slots`` costs all the time, so that it never holds.
    scale_out_cool_down, scale_in_cool_down
        How long after a change slots may not be added (half a control interval unless said), or
        given back (3 of them). A growing backlog ends the first.
    scale_in_after
        How many times in a row fewer slots must be wanted.
    scale_in_while_behind
        Give slots back even while rows wait or batches take longer than the trigger.
    turns, turns_within, turns_hold
        This many turns of the plan (up then down, down then up, while the input stays the same)
        within this time (30 control intervals unless said) are an oscillation, and no slot is
        given back for so long (12); longer each time. ``turns=None``: any number.
    useless_hold
        How long no slot is added after adding some did not help; 30 control intervals unless
        said, 0: never mind.
    excluded
        Periods in which nothing is changed and nothing learnt: ``"02:00-03:30"`` of every day in
        UTC, or ``(begin, end)`` in seconds since the epoch.
    max_latency
        How long after its arrival a row must be done. Raises the demand where rows that wait would
        miss it, and never lowers it. None: no deadline.

    >>> GuardRails(min_slots=4, max_slots=2)
    Traceback (most recent call last):
        ...
    penstock.errors.ConfigurationError: GuardRails(min_slots=4, max_slots=2) leaves no number of \
slots. Write max_slots of 4 or more.

    """

    min_slots: int = 1
    max_slots: int | None = None
    slot_seconds_per_hour: float | None = None
    scale_out_cool_down: Duration | None = None
    scale_in_cool_down: Duration | None = None
    scale_in_after: int = 3
    scale_in_while_behind: bool = False
    turns: int | None = 3
    turns_within: Duration | None = None
    turns_hold: Duration | None = None
    useless_hold: Duration | None = None
    excluded: tuple[Written, ...] = ()
    max_latency: Duration | None = None
    periods: tuple[Period, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        owner = "GuardRails"
        whole(owner, "min_slots", self.min_slots)
        if self.max_slots is not None:
            whole(owner, "max_slots", self.max_slots)
            if self.max_slots < self.min_slots:
                raise ConfigurationError(
                    f"GuardRails(min_slots={self.min_slots}, max_slots={self.max_slots}) leaves no "
                    f"number of slots. Write max_slots of {self.min_slots} or more."
                )
        if self.slot_seconds_per_hour is not None:
            number(owner, "slot_seconds_per_hour", self.slot_seconds_per_hour, above=0)
        for name in WAITS:
            if getattr(self, name) is not None:
                length(owner, name, getattr(self, name))
        whole(owner, "scale_in_after", self.scale_in_after)
        if self.turns is not None:
            whole(owner, "turns", self.turns)
        if self.max_latency is not None:
            length(owner, "max_latency", self.max_latency, positive=True)
        if not isinstance(self.excluded, str | tuple | list):
            raise ConfigurationError(
                f"GuardRails(excluded={shown(self.excluded)}) can't work. Write a list of periods, "
                "such as ['02:00-03:30']."
            )
        written = (self.excluded,) if isinstance(self.excluded, str) else tuple(self.excluded)
        object.__setattr__(self, "excluded", written)
        object.__setattr__(self, "periods", tuple(period(each) for each in written))

    def wait(self, name: str) -> Wait:
        """Return one of the times that are in control intervals unless said.

        >>> GuardRails(turns_hold="1 minute").wait("turns_hold")
        Wait(intervals=12.0, seconds=60.0)
        """
        one_of("GuardRails.wait", "name", name, tuple(WAITS))
        written = getattr(self, name)
        return Wait(WAITS[name], None if written is None else seconds(written))
