"""What calls of a user's function took, by key: gathered in a Spark Python worker.

Nothing here imports Spark: it runs where start-up time counts.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.engine.heavy_keys import HeavyKeys, key_text
from penstock.engine.key_loads import HEAVIEST
from penstock.placement.attribution import SLICED_ROWS, SlicedCosts
from penstock.placement.cost_model import TaskCosts
from penstock.placement.cost_sketch import CostSketch
from penstock.placement.hashing import key_hashes

_SECONDS = 1e-9


@dataclass(frozen=True, slots=True)
class CostKey:
    """The columns of a record batch that the cost of its rows depends on, and an empty sketch."""

    columns: tuple[str, ...]
    sketch: CostSketch

    def begin(self) -> CallCosts:
        """Return what a task gathers its costs in."""
        return CallCosts(self)


@dataclass(slots=True)
class CallCosts:
    """The costs of one operator's calls in one task."""

    key: CostKey
    _sketch: CostSketch = field(init=False)
    _squares: float = 0.0
    _cells: list[np.ndarray] = field(default_factory=list)
    _lengths: list[int] = field(default_factory=list)
    _seconds: list[float] = field(default_factory=list)
    heavy: HeavyKeys = field(default_factory=HeavyKeys)

    def __post_init__(self) -> None:
        self._sketch = self.key.sketch.copy()

    @property
    def is_full(self) -> bool:
        """Whether as many rows were measured in calls of several as are sent along."""
        return sum(self._lengths) >= SLICED_ROWS

    def add_calls(self, batch: pa.RecordBatch, nanos: list[int], busy_nanos: int) -> None:
        """Add calls for one row each.

        What the rows cost together beside the calls, such as making dicts of them, is shared
        equally.
        """
        if len(nanos) != batch.num_rows or not nanos:  # some rows could not even be read
            return
        own = np.array(nanos, np.float64)
        self.add_costs(batch, (own + max(0.0, busy_nanos - own.sum()) / len(own)) * _SECONDS)

    def add_costs(self, batch: pa.RecordBatch, seconds: NDArray[np.float64]) -> None:
        """Add what every row of a batch did cost."""
        hashes = self._hashes(batch)
        self._sketch.update(hashes, seconds)
        self._squares += float(seconds @ seconds)
        self._note_heavy(batch, hashes, seconds)

    def add_slices(self, batch: pa.RecordBatch, lengths: list[int], nanos: list[int]) -> None:
        """Add calls for several rows each, as far as they are not too many to be sent along."""
        if self.is_full or not lengths:
            return
        width = np.min_scalar_type(self._sketch.columns)  # two bytes will do for most
        hashes = self._hashes(batch)
        self._cells.append(self._sketch.cells(hashes).astype(width))
        self._note_heavy(batch, hashes, None)
        self._lengths += lengths
        self._seconds += [each * _SECONDS for each in nanos]

    def result(self) -> TaskCosts | SlicedCosts:
        """Return what goes to the driver."""
        executor = f"{socket.gethostname()}:{os.getppid()}"  # an executor's workers have one parent
        if self._lengths:
            cells = np.concatenate(self._cells, axis=1)
            return SlicedCosts(cells, np.array(self._lengths), np.array(self._seconds), executor)
        return TaskCosts(self._sketch, self._squares, executor)

    def _note_heavy(
        self, batch: pa.RecordBatch, hashes: np.ndarray, seconds: NDArray[np.float64] | None
    ) -> None:
        """Note the keys that took most; without the seconds of rows, those that had most rows."""
        numbers, first, key_of = np.unique(hashes, return_index=True, return_inverse=True)
        rows = np.bincount(key_of)
        took = np.zeros(len(rows)) if seconds is None else np.bincount(key_of, seconds)
        keys = batch.select(list(self.key.columns))
        for at in np.lexsort((rows, took))[-HEAVIEST:].tolist():
            text = partial(key_text, keys, int(first[at]))
            self.heavy.add(int(numbers[at]), float(took[at]), int(rows[at]), text)

    def _hashes(self, batch: pa.RecordBatch) -> np.ndarray:
        return key_hashes(*[batch.column(name) for name in self.key.columns])
