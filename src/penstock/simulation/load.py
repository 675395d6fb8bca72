"""The load of a simulation: rows that arrive, one by one or by the second."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from penstock.errors import ConfigurationError
from penstock.sources.trace import MICROS, Trace

Spacing = Literal["even", "random"]
MOST_ROWS = 200_000_000
"""Of what is known of every row there are some hundred bytes."""
LONGEST_DAYS = 400
"""What happened in each second of a run is kept."""
_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Load:
    """A trace of rates, and how rows arrive within each of its steps: evenly, or anywhere.

    >>> from penstock.sources.trace import trace_of_counts
    >>> Load(trace_of_counts([2, 4])).arrival_seconds(np.random.default_rng(0)).tolist()
    [0.25, 0.75, 1.125, 1.375, 1.625, 1.875]
    """

    trace: Trace
    spacing: Spacing = "even"

    def __post_init__(self) -> None:
        if self.spacing not in ("even", "random"):
            raise ConfigurationError(
                f"spacing={self.spacing!r} is no way to arrive. Write 'even' or 'random'."
            )
        check_days(self.duration_seconds, "the load lasts", "Cut the trace into shorter ones.")

    @property
    def rows(self) -> int:
        """All rows of the load."""
        return self.trace.rows

    @property
    def duration_seconds(self) -> float:
        """How long it lasts."""
        return self.trace.duration_seconds

    def arrival_seconds(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return when each row arrives, from 0, in order."""
        if self.rows > MOST_ROWS:
            raise ConfigurationError(
                f"the load has {self.rows:,} rows, and {MOST_ROWS:,} at most can be simulated one "
                "by one. Cut the trace, or leave the mechanism at micro-batch."
            )
        counts = np.array(self.trace.counts, dtype=np.int64)
        lengths = np.array(self.trace.step_micros, dtype=np.float64) / MICROS
        starts = np.concatenate(([0.0], np.cumsum(lengths)[:-1]))
        step = np.repeat(np.arange(len(counts)), counts)
        if self.spacing == "random":
            return np.sort(starts[step] + lengths[step] * rng.random(len(step)))
        first = np.concatenate(([0], np.cumsum(counts)[:-1]))
        within = np.arange(len(step)) - first[step] + 0.5
        return np.asarray(starts[step] + lengths[step] * within / counts[step])


def check_days(seconds: float, what: str, remedy: str) -> None:
    """Refuse a time that is too long to be kept second by second.

    >>> check_days(1e12, "the load lasts", "Cut it.")
    Traceback (most recent call last):
    ...
    penstock.errors.ConfigurationError: the load lasts 11,574,074 days, and 400 at most can be \
simulated. Cut it.
    """
    if not seconds <= LONGEST_DAYS * _DAY:
        raise ConfigurationError(
            f"{what} {seconds / _DAY:,.0f} days, and {LONGEST_DAYS} at most can be simulated. "
            f"{remedy}"
        )
