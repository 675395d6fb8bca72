"""What came of a method in an experiment, on average over the streams drawn."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from penstock.reproduction.dabs.runs import Ran
from penstock.reproduction.dabs.setup import Setup, Stream, TopologyName
from penstock.simulation.run import Numbers


@dataclass(frozen=True, slots=True)
class Mean:
    """The means of several runs that differ in their seed alone."""

    name: str
    dephased: float
    changes: float
    parallelism: Numbers
    latency_seconds: Numbers
    cumulated: Numbers


def mean_of(runs: Sequence[Ran]) -> Mean:
    """Average over runs; where no row was done in a second, its latency is that of other runs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # no row was done in any run: still NaN
        latency = np.nanmean([each.latency_seconds for each in runs], axis=0)
    return Mean(
        name=runs[0].case.name,
        dephased=float(np.mean([each.dephased for each in runs])),
        changes=float(np.mean([each.changes for each in runs])),
        parallelism=np.mean([each.parallelism for each in runs], axis=0),
        latency_seconds=latency,
        cumulated=np.mean([each.cumulated for each in runs], axis=0),
    )


def by_method(
    runs: Iterable[Ran], setup: Setup, topology: TopologyName, stream: Stream
) -> dict[str, Mean]:
    """Return the means of all methods that met a stream on a topology."""
    found: dict[str, list[Ran]] = {}
    for each in runs:
        case = each.case
        if (case.setup, case.topology, case.stream) == (setup, topology, stream):
            found.setdefault(case.name, []).append(each)
    return {name: mean_of(several) for name, several in found.items()}
