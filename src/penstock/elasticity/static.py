"""The policy that never changes its mind."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.elasticity.decision import Decision
from penstock.elasticity.observation import Observation
from penstock.elasticity.rails.rail import in_slots
from penstock.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Static:
    """Uses the same number of slots in every micro-batch: all there are, unless told otherwise.

    >>> Static(3).decide(Observation(0, 0.0, 0.1, None, slots=8)).slots
    3
    """

    slots: int | None = None

    def __post_init__(self) -> None:
        if self.slots is None:
            return
        if not isinstance(self.slots, int) or isinstance(self.slots, bool) or self.slots < 1:
            raise ConfigurationError(
                f"Static({self.slots!r}) is no number of slots. Write Static(1) or more."
            )

    def decide(self, observation: Observation) -> Decision:
        """Return the same number of slots whatever was seen."""
        if self.slots is None:
            every = max(1, observation.slots)  # all may be lost, and a plan needs one
            return Decision(every, f"all there are: {in_slots(every)}")
        return Decision(self.slots, f"{in_slots(self.slots)}, always")
