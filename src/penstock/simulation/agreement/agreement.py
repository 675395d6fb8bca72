"""How far the simulator is off what a live run measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from penstock.elasticity.observation import Observation
from penstock.replay.latencies import Latencies
from penstock.simulation.agreement.learning import LearntCosts, learn
from penstock.simulation.agreement.prediction import predicted_seconds, simulate_again
from penstock.simulation.agreement.recorded import RecordedRun, read_runs

STRETCH_BATCHES = 5
"""Batches are learnt from and predicted in turn, so many each: costs drift within a run."""


@dataclass(frozen=True, slots=True)
class Errors:
    """How far predicted batch times were off, as shares of what the batches took.

    >>> Errors.of([1.0, 2.2, 3.0], [1.0, 2.0, 4.0])
    Errors(median=0.1, p90=0.22, batches=3)
    """

    median: float
    p90: float
    batches: int

    @classmethod
    def of(cls, predicted: Sequence[float], took: Sequence[float]) -> Errors:
        """Compare predictions with what was measured."""
        off = [abs(p - t) / t for p, t in zip(predicted, took, strict=True)]
        high = float(np.quantile(off, 0.9))
        return cls(round(median(off), 4), round(high, 4), len(off))


@dataclass(frozen=True, slots=True)
class Latency:
    """Seconds from the arrival of rows to the end of their batch: recorded, and simulated."""

    recorded_seconds: float
    simulated_seconds: float

    @property
    def error(self) -> float:
        """How far off the simulation is, as a share of what was recorded."""
        return abs(self.simulated_seconds - self.recorded_seconds) / self.recorded_seconds


@dataclass(frozen=True, slots=True)
class Agreement:
    """A live run beside its simulation.

    Batch times are predicted from each batch's rows, slots and tasks: ``in_sample`` those that
    costs were learnt from; ``unseen`` those of every other stretch, learnt from the stretches
    between; ``ahead`` those of the second half, learnt from the first. Then the second half is
    simulated whole, from when its rows arrived, with the costs of the first: ``whole`` is how far
    its batch times are off those recorded at the same time, ``mean_latency`` and ``p95_latency``
    what rows waited.
    """

    run: str
    batches: int
    rows: int
    learnt: LearntCosts
    in_sample: Errors
    unseen: Errors
    ahead: Errors
    whole: Errors
    mean_latency: Latency
    p95_latency: Latency


def agreement_of(
    path: Path, on_progress: Callable[[str, float], object] = lambda what, share: None
) -> list[Agreement]:
    """Compare all runs of a journal that are long enough with what the simulator says of them.

    ``on_progress`` is told what is being done, and which share of it is.
    """
    runs = read_runs(path, lambda share: on_progress(f"reading {path.name}", share))
    found = []
    for number, run in enumerate(runs):
        on_progress(f"simulating {run.name}", number / len(runs))
        found.append(agreement(run))
    return found


def agreement(run: RecordedRun) -> Agreement:
    """Compare one run with what the simulator says of it."""
    learnt = learn(run.name, run.batches)
    odd, even = _in_turn(run.batches)
    first, second = run.halves()
    from_first = learn(run.name, first)
    unseen = [*_both(learn(run.name, odd), even), *_both(learn(run.name, even), odd)]
    whole, mean_latency, p95_latency = _whole(from_first, RecordedRun(run.name, (), second))
    return Agreement(
        run=run.name,
        batches=len(run.batches),
        rows=run.rows,
        learnt=learnt,
        in_sample=_errors(_both(learnt, run.batches)),
        unseen=_errors(unseen),
        ahead=_errors(_both(from_first, second)),
        whole=whole,
        mean_latency=mean_latency,
        p95_latency=p95_latency,
    )


def _in_turn(
    batches: Sequence[Observation],
) -> tuple[tuple[Observation, ...], tuple[Observation, ...]]:
    parts: tuple[list[Observation], list[Observation]] = ([], [])
    for number, each in enumerate(batches):
        parts[number // STRETCH_BATCHES % 2].append(each)
    return tuple(parts[0]), tuple(parts[1])


def _both(learnt: LearntCosts, batches: Sequence[Observation]) -> list[tuple[float, float]]:
    predicted = predicted_seconds(learnt.topology, learnt.costs, batches)
    return [(p, each.batch_seconds) for p, each in zip(predicted, batches, strict=True)]


def _errors(both: Sequence[tuple[float, float]]) -> Errors:
    return Errors.of([predicted for predicted, _ in both], [took for _, took in both])


def _whole(learnt: LearntCosts, run: RecordedRun) -> tuple[Errors, Latency, Latency]:
    arrivals = run.arrivals()
    simulated = simulate_again(learnt.topology, learnt.costs, arrivals, run.batches)
    starts = np.array([each.started_seconds for each in simulated.batches])
    nearest = [
        simulated.batches[int(np.abs(starts - each.started_seconds).argmin())].seconds
        for each in run.batches
    ]
    recorded, done = Latencies(), 0
    for each in run.batches:
        for piece in arrivals.pieces(done, done + each.rows_in):
            recorded.add(piece, each.at_seconds)
        done += each.rows_in
    return (
        Errors.of(nearest, [each.batch_seconds for each in run.batches]),
        Latency(recorded.mean_seconds, simulated.mean_latency_seconds),
        Latency(recorded.quantile_seconds(0.95), simulated.p95_latency_seconds),
    )


def as_dict(found: Agreement) -> dict[str, Any]:
    """Return an agreement in what JSON knows."""
    costs = found.learnt.costs
    return {
        "run": found.run,
        "batches": found.batches,
        "rows": found.rows,
        "fixed_seconds": costs.fixed_seconds,
        "task_seconds": costs.task_seconds,
        "imbalance": costs.imbalance,
        "slot_seconds_per_row": found.learnt.topology.seconds_per_row(),
        **{
            f"{name}_{part}": getattr(getattr(found, name), part)
            for name in ("in_sample", "unseen", "ahead", "whole")
            for part in ("median", "p90")
        },
        **{
            f"{name}_{part}": getattr(getattr(found, name), part)
            for name in ("mean_latency", "p95_latency")
            for part in ("recorded_seconds", "simulated_seconds", "error")
        },
    }
