"""What a preference query asks of rows in Arrow columns: the best of some, and the final answer.

Nothing here imports Spark: it runs in Spark's Python workers. Kernels are loaded when they are
first needed: those who have no preference query don't wait for Numba.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.preference.preference import Preference

Numbers = NDArray[Any]
Positions = NDArray[np.int64]

_FEW, _MANY = 40, 4_096


@dataclass(frozen=True, slots=True)
class PreferenceQuery:
    """A skyline, or with ``delta`` the top-delta dominant rows: the best of the skyline.

    The partial result of both is a skyline. A row that is k-dominated is k-dominated by a row of
    the skyline too, so that top-delta dominant rows are found in the skyline of all rows.
    """

    preference: Preference
    delta: int | None = None

    def best(self, batch: pa.RecordBatch) -> Positions:
        """Return the numbers of the rows that no other row dominates, in ascending order."""
        return self.best_in_groups(batch, np.array([0, batch.num_rows]))

    def best_in_groups(
        self,
        batch: pa.RecordBatch,
        starts: NDArray[np.integer],
        order: NDArray[np.integer] | None = None,
    ) -> Positions:
        """Return the rows that no other row of their group dominates, in ascending order.

        Group ``i`` is rows ``starts[i]`` to ``starts[i + 1]``, of the batch or, where it is given,
        of ``order``, which holds row numbers; the result are then positions in ``order``.
        """
        if not batch.num_rows:
            return np.empty(0, np.int64)
        points = self.points(batch)
        if order is not None:
            points = points[order]
        return self._best_points(points, np.ascontiguousarray(starts, dtype=np.int64))

    def finish(self, batch: pa.RecordBatch) -> tuple[Positions, int | None]:
        """Turn the skyline of all rows into the answer: positions, and the k that was found.

        A skyline is its own answer, with no k.
        """
        if self.delta is None:
            return np.arange(batch.num_rows), None
        from penstock.preference.k_dominant import top_dominant

        return top_dominant(self.points(batch), self.delta, is_skyline=True)

    def points(self, batch: pa.RecordBatch) -> Numbers:
        """Return the numbers that are compared, a row each."""
        columns = [batch.column(name) for name in self.preference.columns]
        if self.preference.dominates is not None:
            from penstock.preference.own_dominance import to_numbers

            return to_numbers(columns, self.preference)
        from penstock.preference.points import to_points

        return to_points(columns, self.preference)

    def dominated(self, points: Numbers, by: Numbers) -> Positions:
        """Return how many of ``points`` each of the points ``by`` dominates."""
        if self.preference.dominates is not None:
            from penstock.preference import own_dominance

            return own_dominance.dominance_counts(points, by, self.preference.dominates)
        from penstock.preference.skyline import dominance_counts

        return dominance_counts(np.concatenate([by, points]), np.arange(len(by)))

    def make_ready(self, columns: pa.Schema) -> None:
        """Compile what rows with these columns need, once in a process.

        Otherwise the first rows would wait for it, and their measured cost would be that of
        compiling. A preference of the user's own is compiled when it is first called.
        """
        if self.preference.dominates is None:
            numbers = self.points(pa.RecordBatch.from_pylist([], schema=columns))
            _compile(numbers.dtype.char, numbers.shape[1], with_delta=self.delta is not None)

    def first_unfit(self, batch: pa.RecordBatch) -> int | None:
        """Return the number of the first row that can't be compared; None where all can."""
        from penstock.preference.points import PointError

        first, end = 0, batch.num_rows
        while first < end:
            middle = (first + end) // 2
            try:
                self.points(batch.slice(first, middle + 1 - first))
                first = middle + 1
            except PointError:
                end = middle
        return first if first < batch.num_rows else None

    def _best_points(self, points: Numbers, starts: Positions) -> Positions:
        if self.preference.dominates is not None:
            from penstock.preference import own_dominance

            return own_dominance.skylines(points, starts[:-1], self.preference.dominates)
        from penstock.preference.skyline import skylines

        return skylines(points, starts[:-1])

    def describe(self) -> str:
        """Say what is asked, in the user's words."""
        preference = self.preference
        said = "skyline" if self.delta is None else f"top {self.delta} dominant"
        ways = {"minimize": preference.minimize, "maximize": preference.maximize}
        parts = [f"{way} {', '.join(names)}" for way, names in ways.items() if names]
        if preference.dominates is not None:
            own = preference.dominates
            name = getattr(own, "__qualname__", type(own).__name__)
            parts = [f"{name} of {', '.join(preference.columns)}"]
        if preference.missing == "last":
            parts.append("missing numbers last")
        return f"{said}: {'; '.join(parts)}"


@lru_cache(maxsize=256)
def _compile(kind: str, columns: int, *, with_delta: bool) -> None:
    """Call the kernels on a few points and on many, of one kind of number."""
    from penstock.preference.skyline import skyline, skylines

    made_up = np.random.default_rng(0).integers(0, 1_000, (_MANY, columns)).astype(kind)
    best = made_up[skyline(made_up)]
    skylines(made_up, np.array([0, _FEW]))
    if with_delta:
        from penstock.preference.k_dominant import top_dominant

        top_dominant(best, _FEW, is_skyline=True)
