"""What a query is run with, apart from its topology and its checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.elasticity.decision import Policy
from penstock.elasticity.intake import Intake
from penstock.engine.slots import Slots
from penstock.engine.steps import OnStep
from penstock.placement.placement import Placement
from penstock.topology.optimiser import Optimiser


@dataclass(frozen=True, slots=True)
class Setting:
    """How rows are placed, how many slots are used of how many there are, and when."""

    policy: Policy
    placement: Placement
    slots: Slots
    trigger_seconds: float | None
    clock: Callable[[], float]
    on_step: OnStep | None = None
    intake: Intake = field(default_factory=Intake)
    optimiser: Optimiser = field(default_factory=Optimiser)
