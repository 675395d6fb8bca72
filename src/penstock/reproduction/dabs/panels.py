"""The panels of Figs. 12 to 17: parallelism, latency and dephased tuples over time."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.reproduction.dabs.experiments import Experiment
from penstock.reproduction.dabs.means import Mean
from penstock.reproduction.dabs.setup import OBSERVED
from penstock.reproduction.result import Figure


def panels(experiment: Experiment, methods: Mapping[str, Mean]) -> tuple[Figure, Figure, Figure]:
    """Return the three panels of one figure, means over the streams drawn."""
    where = f"{experiment.topology} topology, {experiment.stream} stream"
    steps = min(len(each.parallelism) for each in methods.values())
    seconds = [float(second) for second in range(steps)]

    def panel(letter: str, title: str, y_label: str, series: Mapping[str, list[float]]) -> Figure:
        return Figure(
            name=f"fig{experiment.figure}{letter}",
            title=f"{title}: {where} (Fig. {experiment.figure}{letter})",
            x_label="seconds",
            y_label=y_label,
            x=seconds,
            series=series,
        )

    return (
        panel(
            "a",
            f"Executors of {OBSERVED[experiment.topology]}",
            "executors",
            {name: each.parallelism[:steps].tolist() for name, each in methods.items()},
        ),
        panel(
            "b",
            "Mean latency",
            "seconds",
            {name: each.latency_seconds[:steps].tolist() for name, each in methods.items()},
        ),
        panel(
            "c",
            "Cumulated dephased tuples",
            "% of the stream",
            {name: (100 * each.cumulated[:steps]).tolist() for name, each in methods.items()},
        ),
    )
