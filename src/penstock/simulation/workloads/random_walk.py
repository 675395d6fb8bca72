"""A rate that wanders, as Elastic-PPQ's stream with trends does."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from penstock.simulation.load import Load
from penstock.simulation.workloads.workload import check_positive, check_seed, drawn_rows, steps_of

# A change more for what rounding adds to a whole number would be wrong.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class RandomWalk:
    """A rate that is multiplied by a lognormal factor every ``every_seconds``.

    ``volatility`` is the standard deviation of the factor's logarithm. ``rate`` is the mean of the
    whole stream: a walk that went far is brought back to it as a whole.

    >>> load = RandomWalk(rate=1000, seconds=300).load()
    >>> load.duration_seconds, 290_000 < load.rows < 310_000
    (300.0, True)
    """

    rate: float = 1000.0
    volatility: float = 0.4
    every_seconds: float = 5.0
    seconds: float = 600.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_positive(
            "random-walk",
            rate=self.rate,
            volatility=self.volatility,
            every_seconds=self.every_seconds,
            seconds=self.seconds,
        )
        check_seed("random-walk", self.seed)

    def rates(self) -> NDArray[np.float64]:
        """Return the rate between one change and the next, in rows per second."""
        lengths = np.diff(self._changes())
        rng = np.random.default_rng([self.seed, 4])
        walk = np.cumsum(self.volatility * rng.standard_normal(len(lengths)))
        relative = np.exp(walk - walk.max())
        return np.asarray(self.rate * relative / np.average(relative, weights=lengths))

    def load(self) -> Load:
        """Draw rows around the rate of every step: a second, or less where changes are close."""
        step_seconds = self.every_seconds / ceil(self.every_seconds)
        changes = self._changes()
        rows = np.concatenate(([0.0], np.cumsum(self.rates() * np.diff(changes))))
        steps = steps_of(self.seconds, step_seconds)
        edges = np.linspace(0.0, self.seconds, steps + 1)
        rates = np.diff(np.interp(edges, changes, rows)) / np.diff(edges)
        return drawn_rows(rates, self.seconds, self.seed)

    def _changes(self) -> NDArray[np.float64]:
        """Return when the rate changes, from the start to the end; the last time may be short."""
        whole = max(1, ceil(self.seconds / self.every_seconds - _ROUNDING))
        steps_of(self.seconds, self.every_seconds)  # too many are refused
        return np.append(np.arange(whole) * self.every_seconds, self.seconds)
