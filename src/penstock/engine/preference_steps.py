"""The steps of a preference query, each as the function that ``mapInArrow`` wants.

All take key columns first, and what they are about after them. A state is the rows that are still
in the running, as one Arrow record batch in bytes: reading it runs no code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.engine.aggregate_calls import ends_of
from penstock.engine.aggregate_steps import STATE, Limits, beside, concatenated, gathered, keys_of
from penstock.engine.arrow_groups import grouped
from penstock.engine.drawn_windows import drawn_of
from penstock.engine.pane_tally import PanePart
from penstock.engine.python_step import FUNCTION_ERRORS, ROW_LIMIT_BYTES, Tally, stop_query
from penstock.engine.rows import row_text
from penstock.errors import NOT_KNOWN, PenstockError
from penstock.preference.drawn_points import newest
from penstock.preference.query import PreferenceQuery

PART = "_penstock_part"
POINTS = "_penstock_points"
K = "_penstock_k"
_RESERVED = "_penstock_"


@dataclass(frozen=True, slots=True)
class MeasuredStage:
    """Asks a step to tell what it did, under the name of an operator."""

    operator: str
    step: str
    report: Callable[[str, dict[str, Tally]], None]

    def __call__(self, tally: Tally) -> None:
        """Report what a task did."""
        self.report(f"{self.operator} {self.step}", {self.operator: tally})


@dataclass(frozen=True, slots=True)
class Skylines:
    """The best rows of several groups; group ``i`` is rows ``starts[i]`` to ``starts[i + 1]``."""

    rows: pa.RecordBatch
    starts: NDArray[np.int64]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many rows each group has."""
        return np.diff(self.starts)


@dataclass(frozen=True, slots=True)
class PaneStep:
    """Turns rows into partials: for each pane and key of a task, the rows that may be the best.

    A key has one partial for a task, or several where all of them together grow beyond a limit:
    they are then given out, and the task starts anew. ``columns`` are those of a row, which come
    after the keys; the first key is the pane. ``key_names`` has the user's names of key columns,
    for errors.
    """

    query: PreferenceQuery
    columns: pa.Schema
    key_columns: int
    operator: str
    key_names: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    measured: MeasuredStage | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Find the best rows of every pane and key of a task."""
        tally, seen = Tally(), _PartsSeen(_task_number())
        try:
            yield from self._partials(batches, tally, seen)
        finally:
            tally.panes = seen.result()
            if self.measured is not None:
                self.measured(tally)

    def _partials(
        self, batches: Iterable[pa.RecordBatch], tally: Tally, seen: _PartsSeen
    ) -> Iterator[pa.RecordBatch]:
        held: Skylines | None = None
        self.query.make_ready(self.columns)
        for chunk in gathered(batches, self.limits):
            with tally.timed():
                tally.rows_in += chunk.num_rows
                seen.add_rows(chunk.column(0))
                held = self._best(chunk if held is None else concatenated([held.rows, chunk]))
                full = held.rows.nbytes > self.limits.state_bytes
                out = self._given_out(held, tally, seen) if full else None
            if out is not None:
                yield out
                held = None
        if held is not None and held.rows.num_rows:
            with tally.timed():
                out = self._given_out(held, tally, seen)
            yield out

    def _best(self, batch: pa.RecordBatch) -> Skylines:
        groups = grouped(keys_of(batch, self.key_columns).columns, batch.num_rows)
        try:
            positions = self.query.best_in_groups(batch, groups.starts, groups.order)
        except FUNCTION_ERRORS as error:
            self._stop(batch, error)
        starts = np.searchsorted(positions, groups.starts)
        return Skylines(batch.take(pa.array(groups.order[positions])), starts)

    def _stop(self, batch: pa.RecordBatch, error: BaseException) -> NoReturn:
        """Stop the query with an error that shows a row which can't be compared."""
        number = self.query.first_unfit(batch)
        own = batch.rename_columns([self.key_names.get(n, n) for n in batch.schema.names])
        shown = own.select([n for n in own.schema.names if not n.startswith(_RESERVED)])
        row = NOT_KNOWN if number is None else row_text(shown, number, ROW_LIMIT_BYTES)
        _refuse(self.operator, row, error)

    def _given_out(self, held: Skylines, tally: Tally, seen: _PartsSeen) -> pa.RecordBatch:
        tally.rows_out += held.rows.num_rows
        keys = keys_of(held.rows, self.key_columns)
        seen.add_points(keys.column(0))
        # Casts a timestamp, which on its way through Spark takes on the session's zone.
        rows = pa.RecordBatch.from_arrays(
            held.rows.columns[self.key_columns :], schema=self.columns
        )
        firsts = keys.take(pa.array(held.starts[:-1]))
        return _with_states(firsts, Skylines(rows, held.starts), seen.part)


@dataclass(frozen=True, slots=True)
class WindowStep:
    """Makes one skyline of the list of states that each key comes with.

    It comes out as a state, or with ``finishes`` as the rows of the answer, with the k that was
    found as last column where ``with_k``.
    """

    query: PreferenceQuery
    columns: pa.Schema
    key_columns: int
    finishes: bool = False
    with_k: bool = False
    measured: MeasuredStage | None = None
    operator: str = "skyline"

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Merge the states of every key that has several; one alone stays as it is."""
        tally = Tally()
        try:
            self.query.make_ready(self.columns)
            for batch in batches:
                with tally.timed():
                    out = list(self._merged(batch, tally))
                yield from out
        finally:
            if self.measured is not None:
                self.measured(tally)

    def _merged(self, batch: pa.RecordBatch, tally: Tally) -> Iterator[pa.RecordBatch]:
        keys, lists = keys_of(batch, self.key_columns), batch.column(self.key_columns)
        counts = np.diff(ends_of(lists))
        for chosen, is_merged in ((counts == 1, True), (counts > 1, False)):
            if chosen.any():
                numbers = pa.array(np.flatnonzero(chosen))
                found = self._together(lists.take(numbers))
                tally.rows_in += found.rows.num_rows
                if not is_merged:
                    found = self._best(found)
                tally.rows_out += found.rows.num_rows
                yield from self._given_out(keys.take(numbers), found, tally)

    def _together(self, lists: pa.Array) -> Skylines:
        states = [state_of(each, self.columns) for each in lists.flatten()]
        rows = np.concatenate([[0], np.cumsum([state.num_rows for state in states])])
        return Skylines(concatenated(states), rows[ends_of(lists)])

    def _best(self, found: Skylines) -> Skylines:
        try:
            positions = self.query.best_in_groups(found.rows, found.starts)
        except FUNCTION_ERRORS as error:
            _refuse(self.operator, NOT_KNOWN, error)
        starts = np.searchsorted(positions, found.starts)
        return Skylines(found.rows.take(pa.array(positions)), starts)

    def _given_out(
        self, keys: pa.RecordBatch, found: Skylines, tally: Tally
    ) -> Iterator[pa.RecordBatch]:
        if not self.finishes:
            yield _with_states(keys, found, 0)
            return
        positions, ks = self._answers(found)
        parents = np.searchsorted(found.starts, positions, side="right") - 1
        rows = found.rows if len(positions) == found.rows.num_rows else found.rows.take(positions)
        starts = np.searchsorted(positions, found.starts)
        points = drawn_of(keys, rows, starts, self.query.preference)
        tally.drawn = newest((*tally.drawn, *points))
        if self.with_k:
            column = pa.array(np.asarray(ks, np.int32)[parents])
            rows = rows.append_column(K, column)
        yield beside(keys, parents, rows)

    def _answers(self, found: Skylines) -> tuple[NDArray[np.int64], list[int]]:
        if self.query.delta is None:
            return np.arange(found.rows.num_rows), []
        positions, ks = [], []
        for start, end in pairwise(found.starts.tolist()):
            best, k = self.query.finish(found.rows.slice(start, end - start))
            positions.append(best + start)
            ks.append(k or 0)
        return np.concatenate(positions), ks


def _refuse(operator: str, row: str, error: BaseException) -> NoReturn:
    """Stop the query; an error of Penstock's has its remedy in it, and no place in user code."""
    if isinstance(error, PenstockError):
        stop_query(operator, row, error.with_traceback(None), remedy="")
    stop_query(operator, row, error, "To keep going, filter such rows out before it.")


class _PartsSeen:
    """What a task saw of each pane."""

    def __init__(self, part: int) -> None:
        self.part = part
        self._rows: dict[int, int] = {}
        self._points: dict[int, int] = {}

    def add_rows(self, panes: pa.Array) -> None:
        _count(panes, self._rows)

    def add_points(self, panes: pa.Array) -> None:
        _count(panes, self._points)

    def result(self) -> tuple[PanePart, ...]:
        return tuple(
            PanePart(pane, self.part, rows, self._points.get(pane, 0))
            for pane, rows in sorted(self._rows.items())
        )


def _count(panes: pa.Array, into: dict[int, int]) -> None:
    for each in pc.value_counts(panes).to_pylist():
        into[each["values"]] = into.get(each["values"], 0) + each["counts"]


def _task_number() -> int:
    from pyspark import TaskContext  # Spark's workers have it loaded

    context = TaskContext.get()
    return 0 if context is None else context.partitionId()


def _with_states(keys: pa.RecordBatch, found: Skylines, part: int) -> pa.RecordBatch:
    """Put the state of each key beside it, with its part and how many rows it holds."""
    bounds = pairwise(found.starts.tolist())
    states = [
        found.rows.slice(start, end - start).serialize().to_pybytes() for start, end in bounds
    ]
    columns = {
        STATE: pa.array(states, pa.binary()),
        PART: pa.array(np.full(len(states), part, np.int32)),
        POINTS: pa.array(found.sizes.astype(np.int32)),
    }
    names = [*keys.schema.names, *columns]
    return pa.RecordBatch.from_arrays([*keys.columns, *columns.values()], names=names)


def state_of(state: pa.BinaryScalar, schema: pa.Schema) -> pa.RecordBatch:
    """Return the rows of a state."""
    return pa.ipc.read_record_batch(state.as_buffer(), schema)
