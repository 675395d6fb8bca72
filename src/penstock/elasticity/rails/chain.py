"""All guard rails of a policy, one after the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from penstock.elasticity.rails.bounds import Bounds
from penstock.elasticity.rails.cool_down import CoolDown
from penstock.elasticity.rails.cost_ceiling import CostCeiling
from penstock.elasticity.rails.excluded import Excluded
from penstock.elasticity.rails.guard_rails import GuardRails
from penstock.elasticity.rails.oscillation import Oscillation
from penstock.elasticity.rails.rail import Rail, Situation
from penstock.elasticity.rails.scale_in import NotWhileBehind, Patience
from penstock.elasticity.rails.useless import UselessScaleOut


@dataclass(frozen=True, slots=True)
class Passed:
    """What is left of a wish: slots, the rails that acted, and what they said."""

    slots: int
    held_by: tuple[str, ...] = ()
    why: tuple[str, ...] = ()


class RailChain:
    """Passes a wish through every rail; limits come last, so nothing gets around them.

    >>> chain = RailChain(GuardRails())
    >>> now = Situation(0.0, 0.0, 10.0, planned=4, in_use=4)
    >>> chain.passes(9, now, Bounds(1, 6))
    Passed(slots=6, held_by=('bounds',), why=('6 slots are the most there may be',))
    """

    def __init__(self, settings: GuardRails) -> None:
        self._useless = UselessScaleOut(settings.wait("useless_hold"))
        self._excluded = Excluded(settings.periods)
        rails: list[Rail] = [self._excluded, self._useless]
        if not settings.scale_in_while_behind:
            rails.append(NotWhileBehind())
        rails.append(Patience(settings.scale_in_after))
        self._oscillation: Oscillation | None = None
        if settings.turns is not None:
            within, hold = settings.wait("turns_within"), settings.wait("turns_hold")
            self._oscillation = Oscillation(settings.turns, within, hold)
            rails.append(self._oscillation)
        rails.append(
            CoolDown(settings.wait("scale_out_cool_down"), settings.wait("scale_in_cool_down"))
        )
        self._ceiling: CostCeiling | None = None
        if settings.slot_seconds_per_hour is not None:
            self._ceiling = CostCeiling(settings.slot_seconds_per_hour, settings.min_slots)
            rails.append(self._ceiling)
        self._rails = tuple(rails)

    def excludes(self, at_seconds: float) -> bool:
        """Say whether a time lies in an excluded period."""
        return self._excluded.within(at_seconds) is not None

    def watch(self, now: Situation) -> None:
        """Let the rails see a micro-batch."""
        self._useless.watch(now)
        if self._oscillation is not None:
            self._oscillation.watch(now)
        if self._ceiling is not None:
            self._ceiling.watch(now)

    def starts(self, now: Situation) -> None:
        """Let the rails know that the query starts, maybe long after it stopped."""
        if self._ceiling is not None:
            self._ceiling.starts(now)

    def keeps(self, slots: int, now: Situation, limits: Bounds) -> Passed:
        """Return what is left of a plan that nobody wishes to change: limits hold at any time."""
        rails = () if self._ceiling is None else (self._ceiling,)
        return _through(rails, slots, now, limits)

    def passes(self, slots: int, now: Situation, limits: Bounds) -> Passed:
        """Return what the rails make of a wish."""
        return _through(self._rails, slots, now, limits)

    def decided(self, slots: int, now: Situation) -> None:
        """Tell every rail what was decided in the end."""
        for rail in self._rails:
            rail.decided(slots, now)

    def save(self) -> dict[str, Any]:
        """Return what the rails remember, by their names."""
        return {rail.name: rail.save() for rail in self._rails}

    def load(self, state: dict[str, Any]) -> None:
        """Take up what ``save`` returned; a rail that was not there then starts anew."""
        for rail in self._rails:
            if rail.name in state:
                rail.load(state[rail.name])


def _through(rails: Iterable[Rail], slots: int, now: Situation, limits: Bounds) -> Passed:
    held_by: list[str] = []
    why: list[str] = []
    for rail in rails:
        held = rail.hold(slots, now)
        if held is not None:
            slots = held.slots
            held_by.append(rail.name)
            why.append(held.why)
    held = limits.within(slots)
    if held is not None:
        slots = held.slots
        held_by.append("bounds")
        why.append(held.why)
    return Passed(slots, tuple(held_by), tuple(why))
