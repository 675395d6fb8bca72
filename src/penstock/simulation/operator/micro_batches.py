"""An operator in micro-batches, its rows placed by the same code as in a live query."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from penstock.placement.cost_aware import CostAware
from penstock.placement.cost_model import CostModel, TaskCosts
from penstock.placement.cost_sketch import CostSketch
from penstock.placement.placer import KnownCost, Placer
from penstock.simulation.operator.completions import Completions
from penstock.simulation.operator.groupings import MicroBatches
from penstock.simulation.operator.tuples import Tuples

Tasks = NDArray[np.int32]


def in_micro_batches(
    tuples: Tuples, instances: int, batches: MicroBatches, network_seconds: float
) -> Completions:
    """Work on the tuples batch by batch, each with one task for every instance."""
    placing = _Placing(instances, batches.placement)
    here = tuples.arrival_seconds + network_seconds
    done, chosen = np.empty(len(tuples)), np.empty(len(tuples), np.int32)
    multipliers = _multipliers(tuples, instances)
    ended = began = 0.0
    first = 0
    while first < len(tuples):
        began = max(ended, _next_trigger(began, float(here[first]), batches.trigger_seconds))
        last = int(np.searchsorted(here, began, side="right"))
        rows = slice(first, last)
        chosen[rows] = placing.place(tuples.keys[rows])
        seconds = tuples.seconds[rows] * multipliers[rows, :][np.arange(last - first), chosen[rows]]
        slowest = float(np.bincount(chosen[rows], seconds, instances).max())
        ended = began + slowest + batches.fixed_seconds
        done[rows] = ended
        placing.learn(tuples.keys[rows], seconds, chosen[rows])
        first = last
    return Completions(done - tuples.arrival_seconds, chosen)


def _next_trigger(began: float, row_here: float, every: float) -> float:
    """Return the first trigger after a batch began at which there is a row to take."""
    after = (began // every + 1) * every
    if row_here <= after:
        return after
    found = float(-(-row_here // every) * every)
    return found if found >= row_here else found + every


def _multipliers(tuples: Tuples, instances: int) -> NDArray[np.float64]:
    found = np.ones((len(tuples), instances))
    for speeds in tuples.speeds:
        found[speeds.from_tuple :] = speeds.multipliers
    return found


class _Placing:
    """Places the rows of one batch after the other, in turn until their costs are known."""

    def __init__(self, instances: int, placement: CostAware | None) -> None:
        self._instances = instances
        self._placement = placement
        self._model: CostModel | None = placement.model() if placement else None
        self._turn = 0

    def place(self, keys: NDArray[np.int64]) -> Tasks:
        """Return the tasks of a batch's rows."""
        sketch = self._model.sketch if self._model else None
        if sketch is None or not self._is_worth_it(len(keys)):
            in_turn = (self._turn + np.arange(len(keys))) % self._instances
            self._turn = int(self._turn + len(keys)) % self._instances
            return in_turn.astype(np.int32)
        placer = Placer(self._instances, 1, (KnownCost((0,), sketch),))
        return placer.begin(0).place([keys])

    def learn(self, keys: NDArray[np.int64], seconds: NDArray[np.float64], chosen: Tasks) -> None:
        """Take in what the tasks of a batch measured."""
        if self._model is not None and self._placement is not None:
            empty = self._placement.sketch()
            self._model.learn(list(_measured(keys, seconds, chosen, self._instances, empty)))

    def _is_worth_it(self, rows: int) -> bool:
        if self._model is None or self._placement is None:
            return False
        gain = self._model.gain_seconds(rows, self._instances)
        return gain >= self._placement.least_gain_seconds


def _measured(
    keys: NDArray[np.int64],
    seconds: NDArray[np.float64],
    chosen: Tasks,
    instances: int,
    empty: CostSketch,
) -> Iterator[TaskCosts]:
    for task in range(instances):
        own = chosen == task
        sketch = empty.copy()
        sketch.update(keys[own].astype(np.uint64), seconds[own])
        yield TaskCosts(sketch, float(seconds[own] @ seconds[own]), f"instance {task}")
