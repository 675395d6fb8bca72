"""Rows that come one by one, without memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.simulation.load import Load
from penstock.simulation.workloads.workload import check_positive, check_seed, drawn_rows, steps_of


@dataclass(frozen=True, slots=True)
class Poisson:
    """A steady rate with no bursts but those of chance: its index of dispersion is 1.

    >>> 590_000 < Poisson(rate=1000, seconds=600).load().rows < 610_000
    True
    """

    rate: float = 1000.0
    seconds: float = 600.0
    step_seconds: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        check_positive("poisson", rate=self.rate, seconds=self.seconds, step=self.step_seconds)
        check_seed("poisson", self.seed)

    def load(self) -> Load:
        """Draw the rows of every step."""
        rates = np.full(steps_of(self.seconds, self.step_seconds), self.rate)
        return drawn_rows(rates, self.seconds, self.seed)
