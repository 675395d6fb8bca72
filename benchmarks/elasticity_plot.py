"""Draws the slots of each way over time, under the load. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from elasticity_outcome import Batch
from matplotlib.figure import Figure

from penstock.sources import Trace


def draw(trace: Trace, courses: Mapping[str, tuple[float, Sequence[Batch]]], picture: Path) -> None:
    """Draw the rate on top and, for each way, the slots of its batches since its start."""
    figure = Figure(figsize=(8, 2 + 1.4 * len(courses)), layout="constrained")
    rate, *axes = figure.subplots(1 + len(courses), 1, sharex=True)
    rate.fill_between(range(len(trace.counts)), trace.counts, step="post", alpha=0.4)
    rate.set(ylabel="rows/s", ylim=(0, None))
    most = max(batch.slots for _, batches in courses.values() for batch in batches)
    for each, (way, (start_seconds, batches)) in zip(axes, courses.items(), strict=True):
        ends = [batch.committed_seconds - start_seconds for batch in batches]
        # A batch's slots were in use up to its end.
        each.step([0.0, *ends], [batches[0].slots, *(b.slots for b in batches)], where="pre")
        each.set(ylabel="slots", ylim=(0, most + 1), title=way)
    axes[-1].set_xlabel("seconds")
    figure.savefig(picture)
