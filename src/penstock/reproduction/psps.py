"""PSPS run again: Tables IV to XII and Figs. 8 to 11 and 14 of its evaluation."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from penstock.reproduction.frontier import frontier
from penstock.reproduction.psps_experiments import Experiment, Stream, run_all, storm, streams
from penstock.reproduction.psps_tables import (
    DABS,
    METRICS,
    PSPS,
    RUN_OF_DABS,
    RUN_OF_PSPS,
    RUN_ON_DNS,
    Line,
    tables,
)
from penstock.reproduction.result import Beside, Figure, Progress, Reproduction, Table
from penstock.simulation.run import SimulatedRun

DEGRADATION_SECONDS = 1.0
"""Over which intervals throughput degradation is averaged. The paper doesn't say; this is the
stream's own resolution, and the last table shows others."""

FRONTIER_SHARE = 0.25
"""How much of the time goes into Penstock's own runs, about."""
THIN_FOR_TESTS = 100
MOST_REPLICAS: Mapping[str, int] = {"tweets": 32, "complex_tweets": 40, "dns": 12}
"""r_over, by topology."""


def reproduce(*, data: Path | None, quick: bool, progress: Progress) -> Reproduction:
    """Run all tables and figures; ``quick`` simulates one row of a hundred, for all of them."""
    traces, generated = streams(data)
    lines = tables()
    experiments = [line.experiment for each in lines.values() for line in each]
    processes = 1 if quick else min(2, os.cpu_count() or 1)
    thin = THIN_FOR_TESTS if quick else 1
    runs = run_all(
        experiments,
        traces,
        thin,
        processes,
        lambda what, share: progress(what, share * (1 - FRONTIER_SHARE)),
    )
    own_tables, own_figures, own_remarks = frontier(
        data,
        quick,
        lambda what, share: progress(what, 1 - FRONTIER_SHARE * (1 - share)),
    )
    found = [
        Table(name, title, tuple(row for line in each for row in _rows(line, runs)))
        for (name, title), each in lines.items()
    ]
    progress("PSPS", 1.0)
    return Reproduction(
        "psps",
        "A predictive approach for dynamic replication of operators (PSPS)",
        (*found, _averaging(runs), *own_tables),
        (*_figures(runs), *own_figures),
        (*_remarks(generated, quick), *own_remarks),
    )


def _rows(line: Line, runs: Mapping[Experiment, SimulatedRun]) -> list[Beside]:
    run = runs[line.experiment]
    most = MOST_REPLICAS[line.experiment.topology]
    here = (
        run.saved(most),
        run.degradation(DEGRADATION_SECONDS),
        run.processed,
        run.mean_latency_seconds * 1000,
    )
    return [
        Beside(
            f"{line.label}: {metric}",
            None if line.printed is None else line.printed[number],
            round(here[number], 4 if metric != "latency" else 2),
            "ms" if metric == "latency" else "",
            line.why.get(metric, ""),
        )
        for number, metric in enumerate(METRICS)
    ]


def _averaging(runs: Mapping[Experiment, SimulatedRun]) -> Table:
    lines = (("PSPS", RUN_OF_PSPS, PSPS), ("DABS-Storm", RUN_OF_DABS, DABS))
    return Table(
        "psps_degradation",
        "Throughput degradation, averaged over other intervals",
        tuple(
            Beside(
                f"{label}: over {seconds} s", printed[1], round(runs[each].degradation(seconds), 4)
            )
            for label, each, printed in lines
            for seconds in (1, 10, 30, 60)
        ),
    )


def _figures(runs: Mapping[Experiment, SimulatedRun]) -> tuple[Figure, ...]:
    fixed = {each.name: each for each in (storm(1), storm(4), storm(8))}
    with_storm = {**fixed, "PSPS": RUN_OF_PSPS}
    with_dabs = {"PSPS": RUN_OF_PSPS, "DABS-Storm": RUN_OF_DABS}
    return (
        _replicas("psps_fig_8", "Replicas of Storm and PSPS", runs, with_storm),
        _throughput("psps_fig_9", "Throughput of Storm and PSPS", runs, with_storm),
        _replicas("psps_fig_10", "Replicas of PSPS and DABS-Storm", runs, with_dabs),
        _throughput("psps_fig_11", "Throughput of PSPS and DABS-Storm", runs, with_dabs),
        _replicas(
            "psps_fig_14_replicas",
            "Replicas of PSPS with a DNS stand-in",
            runs,
            {"PSPS": RUN_ON_DNS},
        ),
        _throughput(
            "psps_fig_14_throughput",
            "Throughput of PSPS with a DNS stand-in",
            runs,
            {"PSPS": RUN_ON_DNS},
        ),
    )


def _replicas(
    name: str,
    title: str,
    runs: Mapping[Experiment, SimulatedRun],
    shown: Mapping[str, Experiment],
) -> Figure:
    series = {label: runs[each].timeline.slots.tolist() for label, each in shown.items()}
    return Figure(name, title, "seconds", "replicas", _seconds(series), series)


def _throughput(
    name: str,
    title: str,
    runs: Mapping[Experiment, SimulatedRun],
    shown: Mapping[str, Experiment],
) -> Figure:
    timelines = {label: runs[each].timeline for label, each in shown.items()}
    came = next(iter(timelines.values())).rows_in
    series = {"input": _smooth(came)}
    series |= {label: _smooth(each.rows_done) for label, each in timelines.items()}
    return Figure(name, title, "seconds", "rows a second", _seconds(series), series)


def _smooth(rows: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[float]:
    """Return the mean over ten seconds around each, as the paper's curves seem to be drawn."""
    window = np.ones(10)
    around = np.convolve(rows, window, "same") / np.convolve(np.ones(len(rows)), window, "same")
    return [round(float(each), 2) for each in around]


def _seconds(series: Mapping[str, Sequence[float]]) -> list[float]:
    return [float(second) for second in range(len(next(iter(series.values()))))]


def _remarks(generated: tuple[Stream, ...], quick: bool) -> tuple[str, ...]:
    remarks = [
        "Execution times are 1/761 s in every operator of the tweets' application, calibrated on "
        "Storm's 0.3319 with one replica each; nothing else of PSPS's own lines is calibrated.",
        "Load balancing begins every interval with idle replicas. As printed, algorithm 1 "
        "remembers the interval before, which makes it worse than shuffling (Table VII).",
        "The paper doesn't say how throughput degradation is averaged; here it is over seconds.",
        "CPU and memory of virtual machines are not simulated.",
    ]
    if set(generated) & {"main", "raw"}:
        remarks.insert(
            0,
            "The streams of the paper are not at hand, and generated ones stand in for them: no "
            "number is comparable. Give the folder of psps_main.csv and psps_twitter_raw.csv with "
            "--data.",
        )
    if quick:
        remarks.insert(0, "Only one row of a hundred was simulated, to be quick.")
    return tuple(remarks)
