"""The policies that the elasticity benchmark compares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import penstock as ps


@dataclass(frozen=True)
class Setting:
    """What a way is told: the slots there are and those that the load needs on average.

    ``squeeze`` is how much shorter the load is than what it stands for. The times that policies
    have by default are made shorter by as much; those of their guard rails follow the interval.
    """

    slots: int
    mean_slots: int
    trigger_seconds: float
    squeeze: float

    @property
    def batch_seconds(self) -> float:
        """How long a batch may take, where a policy can be told: rows have 30 seconds."""
        return 2 * self.trigger_seconds

    def time(self, seconds: float) -> float:
        """Squeeze a length of time; none is shorter than a micro-batch."""
        return max(self.trigger_seconds, seconds * self.squeeze)


WAYS: dict[str, Callable[[Setting], ps.Policy]] = {
    "Static(max)": lambda its: ps.Static(its.slots),
    "Static(mean)": lambda its: ps.Static(its.mean_slots),
    "Incremental": lambda its: ps.Incremental(interval=its.time(10), max_slots=its.slots),
    "AutoScalePlus": lambda its: ps.AutoScalePlus(
        interval=its.time(10),
        horizon=its.time(30),
        window=its.time(60),
        batch_within=its.batch_seconds,
        max_slots=its.slots,
    ),
    "ReplicaPool": lambda its: ps.ReplicaPool(
        interval=its.time(5), batch_within=its.batch_seconds, max_slots=its.slots
    ),
    "BatchTimeRatio": lambda its: ps.BatchTimeRatio(max_slots=its.slots),
}
