"""A load made higher or faster than it was."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.simulation.load import Load
from penstock.simulation.workloads.workload import check_positive
from penstock.sources.trace import Trace, whole_counts


def rescaled(load: Load, scale: float = 1.0, speed: float = 1.0) -> Load:
    """Return ``scale`` times the rows in every step, and steps that pass ``speed`` times as fast.

    >>> from penstock.sources.trace import trace_of_counts
    >>> twice = rescaled(Load(trace_of_counts([3, 5])), scale=1.5, speed=2.0).trace
    >>> twice.counts, twice.duration_seconds
    ((4, 8), 1.0)
    """
    check_positive("load", scale=scale, speed=speed)
    # Edges, not lengths, are rounded, so that a day doesn't become longer by its many steps.
    edges = np.round(np.cumsum(np.array(load.trace.step_micros, dtype=np.float64)) / speed)
    lengths = np.diff(edges.astype(np.int64), prepend=0)
    counts = whole_counts([count * scale for count in load.trace.counts])
    return replace(load, trace=Trace(tuple(lengths.tolist()), counts))
