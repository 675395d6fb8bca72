"""Elastic-PPQ's two stages run again in simulation: Figs. 10 to 13."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

import numpy as np

from penstock.reproduction.ppq_streams import VARIATION
from penstock.reproduction.result import Beside, Figure, Table
from penstock.simulation.preference.costs import QueryCosts
from penstock.simulation.preference.pane_stage import ArrivingRows
from penstock.simulation.preference.system import (
    SAMPLE_SECONDS,
    SAMPLES,
    Interval,
    SystemSetting,
    simulated,
)
from penstock.simulation.workloads.map2 import Map2
from penstock.simulation.workloads.self_similar import SelfSimilar

_STEP = 0.01
_DELAY = 0.2
_INTERVAL = SAMPLE_SECONDS * SAMPLES
_SETTLED = 20.0  # until then the first workers catch up with what waited
_STATIC = range(1, 13)
# Fig. 9: three workers are utilised 0.9 by 40,000 tuples a second in panes of 100 ms, split in
# three. From it follows what a comparison took on the authors' machine.
_PART_ROWS, _ROW_SECONDS = 1333, 0.9 * 3 / 40_000
_PANES_PER_WINDOW = 3

_WORKERS = (
    "The time of one comparison is calibrated once, on Fig. 9; it is the same for all of these."
)
_UNEVEN = "Read off the figure's text: after 20 s more workers are useless, at a utilisation of 3."
_PANES = (
    "Windows have 3 panes, as the authors' published log of this run says; the paper's text says 5."
)


@dataclass(frozen=True, slots=True)
class Stages:
    """All that is shown of the two stages."""

    tables: tuple[Table, ...]
    figures: tuple[Figure, ...]


def stages(quick: bool) -> Stages:
    """Run the two stages on the paper's streams."""
    costs = QueryCosts.measured(most_rows=24_000 if quick else 48_000).paced(
        _PART_ROWS, _ROW_SECONDS
    )
    length = 25.0 if quick else 60.0
    streams = {"MAP": _rows(Map2(80_000, 1000, length, step_seconds=_STEP), pane_seconds=0.1)}
    if not quick:
        similar = SelfSimilar(80_000, 0.6, VARIATION, length, step_seconds=_STEP)
        streams["self-similar"] = _rows(similar, pane_seconds=0.1)
    parts = [
        _two_levels(costs, streams),
        _splitting(costs, 5.0 if quick else 15.0),
        _merging(costs, 60.0 if quick else 160.0),
    ]
    return Stages(
        tuple(part.tables[0] for part in parts),
        tuple(figure for part in parts for figure in part.figures),
    )


def _two_levels(costs: QueryCosts, streams: Mapping[str, ArrivingRows]) -> Stages:
    """Change workers alone, and both workers and thresholds (Fig. 10)."""
    rows, figures = [], []
    for name, stream in streams.items():
        alone = simulated(stream, costs, SystemSetting("none", most_workers=61))[:-1]
        both = simulated(stream, costs, SystemSetting("pid", most_workers=61))[:-1]
        rows += [
            Beside(
                f"{name}, workers alone: utilisation",
                3.0 if name == "MAP" else None,
                _settled(alone, "utilisation"),
                why=_UNEVEN if name == "MAP" else "",
            ),
            Beside(f"{name}, workers alone: workers", 60, float(alone[-1].first_workers)),
            Beside(f"{name}, both levels: utilisation", 0.9, _settled(both, "utilisation")),
            Beside(f"{name}, both levels: parts of a pane", None, _settled(both, "parts_per_pane")),
        ]
        short = name.lower().replace("-", "_")
        for how, run in (("a", alone), ("b", both)):
            said = "workers alone" if how == "a" else "both levels"
            figures.append(_over_time(f"ppq_fig_10{how}_{short}", f"{name}, {said} (Fig. 10)", run))
    title = "Utilisation of the first stage in bursts (Fig. 10)"
    return Stages((Table("ppq_fig_10", title, tuple(rows)),), tuple(figures))


def _splitting(costs: QueryCosts, seconds: float) -> Stages:
    """Split evenly, and by the controller, with workers that stay (Fig. 11)."""
    stream = _rows(Map2(80_000, 1000, seconds, step_seconds=_STEP, seed=1), pane_seconds=0.1)
    found = {how: [_static(stream, costs, how, n) for n in _STATIC] for how in ("even", "pid")}
    even, pid = found["even"], found["pid"]
    enough = next((n for n, each in zip(_STATIC, pid, strict=True) if each.utilisation < 1), 0)
    rows = (
        Beside("share of tuples left, one part", 0.27, even[0].points_share),
        Beside("share of tuples left, 8 even parts", 0.54, even[7].points_share),
        Beside("share of tuples left, 12 even parts", 0.58, even[11].points_share),
        Beside("8 workers, controller: parts of a pane", 5.18, pid[7].parts_per_pane),
        Beside("8 workers, controller: share left", 0.43, pid[7].points_share),
        Beside("workers that are enough", 7, float(enough), why=_WORKERS),
    )
    drawn = Figure(
        name="ppq_fig_11",
        title="Utilisation by workers, split evenly and by the controller (Fig. 11)",
        x_label="workers",
        y_label="utilisation; share left",
        x=list(_STATIC),
        series={
            "even: utilisation": [each.utilisation for each in even],
            "even: share left": [each.points_share for each in even],
            "controller: utilisation": [each.utilisation for each in pid],
            "controller: share left": [each.points_share for each in pid],
        },
    )
    title = "Splitting evenly and by the controller (Fig. 11)"
    return Stages((Table("ppq_fig_11", title, rows),), (drawn,))


def _merging(costs: QueryCosts, seconds: float) -> Stages:
    """Form windows with and without MERGE tasks (Figs. 12 and 13)."""
    stream = _rows(Map2(30_000, 1000, seconds, step_seconds=_STEP), pane_seconds=0.2)
    setting = SystemSetting(panes_per_window=_PANES_PER_WINDOW)
    with_merges = simulated(stream, costs, setting)[:-1]
    without = simulated(stream, costs, replace(setting, merges=False))[:-1]
    idle, idle_without = (
        fmean(each.windows.idle_share for each in _after(run, 25.0) if each.windows)
        for run in (with_merges, without)
    )
    tasks = [each.windows for each in with_merges if each.windows]
    merges = sum(each.merges for each in tasks)
    total = merges + sum(each.updates for each in tasks)
    rows = (
        Beside("less idle time with MERGE tasks", 0.45, 1 - idle / idle_without, why=_PANES),
        Beside("MERGE tasks, of all", 0.37, merges / total, why=_PANES),
        Beside("idle share with MERGE tasks", None, idle),
        Beside("idle share without", None, idle_without),
        Beside("workers with MERGE tasks", None, _mean_workers(with_merges)),
        Beside("workers without", None, _mean_workers(without)),
    )
    runs = {"with MERGE": with_merges, "without": without}
    figures = (
        _of_windows(
            "ppq_fig_12_workers",
            "Workers of the second stage (Fig. 12, left)",
            "workers",
            {name: [float(i.second_workers) for i in run] for name, run in runs.items()},
        ),
        _of_windows(
            "ppq_fig_12",
            "Utilisation of the second stage (Fig. 12, right)",
            "utilisation",
            {name: [i.windows.utilisation for i in run if i.windows] for name, run in runs.items()},
        ),
        _of_windows(
            "ppq_fig_13",
            "Idle time of the second stage (Fig. 13)",
            "idle share",
            {name: [i.windows.idle_share for i in run if i.windows] for name, run in runs.items()},
        ),
    )
    title = "Forming windows with and without MERGE tasks (Figs. 12 and 13)"
    return Stages((Table("ppq_fig_13", title, rows),), figures)


def _rows(made: Map2 | SelfSimilar, pane_seconds: float) -> ArrivingRows:
    counts = np.array(made.load().trace.counts, dtype=np.float64)
    return ArrivingRows.drawn(counts, made.step_seconds, pane_seconds, _DELAY, seed=0)


def _static(
    stream: ArrivingRows, costs: QueryCosts, how: Literal["even", "pid"], workers: int
) -> Interval:
    """Return the mean over a run with so many workers, but for its first and last intervals."""
    run = simulated(stream, costs, SystemSetting(how, workers=workers, most_workers=12))
    kept = run[1:-1] if len(run) > 2 else run
    return replace(
        kept[0],
        utilisation=fmean(each.utilisation for each in kept),
        parts_per_pane=fmean(each.parts_per_pane for each in kept),
        points_share=fmean(each.points_share for each in kept),
    )


def _after(run: Sequence[Interval], seconds: float) -> Sequence[Interval]:
    return run[min(len(run) - 1, round(seconds / _INTERVAL)) :]


def _settled(run: Sequence[Interval], name: Literal["utilisation", "parts_per_pane"]) -> float:
    return fmean(float(getattr(each, name)) for each in _after(run, _SETTLED))


def _mean_workers(run: Sequence[Interval]) -> float:
    return fmean(each.second_workers for each in _after(run, 25.0))


def _over_time(name: str, title: str, run: Sequence[Interval]) -> Figure:
    return Figure(
        name=name,
        title=title,
        x_label="seconds",
        y_label="utilisation; workers; parts of a pane",
        x=[_INTERVAL * number for number in range(len(run))],
        series={
            "utilisation": [each.utilisation for each in run],
            "workers": [float(each.first_workers) for each in run],
            "parts of a pane": [each.parts_per_pane for each in run],
        },
    )


def _of_windows(name: str, title: str, y_label: str, series: Mapping[str, list[float]]) -> Figure:
    length = min(len(values) for values in series.values())
    return Figure(
        name=name,
        title=title,
        x_label="seconds",
        y_label=y_label,
        x=[_INTERVAL * number for number in range(length)],
        series={each: values[:length] for each, values in series.items()},
    )
