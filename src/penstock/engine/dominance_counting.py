"""Counts how many rows each row of a skyline dominates, of all rows and not just of those left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.engine.aggregate_steps import STATE, Limits, beside, concatenated, gathered, keys_of
from penstock.engine.arrow_groups import grouped, row_keys
from penstock.engine.preference_steps import state_of
from penstock.errors import PenstockError
from penstock.preference.query import PreferenceQuery

COUNTS = "_penstock_counts"
FIRST = "_penstock_first"

Counts = NDArray[np.int64]


@dataclass(slots=True)
class _Counted:
    """A skyline and how many of the rows so far each of its points dominates."""

    key: pa.RecordBatch
    state: pa.Scalar
    is_first: bool
    points: NDArray[np.float64] | NDArray[np.int64]
    counts: Counts


@dataclass(frozen=True, slots=True)
class CountStep:
    """Counts the rows of a task that the skylines of their keys dominate.

    After the key columns come whether a skyline is the first of its copies, the skyline as a state,
    and the columns that are compared. Rows have no state, and come after all states.

    Counts are in the order of the sorted points, as bytes: copies of a skyline may have its rows in
    different orders, where one was computed again.
    """

    query: PreferenceQuery
    columns: pa.Schema
    key_columns: int
    limits: Limits

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Give out each skyline with its counts; only the first of several copies with its rows."""
        held: dict[bytes, _Counted] = {}
        for chunk in gathered(batches, self.limits):
            states = chunk.column(STATE)
            number = len(states) - states.null_count
            self._take(chunk.slice(0, number), held)
            self._count(chunk.slice(number), held)
        if held:
            yield concatenated([self._given_out(each) for each in held.values()])

    def _take(self, chunk: pa.RecordBatch, held: dict[bytes, _Counted]) -> None:
        if not chunk.num_rows:
            return
        keys = keys_of(chunk, self.key_columns)
        names = row_keys(keys.columns).to_pylist()
        firsts, states = chunk.column(FIRST).to_pylist(), chunk.column(STATE)
        for number, (name, is_first) in enumerate(zip(names, firsts, strict=True)):
            points = self.query.points(state_of(states[number], self.columns))
            points = np.ascontiguousarray(points[sorted_order(points)])
            counts = np.zeros(len(points), np.int64)
            key = keys.slice(number, 1)
            held[name] = _Counted(key, states[number], is_first, points, counts)

    def _count(self, chunk: pa.RecordBatch, held: dict[bytes, _Counted]) -> None:
        if not chunk.num_rows:
            return
        groups = grouped(keys_of(chunk, self.key_columns).columns, chunk.num_rows)
        points = self.query.points(chunk)[groups.order]
        for number, name in enumerate(groups.keys):
            if name not in held:
                raise PenstockError(
                    "rows came at the second reading that were not there at the first. "
                    "Write such a DataFrame to files, or cache it, before rows are counted."
                )
            rows = points[groups.starts[number] : groups.starts[number + 1]]
            held[name].counts += self.query.dominated(rows, held[name].points)

    def _given_out(self, each: _Counted) -> pa.RecordBatch:
        state = each.state.as_py() if each.is_first else None
        columns = [pa.array([state], pa.binary()), pa.array([each.counts.tobytes()], pa.binary())]
        names = [*each.key.schema.names, STATE, COUNTS]
        return pa.RecordBatch.from_arrays([*each.key.columns, *columns], names=names)


@dataclass(frozen=True, slots=True)
class SumStep:
    """Adds up the counts of a skyline's copies and gives out its rows, each with its count."""

    query: PreferenceQuery
    columns: pa.Schema
    key_columns: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Give out the rows of every skyline of a task."""
        arrived = [batch for batch in batches if batch.num_rows]
        if not arrived:
            return
        batch = concatenated(arrived)
        keys = keys_of(batch, self.key_columns)
        groups = grouped(keys.columns, batch.num_rows)
        for start, end in zip(groups.starts[:-1], groups.starts[1:], strict=True):
            numbers = pa.array(groups.order[start:end])
            yield self._summed(keys.take(numbers[:1]), batch.take(numbers))

    def _summed(self, key: pa.RecordBatch, copies: pa.RecordBatch) -> pa.RecordBatch:
        parts = [np.frombuffer(each.as_buffer(), np.int64) for each in copies.column(COUNTS)]
        rows = state_of(copies.column(STATE).drop_null()[0], self.columns)
        counts = np.empty(rows.num_rows, np.int64)
        counts[sorted_order(self.query.points(rows))] = np.sum(parts, axis=0)
        counted = rows.append_column(COUNTS, pa.array(counts))
        return beside(key, np.zeros(len(counts), np.int64), counted)


def sorted_order(points: NDArray[np.float64] | NDArray[np.int64]) -> Counts:
    """Return an order of points that depends on nothing but their numbers."""
    return np.lexsort(points.T)
