"""Slots as a cluster gives them: not at once, and one after the other."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import ConfigurationError


@dataclass(slots=True)
class _Coming:
    at_seconds: float
    slots: int


class ReplayedSlots:
    """How many slots there are at each time, when asking for one takes a while.

    Slots asked for come ``executor_seconds`` later; those not wanted any more go at once. Times
    must not go back.

    >>> pool = ReplayedSlots(2, at_seconds=0.0, most=8, executor_seconds=15.0)
    >>> pool.ask(5, at_seconds=10.0)
    >>> pool.ready(24.0), pool.ready(25.0), pool.slot_seconds
    (2, 5, 50.0)
    """

    def __init__(
        self,
        slots: int,
        *,
        at_seconds: float,
        least: int = 1,
        most: int,
        executor_seconds: float,
    ) -> None:
        if not 1 <= least <= most:
            raise ConfigurationError(
                f"a replay with {least} to {most} slots can't be. Write --min 1 --max 8, for "
                "example: at least 1, and no more at least than at most."
            )
        self.least, self.most = least, most
        self._executor_seconds = executor_seconds
        self._ready = self.bounded(slots)
        self._coming: list[_Coming] = []
        self._at_seconds = at_seconds
        self.slot_seconds = 0.0
        self.changes = 0
        self.timeline: list[tuple[float, int]] = [(at_seconds, self._ready)]

    def bounded(self, slots: int) -> int:
        """Return the number nearest to ``slots`` that there may be."""
        return max(self.least, min(slots, self.most))

    def ready(self, at_seconds: float) -> int:
        """Return how many slots can be used at this time."""
        while self._coming and self._coming[0].at_seconds <= at_seconds:
            come = self._coming.pop(0)
            self._advance(come.at_seconds)
            self._become(self._ready + come.slots)
        self._advance(at_seconds)
        return self._ready

    def ask(self, slots: int, at_seconds: float) -> None:
        """Have this many slots from now on, as soon as they come."""
        self.ready(at_seconds)
        wanted = self.bounded(slots)
        planned = self._ready + sum(each.slots for each in self._coming)
        if wanted == planned:
            return
        self.changes += 1
        if wanted > planned:
            self._coming.append(_Coming(at_seconds + self._executor_seconds, wanted - planned))
            self.ready(at_seconds)
        else:
            self._call_off(planned - max(wanted, self._ready))
            self._become(min(self._ready, wanted))

    def _call_off(self, slots: int) -> None:
        """Let slots not come: of those that have not come yet, the last."""
        while slots:
            last = self._coming[-1]
            if last.slots > slots:
                last.slots -= slots
                return
            slots -= self._coming.pop().slots

    def _advance(self, at_seconds: float) -> None:
        self.slot_seconds += self._ready * max(0.0, at_seconds - self._at_seconds)
        self._at_seconds = max(self._at_seconds, at_seconds)

    def _become(self, slots: int) -> None:
        if slots != self._ready:
            self._ready = slots
            self.timeline.append((self._at_seconds, slots))
