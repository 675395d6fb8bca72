"""How evenly a placement loads tasks, found with the placement's own rule on a sample of rows."""

from __future__ import annotations

from math import sqrt
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from penstock.errors import ConfigurationError
from penstock.placement.assignment import dear_first
from penstock.placement.cost_aware import CostAware
from penstock.simulation.micro_batch.operators import BatchOperators
from penstock.simulation.topology import SimulatedTopology

PlacementName = Literal["round-robin", "cost-aware"]
SAMPLE_ROWS = 20_000
_MOST_BATCHES = 16
_LEAST_SECONDS = 1e-12


def check_placement(name: str) -> None:
    """Refuse the name of no placement."""
    if name not in get_args(PlacementName):
        raise ConfigurationError(
            f"placement={name!r} can't be simulated. Write 'round-robin' or 'cost-aware', or leave "
            "it out and give the imbalance as a cost."
        )


class PlacedKeys:
    """Says how much longer the slowest task takes than the mean, for rows with drawn keys.

    Rows are dealt in turn by round robin. Cost-aware placement learns what keys cost in its sketch,
    from other rows than those that it places. A batch of more rows than the sample is more even by
    the square root of how many more: so it is with sums of independent costs.
    """

    def __init__(
        self,
        topology: SimulatedTopology,
        operators: BatchOperators,
        placement: PlacementName,
        seed: int = 0,
    ) -> None:
        check_placement(placement)
        rng = np.random.default_rng(seed)
        source, keys = _sample(topology, rng)
        self._costs: dict[int, NDArray[np.float64]] = {}
        self._guesses: dict[int, NDArray[np.float64]] = {}
        stage_of = dict(zip(operators.names, operators.stage.tolist(), strict=True))
        by_source = topology.rows_by_source()
        spent: dict[int, NDArray[np.float64]] = {}
        for operator in topology.operators:
            rows = np.array([by_source[each.name][operator.name] for each in topology.sources])
            drawn = operator.law.draw(keys, rng) * rows[source]
            stage = stage_of[operator.name]
            spent[stage] = spent.get(stage, 0.0) + drawn
        for stage, seconds in spent.items():
            self._costs[stage] = seconds[SAMPLE_ROWS:]
            if placement == "cost-aware":
                self._guesses[stage] = _learnt(keys, seconds)
        self._found: dict[tuple[int, int, int], float] = {}

    def imbalance(self, stage: int, tasks: int, rows: int) -> float:
        """Return the slowest task's work over the mean."""
        costs = self._costs[stage]
        count = min(rows, len(costs))
        if tasks <= 1 or count == 0:
            return 1.0
        # Batches of about equally many rows are about equally even.
        size = min(len(costs), 1 << (count - 1).bit_length())
        where = (stage, tasks, size)
        if where not in self._found:
            self._found[where] = self._slowest(stage, tasks, size)
        return 1.0 + (self._found[where] - 1.0) * sqrt(size / max(rows, size))

    def _slowest(self, stage: int, tasks: int, rows: int) -> float:
        """Return the mean over several batches of so many rows of the sample."""
        batches = min(_MOST_BATCHES, len(self._costs[stage]) // rows)
        found = [self._slowest_in(stage, tasks, n * rows, rows) for n in range(batches)]
        return sum(found) / len(found)

    def _slowest_in(self, stage: int, tasks: int, first: int, rows: int) -> float:
        costs = self._costs[stage][first : first + rows]
        if stage in self._guesses:
            guesses = self._guesses[stage][first : first + rows]
            chosen = dear_first(np.maximum(guesses, _LEAST_SECONDS), np.zeros(tasks))
        else:
            chosen = (np.arange(rows) % tasks).astype(np.int32)
        loads = np.bincount(chosen, costs, tasks)
        mean = float(loads.mean())
        return float(loads.max()) / mean if mean > 0 else 1.0


def _sample(
    topology: SimulatedTopology, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw rows of the load: the number of each one's source, and its key."""
    keys = np.zeros(2 * SAMPLE_ROWS, dtype=np.int64)
    shares = [each.share for each in topology.sources]
    source = np.zeros_like(keys)
    if len(shares) > 1:
        source = rng.choice(len(shares), len(keys), p=np.array(shares) / sum(shares))
    for number, each in enumerate(topology.sources):
        own = source == number
        keys[own] = each.drawn_keys.draw(rng.random(int(own.sum())))
    return source, keys


def _learnt(keys: NDArray[np.int64], seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Learn what keys cost from the first half of the rows; return what the second should cost."""
    sketch = CostAware().sketch()
    hashes = keys.astype(np.uint64)
    sketch.update(hashes[:SAMPLE_ROWS], seconds[:SAMPLE_ROWS])
    return np.asarray(sketch.estimate(hashes[SAMPLE_ROWS:]), dtype=np.float64)
