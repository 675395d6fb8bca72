"""The steps of a user's aggregate, each as the function that ``mapInArrow`` wants.

All take key columns first, and what they are about after them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.engine.aggregate_calls import (
    AggregateCalls,
    Key,
    ends_of,
    packed,
    packed_type,
    unpacked,
)
from penstock.engine.arrow_groups import RowGroups, grouped
from penstock.engine.key_loads import LoadsByKey
from penstock.engine.python_step import Tally
from penstock.engine.rows import Row, row_problem, to_columns
from penstock.engine.value_types import WrongValue

STATE = "_penstock_state"


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a task takes at a time, and how much it holds."""

    rows: int = 100_000
    row_bytes: int = 16 << 20
    groups: int = 50_000
    state_bytes: int = 64 << 20


@dataclass(slots=True)
class _Held:
    """The states of a task so far, by key, in the order in which the keys first came."""

    positions: dict[bytes, int] = field(default_factory=dict)
    keys: list[pa.RecordBatch] = field(default_factory=list)
    states: list[pa.RecordBatch] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    state_bytes: int = 0

    def of(self, key: bytes) -> pa.RecordBatch | None:
        position = self.positions.get(key)
        return None if position is None else self.states[position]

    def put(self, key: bytes, state: pa.RecordBatch) -> bool:
        """Keep a state; say whether its key is a new one."""
        size = state.nbytes
        position = self.positions.setdefault(key, len(self.states))
        is_new = position == len(self.states)
        if is_new:
            self.states.append(state)
            self.sizes.append(size)
            self.state_bytes += size
        else:
            self.state_bytes += size - self.sizes[position]
            self.states[position], self.sizes[position] = state, size
        return is_new


@dataclass(frozen=True, slots=True)
class MeasuredKeys:
    """Asks for the load of every key; the hash of a row's key is then its last column.

    Of the columns that rows are grouped by, the last ``columns`` are the user's own.
    """

    operator: str
    groups: int
    report: Callable[[str, dict[str, Tally]], None]
    columns: int = 1


@dataclass(frozen=True, slots=True)
class ComputeStep:
    """Turns rows into partials: keys and the state of their rows.

    ``inputs`` are the positions of the columns that ``compute`` gets. A key has one partial for a
    task, or several where all states together grow beyond a limit: they are then given out, and
    the task starts anew.
    """

    calls: AggregateCalls
    key_columns: int
    inputs: tuple[int, ...]
    limits: Limits = Limits()
    measured: MeasuredKeys | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Compute the states of all rows of a task."""
        if self.measured is None:
            yield from self._computed(batches, None)
            return
        loads, tally = LoadsByKey(self.measured.groups), Tally()
        try:
            yield from self._computed(_counted(batches, tally), loads)
        finally:
            tally.keys = loads.result()
            tally.busy_nanos = round(sum(tally.keys.groups.values()) * 1e9)
            tally.heavy = loads.heavy()
            operator = self.measured.operator
            self.measured.report(operator, {operator: tally})

    def _computed(
        self, batches: Iterable[pa.RecordBatch], loads: LoadsByKey | None
    ) -> Iterator[pa.RecordBatch]:
        held = _Held()
        for batch in gathered(batches, self.limits):
            self._add(held, batch, loads)
            if len(held.states) > self.limits.groups or held.state_bytes > self.limits.state_bytes:
                yield self._partials(held)
                held = _Held()
        if held.states:
            yield self._partials(held)

    def _add(self, held: _Held, batch: pa.RecordBatch, loads: LoadsByKey | None) -> None:
        keys = keys_of(batch, self.key_columns)
        groups = grouped(keys.columns, batch.num_rows)
        rows = _in_order(batch.select(list(self.inputs)), groups)
        new = []
        places: dict[int, int] = {}
        for key, (start, end) in zip(groups.keys, pairwise(groups.starts.tolist()), strict=True):
            first = groups.order[start]
            piece = rows.slice(start, end - start)
            begin = time.perf_counter_ns()
            state = self.calls.compute(held.of(key), piece, Key(keys, int(first)))
            if loads is not None:
                taken, key_hash = time.perf_counter_ns() - begin, batch.columns[-1][first].as_py()
                loads.add(key_hash, taken, end - start)
                places[key_hash] = int(first)
            if held.put(key, state):
                new.append(first)
        if loads is not None and self.measured is not None:
            own = range(self.key_columns - self.measured.columns, self.key_columns)
            loads.note_texts(keys.select(list(own)), places)
        if new:  # taken, not sliced: a slice would keep the whole batch in memory
            held.keys.append(keys.take(pa.array(new)))

    def _partials(self, held: _Held) -> pa.RecordBatch:
        return _with_states(concatenated(held.keys), held.states, self.calls.state)


@dataclass(frozen=True, slots=True)
class ConsolidateStep:
    """Makes one state of the list of states that each key comes with."""

    calls: AggregateCalls
    key_columns: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Consolidate the states of every key that has several; one alone stays as it is."""
        for batch in batches:
            keys, lists = keys_of(batch, self.key_columns), batch.column(self.key_columns)
            ends = ends_of(lists)
            counts = np.diff(ends)
            several = np.flatnonzero(counts > 1)
            if len(several) < batch.num_rows:  # a key without any state has no result
                alone = np.flatnonzero(counts == 1)
                states = lists.flatten().take(pa.array(ends[alone]))
                # All that one task gives out must be of one type, to the names inside lists.
                states = states.cast(packed_type(self.calls.state))
                yield _with_column(keys.take(pa.array(alone)), states)
            if len(several):
                yield self._consolidated(keys.take(pa.array(several)), lists.take(several))

    def _consolidated(self, keys: pa.RecordBatch, lists: pa.Array) -> pa.RecordBatch:
        states = unpacked(lists.flatten(), self.calls.state)
        bounds = pairwise(ends_of(lists).tolist())
        merged = [
            self.calls.consolidate(states[start:end], Key(keys, number))
            for number, (start, end) in enumerate(bounds)
        ]
        return _with_states(keys, merged, self.calls.state)


@dataclass(frozen=True, slots=True)
class FinishStep:
    """Turns states into results: none, one or several rows for each key."""

    calls: AggregateCalls
    key_columns: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Finish the state of every key."""
        for batch in batches:
            keys = keys_of(batch, self.key_columns)
            rows, row_parents = list[Row](), list[int]()
            tables, table_parents = list[pa.RecordBatch](), list[int]()
            states = unpacked(batch.column(self.key_columns), self.calls.state)
            for number, state in enumerate(states):
                found = self.calls.finish(state, Key(keys, number))
                if isinstance(found, pa.RecordBatch):
                    tables.append(found)
                    table_parents.extend([number] * found.num_rows)
                else:
                    rows.extend(found)
                    row_parents.extend([number] * len(found))
            if rows:
                yield beside(keys, row_parents, self._columns(rows, row_parents, keys))
            if tables:
                yield beside(keys, table_parents, concatenated(tables))

    def _columns(self, rows: list[Row], parents: list[int], keys: pa.RecordBatch) -> pa.RecordBatch:
        try:
            return to_columns(rows, self.calls.result)
        except Exception as error:
            for number, row in zip(parents, rows, strict=True):
                problem = row_problem(row, self.calls.result)
                if problem:
                    self.calls.stop("finish", Key(keys, number), WrongValue(problem))
            self.calls.stop("finish", Key(keys, 0), error)


def gathered(batches: Iterable[pa.RecordBatch], limits: Limits) -> Iterator[pa.RecordBatch]:
    """Put small batches together: a call for each key costs more than its few rows."""
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        waiting.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= limits.rows or size >= limits.row_bytes:
            yield concatenated(waiting)
            waiting, rows, size = [], 0, 0
    if waiting:
        yield concatenated(waiting)


def keys_of(batch: pa.RecordBatch, key_columns: int) -> pa.RecordBatch:
    """Return the key columns, which are the first."""
    return batch.select(list(range(key_columns)))


def _in_order(rows: pa.RecordBatch, groups: RowGroups) -> pa.RecordBatch:
    return rows if len(groups.keys) == 1 else rows.take(pa.array(groups.order))


def concatenated(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """Return record batches as one, of which there is at least one."""
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def _with_states(
    keys: pa.RecordBatch, states: list[pa.RecordBatch], schema: pa.Schema
) -> pa.RecordBatch:
    return _with_column(keys, packed(states, schema))


def _with_column(keys: pa.RecordBatch, states: pa.Array) -> pa.RecordBatch:
    names = [*keys.schema.names, STATE]
    return pa.RecordBatch.from_arrays([*keys.columns, states], names=names)


def beside(
    keys: pa.RecordBatch, parents: Sequence[int] | NDArray[np.int64], results: pa.RecordBatch
) -> pa.RecordBatch:
    """Put the key of each result in front of it."""
    taken = keys.take(pa.array(parents, pa.int64()))
    schema = pa.schema(chain(taken.schema, results.schema))
    return pa.RecordBatch.from_arrays([*taken.columns, *results.columns], schema=schema)


def _counted(batches: Iterable[pa.RecordBatch], tally: Tally) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        tally.rows_in += batch.num_rows
        yield batch
