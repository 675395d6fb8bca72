"""Other days like the one that was recorded: its stretches drawn again, in any order."""

from __future__ import annotations

from math import ceil, isfinite

import numpy as np

from penstock.errors import ConfigurationError
from penstock.sources.trace import MICROS, Trace

LEAST_BLOCKS = 5
"""A trace is drawn from at least so many stretches, or all resamples would be much the same."""
BLOCK_SECONDS = 120.0
"""How long stretches are, unless said: long enough for a policy to meet what leads up to a peak."""


def block_seconds_of(trace: Trace, block_seconds: float | None = None) -> float:
    """Return how long the stretches of a trace are: as said, or what suits its length.

    >>> block_seconds_of(Trace((1_000_000,) * 3_600, (5,) * 3_600))
    120.0
    >>> block_seconds_of(Trace((1_000_000,) * 100, (5,) * 100))
    20.0
    """
    if block_seconds is None:
        return min(BLOCK_SECONDS, trace.duration_seconds / LEAST_BLOCKS)
    if not (isfinite(block_seconds) and 0 < block_seconds <= trace.duration_seconds):
        raise ConfigurationError(
            f"stretches of {block_seconds} s can't be drawn from {trace.duration_seconds:g} s of "
            "trace; write seconds above 0, a fifth of the trace at most to be of use"
        )
    return block_seconds


def resampled(trace: Trace, block_seconds: float, seed: int) -> Trace:
    """Return a trace as long as this one, of stretches that begin anywhere in it (moving blocks).

    What happens within ``block_seconds`` stays together: bursts, ramps and how rates follow each
    other. What takes longer does not. The last stretch is cut where the trace is long enough, and
    one that would go past the end goes on from the start, so that every step is equally likely.

    >>> trace = Trace((1_000_000,) * 6, (1, 2, 3, 4, 5, 6))
    >>> resampled(trace, 2.0, seed=1).counts
    (3, 4, 4, 5, 5, 6)
    """
    rng = np.random.default_rng(seed)
    counts = np.array(trace.counts, dtype=np.int64)
    micros = np.array(trace.step_micros, dtype=np.int64)
    steps = len(counts)
    each = max(1, round(block_seconds * MICROS * steps / int(micros.sum())))
    starts = rng.integers(0, steps, ceil(steps / each))
    taken = ((starts[:, None] + np.arange(each)) % steps).ravel()[:steps]
    if not counts[taken].any():
        # A trace must have a row; a day on which nothing comes costs and proves nothing.
        taken[0] = int(counts.argmax())
    return Trace(tuple(micros[taken].tolist()), tuple(counts[taken].tolist()))
