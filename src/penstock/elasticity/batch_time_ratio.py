"""Slots in proportion to how much of its trigger a batch takes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any, ClassVar

from penstock.elasticity.adapting import Adapting
from penstock.elasticity.observation import Observation
from penstock.elasticity.settings import number
from penstock.elasticity.wish import MOST, Moment, Wish, wait_for_slots
from penstock.errors import ConfigurationError
from penstock.windows.durations import Duration, seconds

NOTHING_YET = -1.0


def slots_for_ratio(
    ratio: float,
    slots: int,
    *,
    low: float = 0.75,
    high: float = 1.0,
    least: int = 1,
    most: int = MOST,
) -> int:
    """Return the slots that bring the ratio of batch time to trigger back to 1.

    Within ``low`` and ``high`` the slots stay as they are, whatever the limits.

    >>> slots_for_ratio(1.2, 2), slots_for_ratio(0.6, 3), slots_for_ratio(0.8, 2)
    (3, 2, 2)
    """
    if low <= ratio <= high:
        return slots
    return max(least, min(most, ceil(min(slots * ratio, MOST) - 1e-9)))


@dataclass(frozen=True, kw_only=True)
class BatchTimeRatio(Adapting):
    """Goes by a moving mean of batch time over trigger, as Amadeus's Elastic-Scaling does.

    Outside ``low`` and ``high`` the slots are multiplied by the mean. Of the old mean ``decay``
    counts. It knows no backlog, no forecast and no operators, and needs a trigger: without one it
    never changes anything. A baseline to compare with, and what to use for a query of which only
    batch times are known.

    >>> policy = BatchTimeRatio(max_slots=8)
    >>> for number, took in ((0, 1.5), (1, 1.5)):
    ...     seen = Observation(number, 10.0 * number, took, 1.0, slots=4, most_slots=8)
    ...     decision = policy.decide(seen)
    >>> decision.reason
    'batches take 1.5 of their trigger, outside 0.75 to 1; asking for 6'
    """

    interval: Duration = 1
    low: float = 0.75
    high: float = 1.0
    decay: float = 0.6
    _mean: list[float] = field(init=False, repr=False, compare=False)

    kind: ClassVar[str] = "BatchTimeRatio"

    def __post_init__(self) -> None:
        super().__post_init__()
        number(self.kind, "high", self.high, above=0)
        number(self.kind, "low", self.low, above=0)
        number(self.kind, "decay", self.decay, above=-1e-9, below=1)
        if self.low >= self.high:
            raise ConfigurationError(
                f"BatchTimeRatio(low={self.low}, high={self.high}) leaves nothing alone. "
                f"Write low below high, such as low=0.75, high=1.0."
            )
        self._set("_mean", [NOTHING_YET])

    def _allowing(self, seen: Observation) -> Observation:
        """Keep to the trigger, as the peer does, or to what the user allows."""
        if self.batch_within is None or seen.trigger_seconds is None:
            return seen
        within = max(seen.trigger_seconds, seconds(self.batch_within))
        return replace(seen, trigger_seconds=within)

    def _learn(self, seen: Observation, now_seconds: float) -> None:
        if seen.trigger_seconds is None or seen.trigger_seconds <= 0:
            return
        ratio, mean = seen.batch_seconds / seen.trigger_seconds, self._mean[0]
        first = mean == NOTHING_YET
        self._mean[0] = ratio if first else self.decay * mean + (1 - self.decay) * ratio

    def _wish(self, moment: Moment) -> Wish | None:
        if moment.seen.trigger_seconds is None:
            return Wish(
                moment.planned,
                "BatchTimeRatio compares batches with their trigger, and this query has none: "
                "give it one, or take another policy",
            )
        mean = self._mean[0]
        if mean == NOTHING_YET:
            return None
        wanted = slots_for_ratio(mean, moment.there, low=self.low, high=self.high)
        where = "within" if self.low <= mean <= self.high else "outside"
        reason = f"batches take {mean:.3g} of their trigger, {where} {self.low:g} to {self.high:g}"
        return wait_for_slots(Wish(wanted, reason, demand_slots=mean * moment.there), moment)

    def _save_own(self) -> dict[str, Any]:
        return {"mean": self._mean[0]}

    def _load_own(self, state: dict[str, Any]) -> None:
        self._mean[0] = float(state["mean"])
