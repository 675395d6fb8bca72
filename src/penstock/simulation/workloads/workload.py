"""What a workload is: a stream that is made from a few numbers and a seed."""

from __future__ import annotations

from math import isfinite
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.errors import ConfigurationError
from penstock.simulation.load import Load
from penstock.sources.trace import MICROS, Trace

MOST_STEPS = 20_000_000
MOST = 1e12  # rows in a step, and micros of it, must be countable in 64 bits


class Workload(Protocol):
    """Makes a load; the same settings make the same load, row for row."""

    def load(self) -> Load:
        """Make it."""
        ...


def steps_of(seconds: float, step_seconds: float) -> int:
    """Return how many steps of about this length make up so many seconds, at least one."""
    steps = max(1, round(seconds / step_seconds))
    if steps > MOST_STEPS:
        raise ConfigurationError(
            f"{seconds:,g} seconds in steps of {step_seconds:g} are {steps:,} steps; write fewer "
            f"seconds, or longer steps, for {MOST_STEPS:,} at most"
        )
    return steps


def trace_in(seconds: float, counts: NDArray[np.int64]) -> Trace:
    """Make a trace of counts in even steps that last so long together.

    >>> trace_in(1.0, np.array([5, 6, 7])).step_micros
    (333333, 333334, 333333)
    """
    edges = np.round(np.arange(len(counts) + 1) * (seconds * MICROS / len(counts)))
    return Trace(tuple(np.diff(edges).astype(np.int64).tolist()), tuple(counts.tolist()))


def drawn_rows(rates: NDArray[np.float64], seconds: float, seed: int) -> Load:
    """Draw the rows of each step around its rate: they come one by one, at random (Poisson).

    The steps are even, and last ``seconds`` together.
    """
    counts = np.random.default_rng([seed, 1]).poisson(rates * (seconds / len(rates)))
    return Load(trace_in(seconds, counts), spacing="random")


def check_positive(workload: str, **values: float) -> None:
    """Refuse settings that are not above 0, or that nothing could count."""
    for name, value in values.items():
        if not (isfinite(value) and value > 0):
            raise ConfigurationError(f"{workload}: {name} is {value}; write a number above 0")
        if value > MOST:
            raise ConfigurationError(f"{workload}: {name} is {value}; write {MOST:g} at most")


def check_seed(workload: str, seed: int) -> None:
    """Refuse what can't start a generator of random numbers."""
    if seed < 0:
        raise ConfigurationError(f"{workload}: seed is {seed}; write a whole number from 0")
