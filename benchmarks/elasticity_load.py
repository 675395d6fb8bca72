"""The load of the elasticity benchmark: a recorded rate, or waves like it, in a few minutes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from penstock.sources import Trace, read_trace
from penstock.sources.trace import MICROS, whole_counts

# Where no recording is given: three waves, each higher than the last, and quiet after them. Part
# of the time that has passed, and part of the highest rate.
WAVES = (
    (0.00, 0.06),
    (0.10, 0.60),
    (0.16, 0.65),
    (0.24, 0.20),
    (0.35, 0.70),
    (0.40, 0.70),
    (0.50, 0.16),
    (0.56, 0.20),
    (0.65, 1.00),
    (0.69, 1.00),
    (0.78, 0.30),
    (0.85, 0.08),
    (1.00, 0.07),
)


def load(recording: Path | None, seconds: int, highest_rate: float) -> Trace:
    """Squeeze a recording into ``seconds``, with ``highest_rate`` rows in its busiest second.

    Its shape stays: each second has the mean rate of the part of the recording that it stands for.
    """
    edges = np.linspace(0.0, 1.0, seconds + 1)
    if recording is None:
        moments, heights = np.array(WAVES).T
        # Each second's mean, by the area under the lines.
        fine = np.linspace(0.0, 1.0, 100 * seconds + 1)
        under = np.concatenate(([0.0], np.cumsum(np.interp(fine[:-1], moments, heights))))
        rows_until = np.interp(edges, fine, under)
    else:
        trace = read_trace(recording)
        passed = np.concatenate(([0.0], np.cumsum(trace.step_micros)))
        came = np.concatenate(([0.0], np.cumsum(trace.counts)))
        rows_until = np.interp(edges, passed / passed[-1], came)
    rates = np.diff(rows_until)
    counts = whole_counts((rates * highest_rate / rates.max()).tolist())
    return Trace((MICROS,) * seconds, counts)
