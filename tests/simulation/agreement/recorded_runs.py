"""Runs whose costs are known: simulated, with the noise that live ones have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from penstock.elasticity.decision import Decision, Policy
from penstock.elasticity.observation import Observation
from penstock.elasticity.static import Static
from penstock.journal import BatchFinished, JournalWriter, QueryStarted
from penstock.simulation.batch_costs import BatchCosts
from penstock.simulation.laws import Constant
from penstock.simulation.load import Load
from penstock.simulation.micro_batch import MicroBatch
from penstock.simulation.topology import SimulatedOperator, SimulatedSource, SimulatedTopology
from penstock.sources.trace import trace_of_counts

COSTS = BatchCosts(fixed_seconds=0.3, task_seconds=0.0, imbalance=1.25)
PARSE_SECONDS, SCORE_SECONDS, SELECTIVITY = 0.002, 0.01, 0.5


def topology() -> SimulatedTopology:
    parse = SimulatedOperator("parse", {"rows": 1.0}, Constant(PARSE_SECONDS), SELECTIVITY)
    score = SimulatedOperator("score", {"parse": 1.0}, Constant(SCORE_SECONDS))
    return SimulatedTopology("known", (SimulatedSource("rows"),), (parse, score))


class Kept:
    """A recorder that keeps every batch."""

    def __init__(self) -> None:
        self.batches: list[Observation] = []

    def batch(self, seen: Observation) -> None:
        self.batches.append(seen)

    def decision(self, batch_id: int, decision: Decision, at_seconds: float) -> None:
        pass


def recorded(
    seconds: int = 60,
    noise: float = 0.0,
    wild: int = 0,
    policy: Policy | None = None,
    seed: int = 0,
) -> list[Observation]:
    """Simulate a run; ``wild`` of its batches take five times as long, in every way."""
    rng = np.random.default_rng(0)
    counts = rng.integers(100, 500, seconds).tolist()
    kept = Kept()
    mechanism = MicroBatch(most_slots=8, costs=COSTS, executor_seconds=0.0)
    mechanism.run(topology(), Load(trace_of_counts(counts)), policy or Static(4), recorder=kept)
    strange = set(rng.choice(len(kept.batches), wild, replace=False).tolist())
    return [
        _noisy(each, rng, noise, 5.0 if number in strange else 1.0)
        for number, each in enumerate(kept.batches)
    ]


def _noisy(seen: Observation, rng: np.random.Generator, noise: float, times: float) -> Observation:
    def factor() -> float:
        return times * float(np.exp(noise * rng.standard_normal()))

    operators = tuple(
        replace(each, busy_seconds=each.busy_seconds * factor()) for each in seen.operators
    )
    return replace(seen, operators=operators, batch_seconds=seen.batch_seconds * factor())


def journal_of(batches: Sequence[Observation], where: Path) -> Path:
    """Write batches down as a live run does."""
    with JournalWriter(where, clock=lambda: 0.0) as journal:
        journal.write(QueryStarted("id", "known", "rows -> parse -> score", "0", "0", 4))
        for each in batches:
            journal.write(BatchFinished(each))
    return where
