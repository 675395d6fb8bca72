"""Draws one run of a preference query over time. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from preference_feed import Feed
from preference_outcome import Course, Step

SET_POINT = 0.9
FULL_RATE = 5  # windows a second


def draw(feed: Feed, run: Course, title: str, picture: Path) -> None:
    """Draw the rate, the utilisation of both stages, the split factor and the windows a second."""
    figure = Figure(figsize=(8, 8), layout="constrained")
    figure.suptitle(title)
    rate, utilised, split, windows = figure.subplots(4, 1, sharex=True)
    edges = np.cumsum(feed.trace.step_micros[:-1]) / 1e6
    seconds = np.arange(np.ceil(feed.seconds) + 1)
    rows = np.histogram(edges - 1e-9, seconds, weights=feed.trace.counts[:-1])[0]
    rate.stairs(rows, seconds, fill=True, alpha=0.4)
    rate.set(ylabel="rows/s", ylim=(0, None))
    _line(utilised, run, lambda step: step.pane_utilisation, "panes")
    _line(utilised, run, lambda step: step.window_utilisation, "windows")
    utilised.axhline(SET_POINT, color="grey", linestyle="--", linewidth=0.8)
    utilised.set(ylabel="utilisation", ylim=(0, None))
    utilised.legend(loc="upper right", ncols=2)
    _line(split, run, lambda step: step.parts_per_pane, "parts per pane")
    _line(split, run, lambda step: float(step.pane_tasks) or None, "tasks")
    split.set(ylabel="parts", ylim=(0, None))
    split.legend(loc="lower right", ncols=2)
    counts = run.windows_per_second()
    windows.stairs(counts, np.arange(len(counts) + 1), fill=True, alpha=0.4)
    windows.axhline(FULL_RATE, color="grey", linestyle="--", linewidth=0.8)
    windows.set(ylabel="windows/s", xlabel="seconds", ylim=(0, None))
    figure.savefig(picture, dpi=100)


def draw_interference(runs: Mapping[int, Course], picture: Path) -> None:
    """Draw mean tasks, tasks over time and windows a second, by the load of others (Fig. 18)."""
    figure = Figure(figsize=(10, 3.2), layout="constrained")
    mean, course, windows = figure.subplots(1, 3)
    names = [f"{percent} %" for percent in runs]
    mean.bar(names, [run.mean(lambda step: float(step.tasks)) for run in runs.values()])
    mean.set(ylabel="mean tasks of both stages", xlabel="cores that others keep busy")
    for percent, run in runs.items():
        _line(course, run, lambda step: float(step.tasks), f"{percent} %")
    course.set(ylabel="tasks of both stages", xlabel="seconds", ylim=(0, None))
    course.legend()
    counts = [run.windows_per_second() for run in runs.values()]
    spread = [float(np.std(each)) for each in counts]
    windows.bar(names, [float(np.mean(each)) for each in counts], yerr=spread, capsize=4)
    windows.axhline(FULL_RATE, color="grey", linestyle="--", linewidth=0.8)
    windows.set(ylabel="windows/s", xlabel="cores that others keep busy", ylim=(0, None))
    figure.savefig(picture, dpi=100)


def _line(axes: Axes, run: Course, measured: Callable[[Step], float | None], label: str) -> None:
    told = [
        (step.committed_seconds - run.start_seconds, value)
        for step in run.steps
        if (value := measured(step)) is not None
    ]
    if told:
        axes.plot(*np.array(told).T, marker=".", markersize=3, linewidth=1, label=label)
