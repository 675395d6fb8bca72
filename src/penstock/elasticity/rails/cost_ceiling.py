"""No more slot-seconds in any hour than the user wants to pay."""

from __future__ import annotations

from itertools import pairwise
from math import floor, inf
from typing import Any

from penstock.elasticity.rails.rail import Held, Situation, in_slots

HOUR_SECONDS = 3_600.0


LONGER = 1.2
"""How much longer than expected a batch may be without the hour costing more."""


class CostCeiling:
    """Keeps the slot-seconds of the sliding hour below a ceiling.

    What may be spent until the next decision, or the end of the next batch where that is later, is
    what the ceiling leaves and what falls out of the hour meanwhile, so that every hour up
    to then and every one after it with the ``least`` slots stays below. So a burst is paid for from
    what quiet times saved. While the query is stopped nothing is paid.

    >>> ceiling = CostCeiling(7_200.0)  # two slots all the time, or more for a while
    >>> ceiling.decided(2, Situation(0.0, 0.0, 10.0, planned=2, in_use=2))
    >>> ceiling.hold(8, Situation(3_000.0, 3_000.0, 600.0, planned=2, in_use=2))
    Held(slots=2, why='7200 slot-seconds an hour leave 2 slots')
    """

    name = "cost ceiling"

    def __init__(self, slot_seconds_per_hour: float, least: int = 1) -> None:
        self._ceiling = slot_seconds_per_hour
        self._least = least
        self._spans: list[tuple[float, int]] = []  # from when on, and how many slots
        self._seen: float | None = None

    def watch(self, now: Situation) -> None:
        """Notice that time went on."""
        self._seen = now.now_seconds

    def starts(self, now: Situation) -> None:
        """Notice that the query starts: what went by while it was stopped cost nothing."""
        if self._seen is not None and self._spans:
            stopped = self._seen + now.interval_seconds
            if now.now_seconds > stopped:
                self._spans += [(stopped, 0), (now.now_seconds, self._spans[-1][1])]
        self._seen = now.now_seconds

    def hold(self, slots: int, now: Situation) -> Held | None:
        """Return the most slots that the hour leaves, where that is less."""
        self.watch(now)
        allowed, before = slots, slots + 1
        while self._least < allowed < before:  # with fewer slots the next batch takes longer
            before = allowed
            batch = LONGER * (now.fixed_seconds + now.coming_seconds / allowed)
            left = self._affordable(now.now_seconds, max(now.interval_seconds, batch))
            allowed = max(self._least, floor(min(left, allowed) + 1e-9))
        if allowed >= slots:
            return None
        verb = "leaves" if self._ceiling == 1 else "leave"
        why = f"{self._ceiling:g} slot-seconds an hour {verb} {in_slots(allowed)}"
        return Held(allowed, why)

    def decided(self, slots: int, now: Situation) -> None:
        """Write down what is paid from now on."""
        self.watch(now)
        if not self._spans or self._spans[-1][1] != slots:
            self._spans.append((now.now_seconds, slots))
        begin = now.now_seconds - HOUR_SECONDS
        while len(self._spans) > 1 and self._spans[1][0] <= begin:
            self._spans.pop(0)

    def _affordable(self, now: float, ahead: float) -> float:
        """Return the slots for the time ``ahead`` with which no hour, even later, is overspent.

        Between the times at which the slots of the past hour changed, what an hour costs moves in
        a straight line: only these, an hour later, and the end of ``ahead`` need a look.
        """
        begin = now - HOUR_SECONDS
        spans = [
            (max(since, begin), until, slots)
            for (since, slots), (until, _) in pairwise([*self._spans, (now, 0)])
            if until > begin
        ]
        past = sum(slots * (until - since) for since, until, slots in spans)
        edges = {edge - begin for since, until, _ in spans for edge in (since, until)}
        most, gone, number = inf, 0.0, 0
        for passed in sorted({*edges, min(ahead, HOUR_SECONDS), HOUR_SECONDS}):
            while number < len(spans) and spans[number][1] - begin <= passed:
                since, until, slots = spans[number]
                gone, number = gone + slots * (until - since), number + 1
            partly = 0.0
            if number < len(spans):
                since, _, slots = spans[number]
                partly = slots * max(0.0, begin + passed - since)
            later = self._least * max(0.0, passed - ahead)
            if passed > 0:
                left = self._ceiling - (past - gone - partly) - later
                most = min(most, left / min(passed, ahead))
        return most

    def save(self) -> dict[str, Any]:
        """Return what the last hour cost."""
        return {"spans": [list(span) for span in self._spans], "seen": self._seen}

    def load(self, state: dict[str, Any]) -> None:
        """Take up what ``save`` returned."""
        self._spans = [(float(since), int(slots)) for since, slots in state["spans"]]
        self._seen = state["seen"]
