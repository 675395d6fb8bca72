"""Calls of a user's aggregate in a Spark Python worker: what it returns is checked, and an error
says which method failed for which key.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.aggregate import Aggregate
from penstock.engine.letters import failure
from penstock.engine.lossless import conformed
from penstock.engine.python_step import (
    ERROR_MARK,
    FUNCTION_ERRORS,
    ROW_LIMIT_BYTES,
    RowFailed,
)
from penstock.engine.rows import Row, row_text
from penstock.engine.value_types import WrongValue


@dataclass(frozen=True, slots=True)
class Key:
    """The key that a call is for: a row of the key columns, written out only if the call fails."""

    keys: pa.RecordBatch
    number: int

    def text(self, user_names: Mapping[str, str]) -> str:
        """Write the key with the user's names, and without the columns that are Penstock's own."""
        from penstock.engine.schemas import RESERVED  # loads Spark, and only a failure needs it

        own = self.keys.schema.names
        shown = [name for name in own if name in user_names or not name.startswith(RESERVED)]
        names = [user_names.get(name, name) for name in shown]
        return row_text(self.keys.select(shown).rename_columns(names), self.number, ROW_LIMIT_BYTES)


@dataclass(frozen=True, slots=True)
class AggregateCalls:
    """A user's aggregate with the columns that its states and results must have.

    ``key_names`` has the user's names of key columns that the engine names otherwise.
    """

    operator: str
    aggregate: Aggregate
    state: pa.Schema
    result: pa.Schema
    key_names: Mapping[str, str] = field(default_factory=dict)

    def compute(self, state: pa.RecordBatch | None, batch: pa.RecordBatch, key: Key) -> Any:
        """Return the state with the rows of a batch in it."""
        try:
            return _checked_state(self.aggregate.compute(state, batch), self.state)
        except FUNCTION_ERRORS as error:
            self.stop("compute", key, error)

    def consolidate(self, states: list[pa.RecordBatch], key: Key) -> Any:
        """Return several states as one."""
        try:
            return _checked_state(self.aggregate.consolidate(states), self.state)
        except FUNCTION_ERRORS as error:
            self.stop("consolidate", key, error)

    def finish(self, state: pa.RecordBatch, key: Key) -> list[Row] | pa.RecordBatch:
        """Return the results of a state: as a record batch, or as dicts that nobody looked into."""
        try:
            results = self.aggregate.finish(state)
            if isinstance(results, pa.RecordBatch):
                return conformed(results, self.result)
            return _as_rows(results)
        except FUNCTION_ERRORS as error:
            self.stop("finish", key, error)

    def stop(self, method: str, key: Key, error: BaseException) -> NoReturn:
        """Stop the query with an error that names the aggregate, the method and the key."""
        if isinstance(error, WrongValue):
            error = error.with_traceback(None)  # not of the user's code, but of what looks at it
        told = failure(self.operator, key.text(self.key_names), error)
        name = f"{type(self.aggregate).__name__}.{method}"
        told["message"] = f"in {name}: {told['message']}"
        raise RowFailed(ERROR_MARK + json.dumps({**told, "method": name})) from None


def _checked_state(state: Any, schema: pa.Schema) -> pa.RecordBatch:
    """Return a state of exactly the declared columns; what it could not keep is an error."""
    if isinstance(state, pa.RecordBatch):
        if state.schema.equals(schema) and not _has_required(schema):
            return state
        further = [name for name in state.schema.names if name not in schema.names]
        if further:
            raise WrongValue(f"column '{further[0]}' is not one of the declared state")
    return conformed(state, schema)


@lru_cache(maxsize=64)
def _has_required(schema: pa.Schema) -> bool:
    """Say whether a null could be wrong somewhere, so that every state must be looked through."""
    return "not null" in schema.to_string()


def _as_rows(results: Any) -> list[Row]:
    if results is None:
        return []
    rows = [results] if isinstance(results, dict) else results
    if not isinstance(rows, list | tuple) or not all(isinstance(row, dict) for row in rows):
        raise WrongValue(
            f"returned a {type(results).__name__}; return a dict, a list of dicts, "
            "a pyarrow.RecordBatch, or None"
        )
    return list(rows)


def packed(states: Sequence[pa.RecordBatch], schema: pa.Schema) -> pa.Array:
    """Return states as one column, in which each is a list of its rows.

    >>> schema = pa.schema([("n", pa.int64())])
    >>> states = [pa.RecordBatch.from_pydict({"n": n}, schema=schema) for n in ([1], [], [2, 3])]
    >>> packed(states, schema).to_pylist()
    [[{'n': 1}], [], [{'n': 2}, {'n': 3}]]
    """
    ends = np.cumsum([0, *(state.num_rows for state in states)])
    table = pa.Table.from_batches(states, schema).combine_chunks()
    columns = [column.combine_chunks() for column in table.columns]
    rows = pa.StructArray.from_arrays(columns, fields=list(schema))
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), rows, type=packed_type(schema))


def packed_type(schema: pa.Schema) -> pa.DataType:
    """Return the type of a column of states."""
    return pa.list_(pa.struct(list(schema)))


def unpacked(column: pa.Array, schema: pa.Schema) -> list[pa.RecordBatch]:
    """Return the states of a column, with the types declared for them.

    On its way through Spark a timestamp takes on the session's zone, and files forget what may not
    be null.

    >>> schema = pa.schema([("n", pa.int64())])
    >>> column = pa.array([[{"n": 1}], [], [{"n": 2}, {"n": 3}]])
    >>> [state.to_pydict()["n"] for state in unpacked(column, schema)]
    [[1], [], [2, 3]]
    """
    # Where a type is another one, this casts the column.
    rows = pa.RecordBatch.from_arrays(column.flatten().flatten(), schema=schema)
    return [rows.slice(start, end - start) for start, end in pairwise(ends_of(column).tolist())]


def ends_of(column: pa.Array) -> NDArray[np.int64]:
    """Return where each list of a column starts in what ``flatten`` gives, and where all end."""
    lengths = column.value_lengths().to_numpy(zero_copy_only=False)
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
