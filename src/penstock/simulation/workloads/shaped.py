"""Streams whose rate follows a line that is drawn once and for all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.errors import ConfigurationError
from penstock.simulation.load import Load
from penstock.simulation.workloads.knots import Knot, mean_rates
from penstock.simulation.workloads.workload import check_positive, check_seed, drawn_rows, steps_of


@dataclass(frozen=True)
class Shaped:
    """A rate between ``low`` and ``high`` rows a second that follows ``SHAPE`` over the time."""

    low: float = 100.0
    high: float = 600.0
    seconds: float = 900.0
    seed: int = 0

    SHAPE: ClassVar[tuple[Knot, ...]]

    def __post_init__(self) -> None:
        name = type(self).__name__.lower()
        check_positive(name, low=self.low, high=self.high, seconds=self.seconds)
        check_seed(name, self.seed)
        if self.low > self.high:
            raise ConfigurationError(
                f"{name}: low {self.low} is above high {self.high}; write low <= high"
            )

    def load(self) -> Load:
        """Draw rows around the rate of every step, of about a second."""
        rates = mean_rates(self.SHAPE, self.low, self.high, steps_of(self.seconds, 1.0))
        return drawn_rows(rates, self.seconds, self.seed)
