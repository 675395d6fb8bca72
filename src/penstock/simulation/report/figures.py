"""The figures of a simulation."""

from __future__ import annotations

from collections.abc import Sequence
from re import split

import numpy as np

from penstock.drawing.figure import Figure
from penstock.simulation.comparison import Simulation
from penstock.simulation.run import Numbers
from penstock.simulation.trial import Outcome

MOST_POINTS = 600
MOST_CURVES = 6


def figures_of(found: Simulation) -> tuple[Figure, ...]:
    """Draw rates, slots and latency over time, and what saving costs in latency.

    Of many runs, the best and those that are cheapest are drawn over time.
    """
    drawn = drawn_outcomes(found)
    steps = max(len(each.run.timeline.slots) for each in drawn)
    width = max(1, -(-steps // MOST_POINTS))
    step_seconds = drawn[0].run.timeline.step_seconds
    x = np.arange(-(-steps // width), dtype=np.float64) * width * step_seconds
    arrived = _means(drawn[0].run.timeline.rows_in, steps, width) / step_seconds
    figures = [
        Figure("rate", "Rows that arrive", "seconds", "rows per second", x.tolist(),
               {"arriving": arrived.tolist()}),
        Figure("slots", "Slots", "seconds", "slots", x.tolist(),
               {e.label: _means(e.run.timeline.slots, steps, width).tolist() for e in drawn}),
        Figure("latency", "Mean latency", "seconds", "seconds", x.tolist(),
               {e.label: _latency(e, steps, width).tolist() for e in drawn}),
        Figure("waiting", "Rows that wait", "seconds", "rows", x.tolist(),
               {e.label: _means(e.run.timeline.waiting_rows, steps, width).tolist()
                for e in drawn}),
    ]  # fmt: skip
    if len(found.outcomes) > 1:
        figures.append(_frontier(found.outcomes))
    return tuple(figures)


def drawn_outcomes(found: Simulation) -> tuple[Outcome, ...]:
    """Return the runs that are drawn over time: all, or the best and the cheapest of many."""
    if len(found.outcomes) <= MOST_CURVES:
        return found.outcomes
    best = found.best
    cheap = sorted(found.outcomes, key=lambda each: each.run.slot_seconds)
    kept = [best, *(each for each in cheap if each is not best)][:MOST_CURVES]
    return tuple(each for each in found.outcomes if any(each is one for one in kept))


def _frontier(outcomes: Sequence[Outcome]) -> Figure:
    """Draw each run as a point: in the order, so in the colours, of the curves over time.

    Of more runs than there are colours, those of one policy have one colour.
    """
    few = len(outcomes) <= MOST_CURVES
    names = [each.label if few else split("[:,]", each.label)[0] for each in outcomes]
    measured = [each.measures for each in outcomes]
    series = {
        name: [
            found.mean_latency_seconds if its == name else np.nan
            for its, found in zip(names, measured, strict=True)
        ]
        for name in dict.fromkeys(names)
    }
    return Figure(
        "frontier",
        "What saving costs: each run is a point, lower and further right is better",
        "share of slots saved",
        "mean latency, seconds",
        [found.saved for found in measured],
        series,
        joined=False,
    )


def _latency(outcome: Outcome, steps: int, width: int) -> Numbers:
    """Return the mean latency of the rows that were done in each part of the time."""
    line = outcome.run.timeline
    done = np.nan_to_num(line.rows_done + line.rows_failed)
    rows = _sums(done, steps, width)
    waited = _sums(np.nan_to_num(line.latency_seconds) * done, steps, width)
    found = np.full(len(rows), np.nan)
    np.divide(waited, rows, out=found, where=rows > 0)
    return found


def _means(values: Numbers, steps: int, width: int) -> Numbers:
    count = _sums(np.ones(len(values)), steps, width)
    found = np.full(len(count), np.nan)
    np.divide(_sums(values, steps, width), count, out=found, where=count > 0)
    return found


def _sums(values: Numbers, steps: int, width: int) -> Numbers:
    padded = np.concatenate((values, np.zeros(-(-steps // width) * width - len(values))))
    return np.asarray(padded.reshape(-1, width).sum(axis=1))
