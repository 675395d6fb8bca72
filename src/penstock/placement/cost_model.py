"""What rows cost, learnt from what tasks measured: POSG's matrices in micro-batches.

In POSG an instance keeps its matrices until they are stable and then sends them. Here every task
of a micro-batch hands over a sketch of its own rows with its metrics. The driver merges them, keeps
what is stable, and the tasks before the next exchange place their rows by it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.placement.cost_sketch import CostSketch

FIRST_ROWS = 200
JUDGED_ROWS = 32
CHANGE = 0.25
TIMES_USUAL = 2.0
OLD_SHARE = 0.05
MEMORY = 0.7


@dataclass(frozen=True, slots=True)
class TaskCosts:
    """What one task measured: its rows by cost, and the sum of its costs squared.

    ``executor`` is any name that tasks of one executor share.
    """

    sketch: CostSketch
    squares: float
    executor: str = ""


@dataclass(frozen=True, slots=True)
class Learnt:
    """How a batch changed what is known; ``reason`` is a sentence for the journal."""

    is_change: bool
    reason: str


class CostModel:
    """What is known of the cost of an operator's rows, by key.

    ``sketch`` is the one to place by, None until enough rows were seen. It takes in every batch. A
    window of ``window`` rows that agrees with its own past by ``mu`` (equation 1) takes the place
    of all that was known before; costs that are suddenly others do so at once, in the batch that
    shows them.
    """

    def __init__(
        self,
        sketch: CostSketch,
        window: int = 1_024,
        mu: float = 0.05,
        first_rows: int = FIRST_ROWS,
    ) -> None:
        self._first_rows = first_rows
        self._empty = sketch
        self._window = window
        self._mu = mu
        self._fresh = sketch.copy()
        self._snapshot: NDArray[np.float64] | None = None
        self._judged_rows = 0.0
        self._usual_error: float | None = None
        self.sketch: CostSketch | None = None
        self.explained_seconds = 0.0
        self._deviation: float | None = None
        self.speeds: dict[str, float] = {}

    def learn(self, tasks: Sequence[TaskCosts]) -> Learnt | None:
        """Take in what the tasks of a batch measured; say what is new."""
        batch = self._empty.copy()
        for task in tasks:
            batch.merge(task.sketch)
        if not batch.total_rows:
            return None
        self._learn_speeds(tasks)
        self._explain(batch, sum(task.squares for task in tasks))
        self._fresh.merge(batch)
        if self.sketch is None:
            return self._first()
        error = self._error(batch, self.sketch)
        usual = self._usual_error
        if batch.total_rows >= JUDGED_ROWS:
            if usual is not None and error > max(CHANGE, TIMES_USUAL * usual):
                return self._changed(batch, error)
            # Keys that share a cell make it cost something else in every batch: that is usual.
            self._usual_error = error if usual is None else MEMORY * usual + (1 - MEMORY) * error
        self.sketch.merge(batch)
        return self._stabilise()

    def moved(self, since: NDArray[np.float64] | None) -> bool:
        """Whether the costs are others than in an earlier snapshot, by more than ``mu``."""
        return since is None or (self.sketch is not None and self.sketch.distance(since) > self._mu)

    def gain_seconds(self, rows: float, tasks: int) -> float:
        """Return how much sooner a batch ends when its rows are placed by cost.

        Dealt in turn, each task gets rows / tasks of them at random. Of the differences between
        tasks that come of it, those that the keys explain can be avoided: how many deviations the
        greatest of ``tasks`` sums lies above the mean is told by Blom's formula.
        """
        if self.sketch is None or tasks < 2:
            return 0.0
        above = NormalDist().inv_cdf((tasks - 0.375) / (tasks + 0.25))
        return self.explained_seconds * sqrt(rows / tasks) * above

    def placers(self, rows: float, tasks: int) -> int:
        """Return among how many tasks the placing itself can be shared and still balance.

        Each placer balances its own rows to within about the dearest row; over several placers
        that begin at different tasks these differences add up like a random walk. They may be 5 %
        of what a task carries.
        """
        if self.sketch is None:
            return 1
        dearest = float(self.sketch.snapshot().max())
        carried = rows * self.sketch.mean / tasks
        return max(1, int((0.05 * carried / dearest) ** 2)) if dearest else 1

    def to_json(self) -> dict[str, Any]:
        """Write what is known as plain JSON values; what is still being gathered is left out."""
        return {
            "sketch": self.sketch.to_json() if self.sketch else None,
            "usual_error": self._usual_error,
            "explained_seconds": self.explained_seconds,
            "speeds": dict(self.speeds),
        }

    def restore(self, document: Mapping[str, Any]) -> None:
        """Go on with what ``to_json`` wrote, unless it is of sketches of another size or seed.

        A document that is none raises KeyError, TypeError or ValueError.
        """
        sketch, error = document["sketch"], document["usual_error"]
        explained = float(document["explained_seconds"])
        speeds = {str(name): float(speed) for name, speed in document["speeds"].items()}
        if not all(speed > 0 for speed in speeds.values()):
            raise ValueError(f"speeds are above 0, not {speeds}")
        known = None if sketch is None else CostSketch.from_json(sketch)
        if known is not None and not known.matches(self._empty):
            return
        usual = None if error is None else float(error)
        self.sketch, self._usual_error, self.speeds = known, usual, speeds
        self.explained_seconds, self._deviation = explained, explained**2 if known else None

    def _first(self) -> Learnt | None:
        if self._fresh.total_rows < self._first_rows:
            return None
        self.sketch = self._fresh.copy()
        rows, mean = int(self.sketch.total_rows), self.sketch.mean
        return Learnt(False, f"costs are known from {rows} rows, {mean * 1e3:.3g} ms a row")

    def _changed(self, batch: CostSketch, error: float) -> Learnt:
        assert self.sketch is not None
        before = self.sketch.mean
        # What the batch did not show stays, with little weight.
        weight = OLD_SHARE * batch.total_rows / self.sketch.total_rows
        self.sketch = self.sketch.scaled(min(1.0, weight))
        self.sketch.merge(batch)
        self._restart(batch)
        self._usual_error = None
        return Learnt(
            True,
            f"costs changed: {error:.0%} away from what was known "
            f"(mean {before * 1e3:.3g} ms, now {batch.mean * 1e3:.3g} ms a row)",
        )

    def _stabilise(self) -> Learnt | None:
        """Look, once in a window, whether the window agrees with its own past."""
        if self._fresh.total_rows < self._judged_rows + self._window:
            return None
        self._judged_rows = self._fresh.total_rows
        if self._snapshot is None or self._fresh.distance(self._snapshot) > self._mu:
            self._snapshot = self._fresh.snapshot()
            return None
        self.sketch = self._fresh
        self._restart(self._empty)
        return Learnt(
            False, f"costs of {int(self.sketch.total_rows)} rows agree and are taken over"
        )

    def _restart(self, first: CostSketch) -> None:
        self._fresh = first.copy()
        self._snapshot = None
        self._judged_rows = 0.0

    def _error(self, batch: CostSketch, known: CostSketch) -> float:
        """Return how far the batch's cells cost other than known, weighted by their rows."""
        seen = known.counts > 0
        expected = (batch.counts * known.snapshot())[seen]
        total = float(expected.sum())
        return float(np.abs(batch.costs[seen] - expected).sum()) / total if total else 0.0

    def _explain(self, batch: CostSketch, squares: float) -> None:
        """Estimate how much costs differ between keys, chance taken off (an ANOVA's omega)."""
        rows, mean = batch.total_rows, batch.mean
        counts, costs = batch.counts[0], batch.costs[0]
        used = counts > 0
        groups = int(used.sum())
        if rows <= groups:
            return
        between = float((counts[used] * (costs[used] / counts[used] - mean) ** 2).sum())
        within = max(0.0, squares - rows * mean * mean - between) / (rows - groups)
        variance = max(0.0, between - (groups - 1) * within) / rows
        known = self._deviation
        self._deviation = variance if known is None else MEMORY * known + (1 - MEMORY) * variance
        self.explained_seconds = sqrt(self._deviation)

    def _learn_speeds(self, tasks: Sequence[TaskCosts]) -> None:
        if self.sketch is None:
            return
        cells = np.where(self.sketch.counts > 0, self.sketch.snapshot(), self.sketch.mean)[0]
        expected: dict[str, float] = {}
        taken: dict[str, float] = {}
        for task in tasks:
            name = task.executor
            expected[name] = expected.get(name, 0.0) + float((task.sketch.counts[0] * cells).sum())
            taken[name] = taken.get(name, 0.0) + task.sketch.total_cost
        speeds = {
            name: expected[name] / taken[name] for name in taken if min(expected[name], taken[name])
        }
        for name, speed in speeds.items():
            known = self.speeds.get(name)
            self.speeds[name] = speed if known is None else MEMORY * known + (1 - MEMORY) * speed
        self.speeds = {name: self.speeds[name] for name in self.speeds if name in speeds}
