"""What a policy answers, and what a policy is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from penstock.elasticity.observation import Observation


@dataclass(frozen=True, slots=True)
class Decision:
    """How many slots there should be, and how many tasks each component gets.

    A component that is not in ``tasks`` gets as many tasks as there are slots. ``reason`` is a
    sentence a person understands.
    """

    slots: int
    reason: str
    tasks: Mapping[str, int] = field(default_factory=dict)


@runtime_checkable
class Policy(Protocol):
    """Turns what was measured into a decision for the next micro-batch."""

    def decide(self, observation: Observation) -> Decision:
        """Say how the micro-batch after ``observation`` should run."""
        ...
