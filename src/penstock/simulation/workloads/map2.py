"""Bursts of a Markovian arrival process with two states, as Elastic-PPQ uses them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.errors import ConfigurationError
from penstock.simulation.load import Load
from penstock.simulation.workloads.workload import (
    check_positive,
    check_seed,
    steps_of,
    trace_in,
)

_MOST_ROWS = 200_000_000  # every row's time is drawn, at 8 bytes and more
_MORE_RUNS = 1.2  # drawn at once, over what is needed on average


@dataclass(frozen=True, slots=True)
class Map2:
    """Rows come at ``fast`` times the mean rate or at 1 / ``fast`` of it, in runs of rows.

    ``dispersion`` is the index of dispersion of the whole process: the variance of the rows in a
    long time over their mean. 1 is a process without bursts, some thousands are severe. The fit is
    the one of Elastic-PPQ: after each row the state changes with a probability that depends on the
    dispersion and on ``fast`` alone, so the length of bursts is in rows, not in seconds.

    >>> bursty = Map2(rate=1000, dispersion=1000, seconds=60)
    >>> round(bursty.slows, 8), round(bursty.quickens, 8), round(bursty.lag_1_correlation, 4)
    (0.00090098, 0.00360428, 0.4073)
    """

    rate: float = 1000.0
    dispersion: float = 1000.0
    seconds: float = 600.0
    fast: float = 4.0004
    step_seconds: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        check_positive("map2", rate=self.rate, seconds=self.seconds, step_seconds=self.step_seconds)
        check_seed("map2", self.seed)
        if not self.fast > 1:
            raise ConfigurationError(f"map2: fast is {self.fast}; write a number above 1, as 4")
        if not (self.dispersion > 1 and self.quickens <= 1):
            # With F p_fs = 1 every slow row is followed by a fast one; less bursty it can't be.
            least = 1 + 2 * (self.fast - 1) ** 2 / (self.fast + 1)
            raise ConfigurationError(
                f"map2: dispersion is {self.dispersion}; with fast={self.fast:g} write one of "
                f"{least:.1f} or more, or take the workload poisson, whose dispersion is 1"
            )
        if self.rate * self.seconds > _MOST_ROWS:
            raise ConfigurationError(
                f"map2: {self.rate * self.seconds:,.0f} rows are too many; write a rate and "
                f"seconds for {_MOST_ROWS:,} or fewer, and scale=... for more rows at once"
            )

    @property
    def slows(self) -> float:
        """The probability of turning slow after a row in the fast state (p_fs)."""
        fast = self.fast
        return 2 * (fast - 1) ** 2 / ((self.dispersion - 1) * fast * (fast + 1))

    @property
    def quickens(self) -> float:
        """The probability of turning fast after a row in the slow state (p_sf)."""
        return self.fast * self.slows

    @property
    def lag_1_correlation(self) -> float:
        """The correlation of the time between two rows with the next such time."""
        between = (self.fast - 1) ** 2 / self.fast  # variance of the states' means, in 1 / rate^2
        return (1 - self.slows - self.quickens) * between / (2 * between + 1)

    def arrival_seconds(self) -> NDArray[np.float64]:
        """Return when each row arrives, from 0, in order."""
        rng = np.random.default_rng([self.seed, 2])
        # In equilibrium the row before the first was a fast one with probability F / (F + 1).
        fast = bool(rng.random() < self.fast / (self.fast + 1))
        pieces: list[NDArray[np.float64]] = []
        now = 0.0
        while now < self.seconds:
            gaps, fast = self._gaps(rng, fast, self.rate * (self.seconds - now))
            pieces.append(now + np.cumsum(gaps))
            now = float(pieces[-1][-1])
        arrivals = np.concatenate(pieces)
        return np.asarray(arrivals[arrivals < self.seconds])

    def load(self) -> Load:
        """Count the rows of every step."""
        steps = steps_of(self.seconds, self.step_seconds)
        which = (self.arrival_seconds() * (steps / self.seconds)).astype(np.int64)
        counts = np.bincount(np.minimum(which, steps - 1), minlength=steps)
        return Load(trace_in(self.seconds, counts), spacing="random")

    def _gaps(
        self, rng: np.random.Generator, fast: bool, rows: float
    ) -> tuple[NDArray[np.float64], bool]:
        """Draw the times between about so many rows; say in which state the next ones begin."""
        # A fast run and the slow one after it have 1 / p_fs + 1 / p_sf rows on average.
        pairs = int(rows * _MORE_RUNS / (1 / self.slows + 1 / self.quickens)) + 1
        in_fast = np.arange(2 * pairs) % 2 == (0 if fast else 1)
        lengths = rng.geometric(np.where(in_fast, self.slows, self.quickens))
        means = np.where(in_fast, 1 / self.fast, self.fast) / self.rate
        return rng.exponential(np.repeat(means, lengths)), fast
