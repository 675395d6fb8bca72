"""Never fewer slots than the least, never more than the most."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.elasticity.observation import Observation
from penstock.elasticity.rails.rail import Held, in_slots


@dataclass(frozen=True, slots=True)
class Bounds:
    """The fewest and the most slots that a decision may ask for.

    >>> Bounds(2, 8).within(11)
    Held(slots=8, why='8 slots are the most there may be')
    >>> Bounds(2, 8).within(5)
    """

    least: int
    most: int

    def within(self, slots: int) -> Held | None:
        """Return the nearest number of slots that is allowed, or None where ``slots`` is."""
        if slots > self.most:
            verb = "is" if self.most == 1 else "are"
            return Held(self.most, f"{in_slots(self.most)} {verb} the most there may be")
        if slots < self.least:
            verb = "is" if self.least == 1 else "are"
            return Held(self.least, f"{in_slots(self.least)} {verb} the least there should be")
        return None


def bounds(min_slots: int, max_slots: int | None, seen: Observation) -> Bounds:
    """Put together what the user allows and what there can be.

    Where neither says how many there may be, it is as many as there are. The user's ``min_slots``
    gives way where there can't be that many.

    >>> seen = Observation(0, 0.0, 1.0, None, slots=4, most_slots=6)
    >>> bounds(1, 20, seen), bounds(1, 5, seen), bounds(8, None, seen)
    (Bounds(least=1, most=6), Bounds(least=1, most=5), Bounds(least=6, most=6))
    """
    limits = [each for each in (max_slots, seen.most_slots) if each is not None]
    most = max(1, min(limits, default=seen.slots))
    return Bounds(min(min_slots, most), most)
