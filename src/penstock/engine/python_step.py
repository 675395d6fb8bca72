"""What runs in a Spark Python worker: a chain of the user's functions, measured, errors caught.

Neighbouring Python operators run in one step, so their rows cross from the JVM to Python once.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn

import pyarrow as pa

from penstock.engine.call_costs import CallCosts, CostKey
from penstock.engine.heavy_keys import HeavyKey
from penstock.engine.key_loads import KeyLoads
from penstock.engine.keyed_tally import KeyedTally
from penstock.engine.letters import failure
from penstock.engine.lossless import conformed
from penstock.engine.pane_tally import PanePart
from penstock.engine.rows import (
    Row,
    UnreadableValue,
    readable_rows,
    row_problem,
    row_text,
    row_texts,
    to_columns,
    to_rows,
)
from penstock.engine.value_types import WrongValue
from penstock.errors import NOT_KNOWN
from penstock.placement.attribution import SLICE_ROWS, SlicedCosts
from penstock.placement.cost_model import TaskCosts
from penstock.preference.drawn_points import DrawnPoints
from penstock.topology.operators import OnError

FAILED = "_penstock_failed"
LETTER_FIELDS = ("operator", "error", "message", "row", "traceback")
FAILURE_TYPE = pa.struct([(name, pa.string()) for name in LETTER_FIELDS])
ERROR_MARK = "PENSTOCK-ROW-ERROR "
ROW_LIMIT_BYTES = 1_024
# A function that calls exit() fails its row like any other; it must not take the worker with it.
# KeyboardInterrupt is left alone: it is a signal to the process, not an answer of the function.
FUNCTION_ERRORS = (Exception, SystemExit)


class RowFailed(Exception):
    """Stops the query: its text carries the failure to the driver as JSON on one line."""


@dataclass(slots=True)
class Tally:
    """What one operator did in one task.

    ``cpu_nanos`` is for how long it had a core, where that was measured. ``failures`` count rows by
    the type of error, ``examples`` are the newest message of each type. ``costs`` are by cost key,
    and ``keys`` by the keys of a keyed operator, where it has one; ``heavy`` are the heaviest of
    either. ``panes`` are of a preference query's panes, and ``drawn`` some points of its newest
    window. ``task`` is the task's number, which the driver notes.
    """

    rows_in: int = 0
    rows_out: int = 0
    busy_nanos: int = 0
    cpu_nanos: int | None = None
    failures: dict[str, int] = field(default_factory=dict)
    examples: dict[str, str] = field(default_factory=dict)
    costs: TaskCosts | SlicedCosts | None = None
    keys: KeyLoads | None = None
    keyed: KeyedTally | None = None
    panes: tuple[PanePart, ...] = ()
    drawn: tuple[DrawnPoints, ...] = ()
    heavy: tuple[HeavyKey, ...] = ()
    task: int = 0

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Add the time of what is done inside."""
        start, cpu = time.perf_counter_ns(), time.thread_time_ns()
        try:
            yield
        finally:
            self.busy_nanos += time.perf_counter_ns() - start
            self.cpu_nanos = (self.cpu_nanos or 0) + time.thread_time_ns() - cpu

    def count_failures(self, failures: Iterable[Mapping[str, str]]) -> None:
        """Take in dead letters."""
        for told in failures:
            error = told["error"]
            self.failures[error] = self.failures.get(error, 0) + 1
            self.examples[error] = told["message"]


Failures = list[dict[str, str]]


@dataclass(frozen=True, slots=True)
class RowsCall:
    """Calls the user's function once for every row."""

    operator: str
    function: Callable[[dict[str, Any]], Any]
    schema: pa.Schema
    on_error: OnError
    cost_key: CostKey | None = None

    def __call__(
        self, batch: pa.RecordBatch, failures: Failures, costs: CallCosts | None = None
    ) -> pa.RecordBatch:
        """Return the rows that came out; add those that failed to ``failures``.

        Where ``costs`` is given, every call is timed.
        """
        if costs is None:
            return self._rows(batch, failures, self.function)
        nanos: list[int] = []
        start = time.perf_counter_ns()
        out = self._rows(batch, failures, _timed(self.function, nanos))
        costs.add_calls(batch, nanos, time.perf_counter_ns() - start)
        return out

    def _rows(
        self, batch: pa.RecordBatch, failures: Failures, function: Callable[[dict[str, Any]], Any]
    ) -> pa.RecordBatch:
        results: list[Any] = []
        parents: list[int] = []
        keep, remember = results.append, parents.append
        for number, row in self._numbered_rows(batch, failures):
            try:
                result = function(row)
            except FUNCTION_ERRORS as error:
                # The function may have changed the dict; the letter holds the row as it came.
                self._fail(batch, number, error, failures)
                continue
            if type(result) is dict:
                keep(result)
                remember(number)
            elif result is not None:
                self._keep_several(batch, number, result, results, parents, failures)
        try:
            return to_columns(results, self.schema)
        except Exception:
            return self._without_bad_rows(batch, results, parents, failures)

    def _numbered_rows(
        self, batch: pa.RecordBatch, failures: Failures
    ) -> Iterable[tuple[int, Row]]:
        try:
            return enumerate(to_rows(batch))
        except Exception:
            readable = []
            for number, row in enumerate(readable_rows(batch)):
                if isinstance(row, UnreadableValue):
                    self._fail(batch, number, row, failures)
                else:
                    readable.append((number, row))
            return readable

    def _keep_several(
        self,
        batch: pa.RecordBatch,
        number: int,
        result: Any,
        results: list[Any],
        parents: list[int],
        failures: Failures,
    ) -> None:
        several = result if isinstance(result, list | tuple) else [result]
        if not all(isinstance(each, dict) for each in several):
            found = type(result).__name__
            problem = WrongValue(f"returned a {found}; return a dict, a list of dicts, or None")
            self._fail(batch, number, problem, failures)
            return
        results.extend(several)
        parents.extend([number] * len(several))

    def _without_bad_rows(
        self,
        batch: pa.RecordBatch,
        results: list[Any],
        parents: list[int],
        failures: Failures,
    ) -> pa.RecordBatch:
        problems: dict[int, str] = {}
        for number, row in zip(parents, results, strict=True):
            if number not in problems and (problem := row_problem(row, self.schema)):
                problems[number] = problem
        for number, problem in problems.items():
            self._fail(batch, number, WrongValue(problem), failures)
        # A row of which one result is bad is bad as a whole: it counts once, in one place.
        good = [r for n, r in zip(parents, results, strict=True) if n not in problems]
        return to_columns(good, self.schema)

    def _fail(
        self, batch: pa.RecordBatch, number: int, error: BaseException, failures: Failures
    ) -> None:
        if self.on_error == "fail":
            stop_query(self.operator, row_text(batch, number, ROW_LIMIT_BYTES), error)
        failures.append(failure(self.operator, row_text(batch, number), error))


@dataclass(frozen=True, slots=True)
class BatchesCall:
    """Calls the user's function once for every record batch that has rows."""

    operator: str
    function: Callable[[pa.RecordBatch], Any]
    schema: pa.Schema
    on_error: OnError
    cost_key: CostKey | None = None

    def __call__(
        self, batch: pa.RecordBatch, failures: Failures, costs: CallCosts | None = None
    ) -> pa.RecordBatch:
        """Return what the function returned; a batch it fails on fails whole.

        Where ``costs`` is given, it is called with a few rows at a time, until enough was measured.
        """
        if costs is None or costs.is_full or not batch.num_rows:
            return self._batch(batch, failures)
        outs, lengths, nanos = [], [], []
        for first in range(0, batch.num_rows, SLICE_ROWS):
            part = batch.slice(first, SLICE_ROWS)
            start = time.perf_counter_ns()
            outs.append(self._batch(part, failures))
            nanos.append(time.perf_counter_ns() - start)
            lengths.append(part.num_rows)
        costs.add_slices(batch, lengths, nanos)
        return pa.concat_batches(outs)

    def _batch(self, batch: pa.RecordBatch, failures: Failures) -> pa.RecordBatch:
        if not batch.num_rows:
            return pa.RecordBatch.from_pylist([], schema=self.schema)
        try:
            return conformed(self.function(batch), self.schema)
        except FUNCTION_ERRORS as error:
            if self.on_error == "fail":
                stop_query(self.operator, row_text(batch, 0, ROW_LIMIT_BYTES), error)
            told = failure(self.operator, "", error)
        failures.extend({**told, "row": row} for row in row_texts(batch))
        return pa.RecordBatch.from_pylist([], schema=self.schema)


Call = RowsCall | BatchesCall


@dataclass(frozen=True, slots=True)
class PythonStep:
    """A chain of calls, as the function that ``mapInArrow`` wants.

    ``report`` takes what the task did: the step's name, then a tally for every operator. With
    ``sets_aside`` the rows that failed come out too, marked in a column of their own.
    """

    name: str
    calls: tuple[Call, ...]
    sets_aside: bool
    report: Callable[[str, dict[str, Tally]], None]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run every record batch of a task through the chain."""
        tallies = {call.operator: Tally() for call in self.calls}
        costs = {call.operator: call.cost_key.begin() for call in self.calls if call.cost_key}
        try:
            for batch in batches:
                failures: Failures = []
                out = batch
                for call in self.calls:
                    name = call.operator
                    out = _measured(call, out, failures, tallies[name], costs.get(name))
                if self.sets_aside:
                    yield from with_failures(out, failures)
                else:
                    yield out
        finally:
            for name, gathered in costs.items():
                tallies[name].costs = gathered.result()
                tallies[name].heavy = gathered.heavy.result()
            self.report(self.name, tallies)


def _timed(
    function: Callable[[dict[str, Any]], Any], nanos: list[int]
) -> Callable[[dict[str, Any]], Any]:
    """Return the function with a clock around it, which notes what every call took."""
    clock, note = time.perf_counter_ns, nanos.append

    def timed(row: dict[str, Any]) -> Any:
        start = clock()
        try:
            return function(row)
        finally:
            note(clock() - start)

    return timed


def _measured(
    call: Call,
    batch: pa.RecordBatch,
    failures: Failures,
    tally: Tally,
    costs: CallCosts | None,
) -> pa.RecordBatch:
    """Run one call: a few looks at the clock a batch, not two a row unless costs are learnt."""
    before = len(failures)
    try:
        with tally.timed():
            out = call(batch, failures, costs)
    except RowFailed:
        raise
    except Exception as error:  # not of the function, but its operator is where to look
        stop_query(call.operator, NOT_KNOWN, error)
    tally.rows_in += batch.num_rows
    tally.rows_out += out.num_rows
    tally.count_failures(failures[before:])
    return out


def with_failures(batch: pa.RecordBatch, failures: Failures) -> Iterator[pa.RecordBatch]:
    """Yield the rows that came out and those that failed, told apart by a column of its own."""
    fields = [pa.field(f.name, f.type) for f in batch.schema]
    schema = pa.schema([*fields, pa.field(FAILED, FAILURE_TYPE)])
    if batch.num_rows:
        marks = pa.nulls(batch.num_rows, FAILURE_TYPE)
        yield pa.RecordBatch.from_arrays([*batch.columns, marks], schema=schema)
    if failures:
        empty = [pa.nulls(len(failures), f.type) for f in batch.schema]
        marks = pa.array(failures, FAILURE_TYPE)
        yield pa.RecordBatch.from_arrays([*empty, marks], schema=schema)


def stop_query(
    operator: str, row: str, error: BaseException, remedy: str | None = None
) -> NoReturn:
    """Fail the task with what went wrong on a row, for the driver to read.

    ``remedy`` is for operators that have no ``on_error``.
    """
    told: dict[str, str] = failure(operator, row, error)
    if remedy is not None:
        told["remedy"] = remedy
    raise RowFailed(ERROR_MARK + json.dumps(told)) from None
