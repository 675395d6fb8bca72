"""Fewer slots only when they are wanted several times in a row, and never while rows wait."""

from __future__ import annotations

from typing import Any

from penstock.elasticity.rails.rail import Held, Situation


class Patience:
    """Lets a scale-in pass when it was wanted ``times`` times in a row, to the most of these.

    >>> patience = Patience(times=2)
    >>> patience.hold(3, Situation(0.0, 0.0, 5.0, planned=6, in_use=6))
    Held(slots=6, why='fewer slots were wanted 1 time in a row and must be 2 times')
    >>> patience.hold(2, Situation(5.0, 5.0, 5.0, planned=6, in_use=6))
    Held(slots=3, why='3 slots were wanted within the last 2 times')
    """

    name = "scale-in patience"

    def __init__(self, times: int) -> None:
        self._times = times
        self._wanted: list[int] = []

    def hold(self, slots: int, now: Situation) -> Held | None:
        """Return the plan as it is until fewer slots were wanted often enough."""
        if slots >= now.planned:
            self._wanted.clear()
            return None
        self._wanted = [*self._wanted, slots][-self._times :]
        count = len(self._wanted)
        if count < self._times:
            times = "time" if count == 1 else "times"
            why = (
                f"fewer slots were wanted {count} {times} in a row and must be {self._times} times"
            )
            return Held(now.planned, why)
        most = max(self._wanted)
        if most == slots:
            return None
        return Held(most, f"{most} slots were wanted within the last {self._times} times")

    def decided(self, slots: int, now: Situation) -> None:
        """Count anew after a change; a scale-in that another rail held stays wanted."""
        if slots != now.planned:
            self._wanted.clear()

    def save(self) -> dict[str, Any]:
        """Return what was wanted in a row."""
        return {"wanted": list(self._wanted)}

    def load(self, state: dict[str, Any]) -> None:
        """Take up what ``save`` returned."""
        self._wanted = [int(slots) for slots in state["wanted"]][-self._times :]


class NotWhileBehind:
    """Lets no scale-in pass while rows wait, or a batch takes longer than its trigger.

    >>> late = Situation(0.0, 0.0, 5.0, planned=6, in_use=6, behind=True)
    >>> NotWhileBehind().hold(3, late)
    Held(slots=6, why='rows wait')
    """

    name = "rows wait"

    def hold(self, slots: int, now: Situation) -> Held | None:
        """Return the plan as it is while the query is behind."""
        if slots >= now.planned or not now.behind:
            return None
        why = "batches take longer than their trigger" if now.late else "rows wait"
        return Held(now.planned, why)

    def decided(self, slots: int, now: Situation) -> None:
        """Nothing to learn."""

    def save(self) -> dict[str, Any]:
        """Nothing to remember."""
        return {}

    def load(self, state: dict[str, Any]) -> None:
        """Nothing to take up."""
