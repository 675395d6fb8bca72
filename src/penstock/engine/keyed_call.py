"""Calls the user's function of ``process`` for keys, one after the other, and checks what it made.

Nothing here imports Spark: it runs in Spark's Python workers, where start-up time counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pyarrow as pa

from penstock.engine.handed_on import GivenRows, MadeRows
from penstock.engine.letters import as_json, failure
from penstock.engine.python_step import FUNCTION_ERRORS, ROW_LIMIT_BYTES, Failures, stop_query
from penstock.engine.rows import (
    Row,
    UnreadableValue,
    readable_rows,
    row_problem,
    row_text,
    to_columns,
    to_rows,
)
from penstock.engine.state_pieces import HAS_VALUE, IS_GONE, TIMER, PieceShape
from penstock.engine.value_types import WrongValue
from penstock.key_state import KeyState, micros_of, moment_of
from penstock.topology.operators import OnError


@dataclass(slots=True)
class KeysAtHand:
    """Keys of some groups, with their rows in the order in which they happened, and their states.

    ``source`` are all rows, from Arrow or from an operator that runs before this one. ``rows[i]``
    are the numbers of those of the key ``i``, none where only a timer brought it here.
    ``places[i]`` is its row in ``found``, None for a key without a state.
    """

    source: pa.RecordBatch | MadeRows
    groups: list[int] = field(default_factory=list)
    keys: list[bytes] = field(default_factory=list)
    hashes: list[int] = field(default_factory=list)
    rows: list[Sequence[int]] = field(default_factory=list)
    found: pa.RecordBatch | None = None
    places: list[int | None] = field(default_factory=list)

    @property
    def batch(self) -> pa.RecordBatch:
        """All rows in Arrow."""
        return self.source.batch if isinstance(self.source, MadeRows) else self.source

    def key_columns(self, names: Sequence[str]) -> pa.RecordBatch:
        """Return the columns of the keys in Arrow, for all rows."""
        if isinstance(self.source, MadeRows):
            return self.source.keys(names)
        return self.source.select(names)


@dataclass(frozen=True, slots=True)
class Change:
    """What became of a key: its number, its state (None for none) and its timer."""

    number: int
    value: dict[str, Any] | None
    timer_micros: int | None

    @property
    def is_gone(self) -> bool:
        """Whether there is nothing to keep."""
        return self.value is None and self.timer_micros is None


@dataclass(slots=True)
class KeyedResult:
    """The rows that came out, and the keys whose state changed; ``nanos`` are by group.

    ``key_nanos`` are those of the single keys, in their order.
    """

    made: MadeRows
    changes: list[Change]
    values: pa.RecordBatch
    nanos: dict[int, int]
    key_nanos: list[int]


@dataclass(frozen=True, slots=True)
class KeyedCall:
    """Calls the user's function once for every key, with its rows in the order of ``time``."""

    operator: str
    function: Callable[[dict[str, Any], list[Row], KeyState], Any]
    shape: PieceShape
    schema: pa.Schema
    on_error: OnError
    has_time: bool
    time: str | None = None

    def __call__(
        self, hand: KeysAtHand, watermark_micros: int | None, failures: Failures
    ) -> KeyedResult:
        """Call it for all keys at hand; a key it fails on keeps its state and gives nothing."""
        return _Calls(self, hand, watermark_micros, failures).run()


class _Calls:
    def __init__(
        self, call: KeyedCall, hand: KeysAtHand, micros: int | None, failures: Failures
    ) -> None:
        self._call = call
        self._hand = hand
        self._failures = failures
        self._columns = tuple(call.shape.state.names)
        self._micros = micros
        self._watermark = None if micros is None else moment_of(micros)
        found = hand.found
        assert found is not None
        self._values = to_rows(call.shape.state_of(found))
        self._keys = to_rows(call.shape.keys_of(found))
        self._timers = found.column(TIMER).to_pylist()
        self._is_gone = found.column(IS_GONE).to_pylist()
        self._has_value = found.column(HAS_VALUE).to_pylist()
        self._results: list[Row] = []
        self._places: dict[int, range] = {}
        self._changes: dict[int, Change] = {}
        self._unread: set[int] = set()
        self._arrived: GivenRows | None = None

    def run(self) -> KeyedResult:
        rows = self._readable()
        nanos = dict.fromkeys(self._hand.groups, 0)
        key_nanos: list[int] = []
        started = time.perf_counter_ns()
        for number, group in enumerate(self._hand.groups):
            self._one(number, self._own(rows, self._hand.rows[number]))
            now = time.perf_counter_ns()
            key_nanos.append(now - started)
            nanos[group] += now - started
            started = now
        try:
            made, values = self._checked()
        except WrongValue:
            self._fail_wrong()
            made, values = self._checked()
        changes = list(self._changes.values())
        return KeyedResult(made, changes, values, nanos, key_nanos)

    def _own(self, rows: list[Row | None], numbers: Sequence[int]) -> list[Row]:
        if isinstance(numbers, range) and not self._unread:
            return cast(list[Row], rows[numbers.start : numbers.stop])
        return [row for at in numbers if (row := rows[at]) is not None]

    def _readable(self) -> list[Row | None]:
        source = self._hand.source
        try:
            given = source.given if isinstance(source, MadeRows) else GivenRows.of(source)
            self._arrived = given
            return [*given.rows]
        except Exception:
            batch = self._hand.batch
            readable: list[Row | None] = []
            for at, row in enumerate(readable_rows(batch)):
                if isinstance(row, UnreadableValue):
                    self._set_aside([at], {}, row)
                    self._unread.add(at)
                    readable.append(None)
                else:
                    readable.append(row)
            return readable

    def _one(self, number: int, rows: list[Row]) -> None:
        value, timer = self._stored(number)
        is_due = timer is not None and self._micros is not None and timer <= self._micros
        if not rows and not is_due:
            return
        key = self._key(number, rows)
        moment = None if timer is None else moment_of(timer)
        has_time = self._call.has_time
        state = KeyState(value, moment, self._watermark, self._columns, has_time=has_time)
        results: list[Row] = []
        try:
            if rows:
                _keep(results, self._call.function(dict(key), rows, state))
            if is_due and self._is_still_due(state):
                state.timed_out = True
                _keep(results, self._call.function(dict(key), [], state))
                if self._is_still_due(state):
                    state.clear_timer()
        except FUNCTION_ERRORS as error:
            self._fail(number, key, error)
            return
        self._keep_results(number, results)
        if state.is_changed:
            micros = None if state.timer is None else micros_of(state.timer)
            self._change(number, state.kept, micros)

    def _keep_results(self, number: int, results: list[Row]) -> None:
        if results:
            start = len(self._results)
            self._results += results
            self._places[number] = range(start, len(self._results))

    def _is_still_due(self, state: KeyState) -> bool:
        mark = self._watermark
        return state.timer is not None and mark is not None and state.timer <= mark

    def _stored(self, number: int) -> tuple[dict[str, Any] | None, int | None]:
        place = self._hand.places[number]
        if place is None:
            return None, None
        return (self._values[place] if self._has_value[place] else None), self._timers[place]

    def _key(self, number: int, rows: Sequence[Row]) -> dict[str, Any]:
        place = self._hand.places[number]
        if rows:
            # -0.0 and 0.0 are one key, and it is always shown as the latter.
            key = {name: rows[0][name] for name in self._call.shape.keys.names}
            return {n: v + 0.0 if type(v) is float else v for n, v in key.items()}
        assert place is not None
        return dict(self._keys[place])

    def _change(self, number: int, value: dict[str, Any] | None, timer: int | None) -> None:
        change = Change(number, value, timer)
        place = self._hand.places[number]
        if change.is_gone and (place is None or self._is_gone[place]):
            return  # there was nothing, and there is nothing
        self._changes[number] = change

    def _checked(self) -> tuple[MadeRows, pa.RecordBatch]:
        schema, ordered_by = self._call.schema, self._call.time
        numbers = () if self._unread else self._hand.rows
        out = MadeRows(self._results, self._places, schema, self._arrived, numbers, ordered_by)
        values = [change.value for change in self._changes.values() if change.value is not None]
        return out, to_columns(values, self._call.shape.state)

    def _fail_wrong(self) -> None:
        """Find the keys with a result or a state that does not fit, and fail each as a whole."""
        problems: dict[int, str] = {}
        made = {number: self._results[p.start : p.stop] for number, p in self._places.items()}
        for number, rows in made.items():
            schema = self._call.schema
            found = next((problem for row in rows if (problem := row_problem(row, schema))), None)
            if found:
                problems[number] = found
        for number, change in self._changes.items():
            if number not in problems and change.value is not None:
                problem = row_problem(change.value, self._call.shape.state)
                if problem:
                    problems[number] = f"in the state, {problem}"
        self._results, self._places = [], {}
        for number, rows in made.items():
            if number not in problems:
                self._keep_results(number, rows)
        for number, problem in problems.items():
            self._changes.pop(number, None)
            rows = [self._call_row(at) for at in self._given(number)[:1]]
            self._fail(number, self._key(number, rows), WrongValue(problem))

    def _given(self, number: int) -> list[int]:
        """Return the rows of a key that the function got: those that could be read."""
        return [at for at in self._hand.rows[number] if at not in self._unread]

    def _call_row(self, at: int) -> Row:
        return to_rows(self._hand.batch.slice(at, 1))[0]

    def _fail(self, number: int, key: dict[str, Any], error: BaseException) -> None:
        self._set_aside(self._given(number), key, error)
        value, timer = self._stored(number)
        if timer is not None and self._micros is not None and timer <= self._micros:
            # The timer has come, and would come again with every batch.
            self._change(number, value, None)

    def _set_aside(self, rows: list[int], key: Row, error: BaseException) -> None:
        batch, operator = self._hand.batch, self._call.operator
        if self._call.on_error == "fail":
            limit = ROW_LIMIT_BYTES
            text = row_text(batch, rows[0], limit) if rows else as_json(key, limit)
            stop_query(operator, text, error)
        told = failure(operator, "", error)
        texts = [row_text(batch, at) for at in rows] or [as_json(key)]
        self._failures.extend({**told, "row": text} for text in texts)


def _keep(results: list[Row], result: Any) -> None:
    """Add what a call returned: a dict, several, or None."""
    if type(result) is dict:
        results.append(result)
        return
    if result is None:
        return
    several = result if isinstance(result, list | tuple) else [result]
    if set(map(type, several)) <= {dict}:
        results.extend(several)
        return
    if not all(isinstance(each, dict) for each in several):
        found = type(result).__name__
        raise WrongValue(f"returned a {found}; return a dict, a list of dicts, or None")
    results.extend(several)
