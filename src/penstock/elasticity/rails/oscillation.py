"""Plans that go up and down and up again without cause are noticed and damped."""

from __future__ import annotations

from typing import Any

from penstock.elasticity.rails.rail import Held, Situation, Wait

LONGEST_FACTOR = 16
SAME_LOAD = 0.3


class Oscillation:
    """Holds the higher number of slots when the plan turned too often.

    A turn is a change up after one down, or down after one up, while as much comes as at any time
    since the turn before, within 30 %: a plan that follows a load which swings does not oscillate,
    nor one that follows a burst which is over. A scale-in that would make ``turns`` of them within
    a time is refused, and so is every other for ``hold``, or until the load has moved. If the plan
    swings again soon after, the time doubles, up to 16 times. More slots are never refused.

    >>> rail = Oscillation(turns=2, within=Wait(30, seconds=60.0), hold=Wait(12))
    >>> for second, planned, slots in [(0, 4, 6), (10, 6, 4), (20, 4, 6)]:
    ...     rail.decided(slots, Situation(second, second, 10.0, planned=planned, in_use=planned))
    >>> rail.hold(4, Situation(30.0, 30.0, 10.0, planned=6, in_use=6)).why
    'the plan turned 3 times within 60 s, so no slot is given back for 120 s'
    """

    name = "oscillation"

    def __init__(self, turns: int, within: Wait, hold: Wait) -> None:
        self._turns = turns
        self._within = within
        self._hold = hold
        self._way = 0
        self._least = self._most = 0.0  # what came since the last turn
        self._turned: list[float] = []
        self._until: float | None = None
        self._factor = 1

    def watch(self, now: Situation) -> None:
        """Look at what came with a micro-batch."""
        self._least = min(self._least, now.arriving_per_second)
        self._most = max(self._most, now.arriving_per_second)

    def hold(self, slots: int, now: Situation) -> Held | None:
        """Return the plan as it is where fewer slots would be one swing too many."""
        if slots >= now.planned:
            return None
        if not self._as_before(now):
            self._until, self._factor = None, 1
        if self._until is not None and now.now_seconds < self._until:
            left = self._until - now.now_seconds
            return Held(now.planned, f"the plan swung, so no slot is given back for {left:.3g} s")
        recent, within = self._recent(now), self._within.seconds_at(now)
        turns = len(recent) + (self._way > 0 and self._as_before(now))
        if turns < self._turns:
            return None
        hold = self._again(now)
        why = f"the plan turned {turns} times within {within:g} s, so no slot is given back"
        return Held(now.planned, f"{why} for {hold:g} s")

    def _again(self, now: Situation) -> float:
        """Begin to hold, longer where the last time is not long ago; return for how long."""
        within = self._within.seconds_at(now)
        soon = self._until is not None and now.now_seconds - self._until < within
        self._factor = min(2 * self._factor, LONGEST_FACTOR) if soon else 1
        hold = self._hold.seconds_at(now) * self._factor
        self._until = now.now_seconds + hold
        return hold

    def _recent(self, now: Situation) -> list[float]:
        begin = now.now_seconds - self._within.seconds_at(now)
        return [turn for turn in self._turned if turn > begin]

    def _as_before(self, now: Situation) -> bool:
        least = min(self._least, now.arriving_per_second)
        most = max(self._most, now.arriving_per_second)
        down = most - now.arriving_per_second > SAME_LOAD * most
        up = now.arriving_per_second - least > SAME_LOAD * now.arriving_per_second
        return not (down or up)

    def decided(self, slots: int, now: Situation) -> None:
        """Remember when the plan turned, and how much came then."""
        if slots == now.planned:
            return
        way = 1 if slots > now.planned else -1
        if self._way == -way and self._as_before(now):
            self._turned = [*self._recent(now), now.now_seconds]
        if self._way != way:
            self._way = way
            self._least = self._most = now.arriving_per_second

    def save(self) -> dict[str, Any]:
        """Return the turns, and how long no slot is given back."""
        return {
            "way": self._way,
            "least": self._least,
            "most": self._most,
            "turned": list(self._turned),
            "until": self._until,
            "factor": self._factor,
        }

    def load(self, state: dict[str, Any]) -> None:
        """Take up what ``save`` returned."""
        self._way = int(state["way"])
        self._least, self._most = float(state["least"]), float(state["most"])
        self._turned = [float(turn) for turn in state["turned"]]
        self._until = None if state["until"] is None else float(state["until"])
        self._factor = int(state["factor"])
