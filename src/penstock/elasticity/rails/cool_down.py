"""Let a change take effect before the next one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.elasticity.rails.rail import Held, Situation, Wait


@dataclass(slots=True)
class CoolDown:
    """Blocks changes for a time after one, fewer slots longer than more.

    A growing backlog ends the wait of a scale-out: rows that pile up can't wait for a timer.

    >>> cool_down = CoolDown(scale_out=Wait(0.5), scale_in=Wait(3.0))
    >>> cool_down.decided(6, Situation(0.0, 0.0, 10.0, planned=4, in_use=4))
    >>> cool_down.hold(3, Situation(12.0, 12.0, 10.0, planned=6, in_use=6))
    Held(slots=6, why='the last change was 12 s ago and fewer slots wait for 30 s')
    """

    scale_out: Wait
    scale_in: Wait
    changed_seconds: float | None = None

    name = "cool-down"

    def hold(self, slots: int, now: Situation) -> Held | None:
        """Return the plan as it is while the last change is young."""
        if self.changed_seconds is None or slots == now.planned:
            return None
        more = slots > now.planned
        wait = (self.scale_out if more else self.scale_in).seconds_at(now)
        passed = now.now_seconds - self.changed_seconds
        if passed >= wait or (more and now.growing):
            return None
        wanted = "more" if more else "fewer"
        why = f"the last change was {passed:.3g} s ago and {wanted} slots wait for {wait:g} s"
        return Held(now.planned, why)

    def decided(self, slots: int, now: Situation) -> None:
        """Remember when the plan last changed."""
        if slots != now.planned:
            self.changed_seconds = now.now_seconds

    def save(self) -> dict[str, Any]:
        """Return when the plan last changed."""
        return {"changed_seconds": self.changed_seconds}

    def load(self, state: dict[str, Any]) -> None:
        """Take up what ``save`` returned."""
        changed = state["changed_seconds"]
        self.changed_seconds = None if changed is None else float(changed)
