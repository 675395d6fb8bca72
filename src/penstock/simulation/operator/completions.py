"""What comes of a simulated operator: when every tuple is done, and what was said meanwhile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class ControlMessages:
    """What POSG's scheduler and instances told each other.

    Requests travel with tuples and cost no message of their own. ``matrices_at`` are the tuples
    before which matrices reached the scheduler, ``run_from`` those from which on it ran, corrected
    by the replies of all instances.
    """

    matrices: int
    requests: int
    replies: int
    matrices_at: tuple[int, ...]
    run_from: tuple[int, ...]

    @property
    def extra(self) -> int:
        """The messages that there would not be without POSG: matrices and replies."""
        return self.matrices + self.replies


@dataclass(frozen=True, slots=True)
class Completions:
    """The time from each tuple's submission to its completion, and the instance that worked on it.

    ``control`` is None for groupings that exchange no messages.
    """

    seconds: NDArray[np.float64]
    instances: NDArray[np.int32]
    control: ControlMessages | None = None

    @property
    def mean_seconds(self) -> float:
        """The average completion time."""
        return float(self.seconds.mean()) if len(self.seconds) else 0.0

    @property
    def run_from(self) -> int | None:
        """The first tuple that was placed in POSG's RUN state; None if it never came to that."""
        if self.control is None or not self.control.run_from:
            return None
        return self.control.run_from[0]
