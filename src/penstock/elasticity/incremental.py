"""One slot more when slots are busy, one fewer when they are idle."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from penstock.elasticity.adapting import Adapting
from penstock.elasticity.mean_utilisation import MeanUtilisation
from penstock.elasticity.observation import Observation
from penstock.elasticity.settings import number, whole
from penstock.elasticity.wish import Moment, Wish, wait_for_slots
from penstock.errors import ConfigurationError


@dataclass(frozen=True, kw_only=True)
class Incremental(Adapting):
    """Adds ``step`` slots above the utilisation ``high``, gives them back below ``low``.

    The strategy that AutoScale+ is measured against in section 7 of its paper. Utilisation is the
    batch's share of its trigger, or without a trigger the busy time of the operators over that of
    the slots; its mean over the control interval counts. It sees a load when it is there, and
    walks after it.

    >>> policy = Incremental(interval=1, max_slots=8)
    >>> policy.decide(Observation(-1, 0.0, 0.0, 1.0, slots=2, most_slots=8)).slots
    2
    >>> for second in (1.0, 10.0):
    ...     seen = Observation(int(second), second, 0.95, 1.0, slots=2, most_slots=8)
    ...     decision = policy.decide(seen)
    >>> decision.reason
    'slots are needed 95 % of the time, more than 80 %; asking for 3'
    """

    low: float = 0.5
    high: float = 0.8
    step: int = 1
    _mean: MeanUtilisation = field(init=False, repr=False, compare=False)

    kind: ClassVar[str] = "Incremental"

    def __post_init__(self) -> None:
        super().__post_init__()
        number(self.kind, "high", self.high, above=0)
        number(self.kind, "low", self.low, above=0)
        if self.low >= self.high:
            raise ConfigurationError(
                f"Incremental(low={self.low}, high={self.high}) would add and give back at once. "
                f"Write low below high, such as low=0.5, high=0.8."
            )
        whole(self.kind, "step", self.step)
        self._set("_mean", MeanUtilisation())

    def _learn(self, seen: Observation, now_seconds: float) -> None:
        self._mean.add(self._workload.utilisation(seen))

    def _wish(self, moment: Moment) -> Wish | None:
        mean = self._mean.take()
        if mean is None:
            return None
        there = moment.there
        busy = f"slots are needed {mean:.0%} of the time".replace("%", " %")
        low, high = f"{self.low * 100:g} %", f"{self.high * 100:g} %"
        demand = mean * there
        if mean > self.high:
            wanted, why = there + self.step, f"{busy}, more than {high}"
        elif mean < self.low:
            wanted, why = max(1, there - self.step), f"{busy}, less than {low}"
        else:
            wanted, why = there, f"{busy}, between {low} and {high}"
        return wait_for_slots(Wish(wanted, why, demand_slots=demand), moment)

    def _save_own(self) -> dict[str, Any]:
        return self._mean.save()

    def _load_own(self, state: dict[str, Any]) -> None:
        self._mean.load(state)
