"""Runs the experiments' cases, two at a time, and keeps what tables and figures show of each."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.elasticity.autoscale_plus import AutoScalePlus
from penstock.reproduction.dabs.methods import Method, method
from penstock.reproduction.dabs.setup import (
    MONITORING_SECONDS,
    OBSERVED,
    WORKERS,
    Setup,
    Stream,
    TopologyName,
)
from penstock.reproduction.result import Progress
from penstock.simulation.processes import in_processes
from penstock.simulation.replicas import simulate
from penstock.simulation.run import Numbers, SimulatedRun

OURS = "Penstock"
"""What our own AutoScalePlus in micro-batches is called beside the paper's methods."""


@dataclass(frozen=True, slots=True)
class Case:
    """One run: a method (None: ours, in micro-batches) on a topology with a stream."""

    setup: Setup
    topology: TopologyName
    stream: Stream
    method: Method | None
    seed: int

    @property
    def name(self) -> str:
        """What the method is called in tables and figures."""
        return self.method or OURS


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a case.

    ``dephased`` is the share of rows that were not done within the processing timeout, by the end
    of the stream; ``cumulated`` is how it adds up, with rows still in a queue at the very end.
    ``parallelism`` is of the observed operator; in micro-batches, where operators share them, all
    slots. Arrays are by second.
    """

    case: Case
    dephased: float
    changes: int
    parallelism: Numbers
    latency_seconds: Numbers
    cumulated: Numbers


def run(case: Case) -> Ran:
    """Run a case."""
    done = _in_micro_batches(case) if case.method is None else _on_storm(case, case.method)
    timeline = done.timeline
    during = slice(round(case.setup.seconds))  # micro-batches go on until the last row is done
    parallelism = timeline.operator_slots.get(OBSERVED[case.topology], timeline.slots)
    dephased = 1.0 - done.processed
    cumulated = np.cumsum(timeline.rows_failed)[during] / done.rows
    cumulated[-1] = dephased
    return Ran(
        case=case,
        dephased=dephased,
        changes=done.changes,
        parallelism=parallelism[during],
        latency_seconds=timeline.latency_seconds[during],
        cumulated=cumulated,
    )


def run_all(
    cases: Sequence[Case], progress: Progress, *, processes: int | None = None
) -> tuple[Ran, ...]:
    """Run all cases, in processes of their own where there are cores for it."""
    found = in_processes(run, cases, processes or min(2, os.cpu_count() or 1))
    return tuple(_told(each, n, cases, progress) for n, each in enumerate(found))


def _told(ran: Ran, number: int, cases: Sequence[Case], progress: Progress) -> Ran:
    case = ran.case
    progress(f"{case.topology}, {case.stream}: {case.name}", (number + 1) / len(cases))
    return ran


def _on_storm(case: Case, name: Method) -> SimulatedRun:
    setup = case.setup
    return simulate(
        setup.topology(case.topology),
        setup.load(case.stream, case.seed),
        method(name, setup, case.topology, case.stream, case.seed),
        setup.storm(case.topology),
        seed=case.seed,
    )


def _in_micro_batches(case: Case) -> SimulatedRun:
    setup = case.setup
    return setup.spark(case.topology).run(
        setup.topology(case.topology),
        setup.load(case.stream, case.seed),
        AutoScalePlus(interval=MONITORING_SECONDS, max_slots=WORKERS),
        seed=case.seed,
    )
