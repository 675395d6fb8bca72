"""The progressive stream of DABS-Storm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.errors import ConfigurationError
from penstock.simulation.load import Load
from penstock.simulation.workloads.knots import Knot, mean_rates
from penstock.simulation.workloads.workload import check_positive, check_seed, drawn_rows, steps_of


@dataclass(frozen=True, slots=True)
class Progressive:
    """One large increase, a plateau and a decrease (DABS-Storm, Fig. 11a).

    The paper draws the stream without numbers. Here the rate is ``low`` for the first and last
    15 % of the time, goes straight up and down during 25 % each, and is ``high`` for 20 %.

    >>> load = Progressive(low=100, high=600, seconds=200).load()
    >>> load.duration_seconds, 64_000 < load.rows < 66_000
    (200.0, True)
    """

    low: float = 100.0
    high: float = 600.0
    seconds: float = 900.0
    seed: int = 0

    SHAPE: ClassVar[tuple[Knot, ...]] = (
        Knot(0.0, 0.0),
        Knot(0.15, 0.0),
        Knot(0.4, 1.0),
        Knot(0.6, 1.0),
        Knot(0.85, 0.0),
        Knot(1.0, 0.0),
    )

    def __post_init__(self) -> None:
        check_positive("progressive", low=self.low, high=self.high, seconds=self.seconds)
        check_seed("progressive", self.seed)
        if self.low > self.high:
            raise ConfigurationError(
                f"progressive: low {self.low} is above high {self.high}; write low <= high"
            )

    def load(self) -> Load:
        """Draw rows around the rate of every step, of about a second."""
        rates = mean_rates(self.SHAPE, self.low, self.high, steps_of(self.seconds, 1.0))
        return drawn_rows(rates, self.seconds, self.seed)
