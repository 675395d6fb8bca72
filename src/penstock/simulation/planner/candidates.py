"""What a capacity planner tries: policies, their settings, their bounds and triggers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

from penstock.elasticity.autoscale_plus import AutoScalePlus
from penstock.elasticity.batch_time_ratio import BatchTimeRatio
from penstock.elasticity.decision import Policy
from penstock.elasticity.replica_pool import ReplicaPool
from penstock.elasticity.static import Static
from penstock.errors import ConfigurationError

FIXED = "static"
POLICIES = (FIXED, "batch-time-ratio", "replica-pool", "auto-scale-plus")
TRIGGER_SHARES = (0.25, 0.5)
"""Triggers to try, as shares of the target latency; besides them, batches end to end."""
UTILISATIONS = (0.65, 0.85)
UTILISATION_STEP = 0.1
LEAST_UTILISATION, MOST_UTILISATION = 0.2, 0.98
INTERVALS_SECONDS = (2.0, 5.0)
STATIC_SIZES = 8
"""Numbers of slots to try that stay, from what the mean load keeps busy to twice the peak's."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A policy with its settings, between ``least`` and ``most`` slots, at one trigger.

    ``trigger_seconds`` is None for batches end to end; settings that a policy does not have are
    None, too. What is left of ``utilisation`` is the margin of AutoScale+.

    >>> Candidate("replica-pool", 2, 16, 0.5, utilisation=0.9, interval_seconds=5.0).name
    'replica-pool:interval=5,utilisation=0.9, 2 to 16 slots, trigger 0.5 s'
    >>> Candidate("static", 4, 4, None).name
    'static:4, batches end to end'
    """

    policy: str
    least: int
    most: int
    trigger_seconds: float | None
    utilisation: float | None = None
    interval_seconds: float | None = None
    horizon_seconds: float | None = None

    @property
    def settings(self) -> dict[str, float]:
        """The settings of its policy, by the names that this has for them."""
        named = {"interval": self.interval_seconds, "horizon": self.horizon_seconds}
        if self.utilisation is not None and self.policy == "auto-scale-plus":
            named["margin"] = round(1 - self.utilisation, 4)
        else:
            named["utilisation"] = self.utilisation
        return {name: value for name, value in named.items() if value is not None}

    @property
    def policy_name(self) -> str:
        """The policy and its settings, as the command line takes them."""
        if self.policy == FIXED:
            return f"static:{self.most}"
        said = ",".join(f"{name}={value:g}" for name, value in self.settings.items())
        return f"{self.policy}:{said}" if said else self.policy

    @property
    def name(self) -> str:
        """All of it in a few words."""
        when = "batches end to end"
        if self.trigger_seconds is not None:
            when = f"trigger {self.trigger_seconds:g} s"
        if self.policy == FIXED:
            return f"{self.policy_name}, {when}"
        return f"{self.policy_name}, {self.least} to {self.most} slots, {when}"

    def build(self) -> Policy:
        """Return a new policy, which has learnt nothing."""
        if self.policy == FIXED:
            return Static(self.most)
        its = self.settings
        if self.policy == "replica-pool":
            return ReplicaPool(
                utilisation=its["utilisation"],
                interval=its["interval"],
                min_slots=self.least,
                max_slots=self.most,
            )
        if self.policy == "auto-scale-plus":
            return AutoScalePlus(
                margin=its["margin"],
                interval=its["interval"],
                horizon=its["horizon"],
                min_slots=self.least,
                max_slots=self.most,
            )
        return BatchTimeRatio(min_slots=self.least, max_slots=self.most)


@dataclass(frozen=True, slots=True)
class Room:
    """Between what candidates are looked for.

    ``mean_slots`` and ``peak_slots`` are what the rows keep busy on average and in the worst
    seconds, without any fixed cost; there can be ``least`` to ``most`` slots.
    """

    target_seconds: float
    mean_slots: float
    peak_slots: float
    least: int
    most: int
    executor_seconds: float

    def nearest(self, slots: float) -> int:
        """Return the nearest whole number of slots that there can be, rounded up."""
        return max(self.least, min(ceil(slots), self.most))


def first_candidates(room: Room, policies: Sequence[str] = POLICIES) -> list[Candidate]:
    """Return a coarse grid over all there is to choose, of these policies."""
    for name in policies:
        if name not in POLICIES:
            raise ConfigurationError(
                f"the planner has no policy '{name}'. Write some of: {', '.join(POLICIES)}."
            )
    triggers = (None, *(round(share * room.target_seconds, 3) for share in TRIGGER_SHARES))
    return [
        each
        for trigger in triggers
        for each in (*_static(room, trigger), *_adapting(room, trigger))
        if each.policy in policies
    ]


def near(candidate: Candidate, room: Room, closeness: int) -> list[Candidate]:
    """Return a candidate's neighbours; each step of ``closeness`` halves how far they are."""
    scale = 0.5**closeness
    found: list[Candidate] = []
    if candidate.policy == FIXED:
        by = max(1, round(0.1 * scale * candidate.most))
        sizes = (room.nearest(candidate.most + step * by) for step in (-3, -2, -1, 1))
        found += [replace(candidate, least=size, most=size) for size in sizes]
    else:
        half, mean = room.nearest(room.mean_slots / 2), room.nearest(room.mean_slots)
        found += [replace(candidate, least=least) for least in (room.least, half, mean)]
    if candidate.utilisation is not None:
        for step in (-UTILISATION_STEP * scale, UTILISATION_STEP * scale):
            used = min(MOST_UTILISATION, max(LEAST_UTILISATION, candidate.utilisation + step))
            found.append(replace(candidate, utilisation=round(used, 4)))
    if candidate.trigger_seconds is not None:
        for by_share in (1 - 0.25 * scale, 1 + 0.25 * scale):
            trigger = round(candidate.trigger_seconds * by_share, 4)
            found.append(replace(candidate, trigger_seconds=trigger))
    return [each for each in dict.fromkeys(found) if each != candidate]


def _static(room: Room, trigger: float | None) -> list[Candidate]:
    low, high = room.nearest(room.mean_slots), room.nearest(2 * room.peak_slots + 1)
    sizes = {room.nearest(low + (high - low) * n / STATIC_SIZES) for n in range(STATIC_SIZES + 1)}
    return [Candidate(FIXED, size, size, trigger) for size in sorted(sizes | {room.most})]


def _adapting(room: Room, trigger: float | None) -> list[Candidate]:
    # Slots must be asked for as long before they are needed as they take to come.
    horizon = max(10.0, 2 * room.executor_seconds)
    found: list[Candidate] = []
    # With few slots a burst makes one long batch, in which nothing can be changed.
    for least in sorted({room.least, room.nearest(room.mean_slots)}):
        bounds = (least, room.most, trigger)
        found.append(Candidate("batch-time-ratio", *bounds))
        for interval in INTERVALS_SECONDS:
            for used in UTILISATIONS:
                found.append(Candidate("replica-pool", *bounds, used, interval))
                found.append(Candidate("auto-scale-plus", *bounds, used, interval, horizon))
    return found
