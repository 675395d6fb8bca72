"""What a capacity planner found, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.simulation.planner.candidates import Candidate


@dataclass(frozen=True, slots=True)
class Between:
    """A number, and the bounds between which nine of ten resampled days had it."""

    middle: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Tried:
    """A candidate that was looked at closely: on ``days`` days, of which it held on ``held``."""

    candidate: Candidate
    in_time: float
    slot_hours: float
    days: int
    held: int
    in_time_between: Between
    slot_hours_between: Between

    @property
    def confidence(self) -> float:
        """The share of days on which the target held."""
        return self.held / self.days if self.days else 0.0


@dataclass(frozen=True, slots=True)
class CapacityPlan:
    """The cheapest candidate that keeps the target, and those that it was chosen from.

    ``in_time`` and ``slot_hours`` of a candidate are those on the trace itself; the other days are
    drawn from it in stretches of ``block_seconds``. ``sure`` says whether it held on as many of
    them as was asked for.
    """

    best: Tried
    others: tuple[Tried, ...]
    target_seconds: float
    availability: float
    confidence_asked: float
    block_seconds: float
    candidates: int
    simulated_days: int

    @property
    def sure(self) -> bool:
        """Whether the target held on as many resampled days as was asked for."""
        return self.best.confidence >= self.confidence_asked

    @property
    def sentence(self) -> str:
        """What to tell whoever asked."""
        best, hours = self.best, self.best.slot_hours_between
        told = (
            f"{best.candidate.name}: in {best.held} of {best.days} resampled days "
            f"{self.availability:.4g} of the rows are done within {self.target_seconds:g} s; it "
            f"costs {hours.middle:.3g} slot-hours ({hours.low:.3g} to {hours.high:.3g})."
        )
        if self.sure:
            return told
        return (
            f"{told} That is less often than the {self.confidence_asked:.0%} asked for, and none "
            "that was tried does better: allow more slots, or a longer latency."
        )


def as_dict(plan: CapacityPlan) -> dict[str, Any]:
    """Return a plan in what JSON knows.

    ``best`` and each of ``others`` has the policy as the command line takes it.
    """
    return {
        "target_latency_seconds": plan.target_seconds,
        "availability": plan.availability,
        "confidence_asked": plan.confidence_asked,
        "sure": plan.sure,
        "sentence": plan.sentence,
        "block_seconds": plan.block_seconds,
        "candidates": plan.candidates,
        "simulated_days": plan.simulated_days,
        "best": _tried(plan.best),
        "others": [_tried(each) for each in plan.others],
    }


def _tried(tried: Tried) -> dict[str, Any]:
    candidate = tried.candidate
    return {
        "policy": candidate.policy_name,
        "min_slots": candidate.least,
        "max_slots": candidate.most,
        "trigger_seconds": candidate.trigger_seconds,
        "in_time": tried.in_time,
        "slot_hours": tried.slot_hours,
        "resampled_days": tried.days,
        "held_days": tried.held,
        "in_time_resampled": _between(tried.in_time_between),
        "slot_hours_resampled": _between(tried.slot_hours_between),
    }


def _between(between: Between) -> dict[str, float]:
    return {"median": between.middle, "p5": between.low, "p95": between.high}
