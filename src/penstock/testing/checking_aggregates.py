"""Checks that an aggregate of one's own does not depend on how its rows are cut in pieces."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa

from penstock.aggregate import Aggregate
from penstock.arguments import checked
from penstock.errors import ConfigurationError


@checked
def check_aggregate(
    aggregate: Aggregate,
    rows: Sequence[Mapping[str, Any]] | pa.Table,
    *,
    tries: int = 30,
    seed: int = 0,
    tolerance: float = 1e-9,
) -> None:
    """Fail unless an aggregate gives one result for its rows, however they are cut.

    The rows of one key are computed in pieces of any size and any order, and their states
    consolidated in any order and grouping, some of them in one go and some two by two: as the
    engine does, depending on tasks, panes and restarts. The result must be that of all rows at
    once.

    Parameters
    ----------
    aggregate
        The aggregate.
    rows
        Rows of one key, with the columns that it reads, as dicts or as a table of Arrow. Give some
        that are equal, and some that are null where that may be.
    tries
        How many ways to cut are tried.
    seed
        Which ones.
    tolerance
        By how much, relatively, numbers with a fraction may differ.

    Examples
    --------
    >>> class Last(Aggregate):
    ...     state = pa.schema([("n", pa.int64())])
    ...     result = "n bigint"
    ...
    ...     def compute(self, state, batch):
    ...         return batch.select(["n"]).slice(batch.num_rows - 1)
    ...
    ...     def consolidate(self, states):
    ...         return states[-1]
    ...
    ...     def finish(self, state):
    ...         return state.to_pylist()[0]
    >>> check_aggregate(Last(), [{"n": 1}, {"n": 2}, {"n": 3}])
    Traceback (most recent call last):
        ...
    AssertionError: cut in other pieces, the rows gave [{'n': 1}] instead of [{'n': 3}]; the \
result of an aggregate must not depend on the order or the grouping of its rows

    """
    if tries < 1:
        raise ConfigurationError(f"tries={tries} tries nothing. Write 1 or more.")
    table = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist([*map(dict, rows)])
    assert table.num_rows > 1, "give at least two rows: one alone can't be cut"
    if aggregate.columns is not None:
        table = table.select(list(aggregate.columns))
    whole = _finished(aggregate, aggregate.compute(None, _piece(table)))
    dice = random.Random(seed)
    for _ in range(tries):
        order = dice.sample(range(table.num_rows), table.num_rows)
        states = _states(aggregate, table.take(order), dice)
        result = _finished(aggregate, _consolidated(aggregate, states, dice))
        assert _same(result, whole, tolerance), (
            f"cut in other pieces, the rows gave {result} instead of {whole}; the result of an "
            "aggregate must not depend on the order or the grouping of its rows"
        )


def _states(aggregate: Aggregate, table: pa.Table, dice: random.Random) -> list[pa.RecordBatch]:
    """Compute some states, each from one piece or several after each other."""
    cuts = sorted(dice.sample(range(1, table.num_rows), dice.randint(1, table.num_rows - 1)))
    pieces = [_piece(table.slice(a, b - a)) for a, b in pairwise([0, *cuts, table.num_rows])]
    states: list[pa.RecordBatch] = []
    for piece in pieces:
        goes_on = bool(states) and dice.random() < 0.3
        before = states.pop() if goes_on else None
        states.append(aggregate.compute(before, piece))
    return states


def _consolidated(
    aggregate: Aggregate, states: list[pa.RecordBatch], dice: random.Random
) -> pa.RecordBatch:
    while len(states) > 1:
        dice.shuffle(states)
        some = dice.randint(2, len(states))
        states = [aggregate.consolidate(states[:some]), *states[some:]]
    return states[0]


def _piece(table: pa.Table) -> pa.RecordBatch:
    return table.combine_chunks().to_batches()[0]


def _finished(aggregate: Aggregate, state: pa.RecordBatch) -> list[dict[str, Any]]:
    result = aggregate.finish(state)
    if result is None:
        return []
    if isinstance(result, pa.RecordBatch):
        return list(result.to_pylist())
    return [dict(result)] if isinstance(result, Mapping) else [dict(each) for each in result]


def _same(one: Any, other: Any, tolerance: float) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        both_nan = math.isnan(one) and math.isnan(other)
        return both_nan or math.isclose(one, other, rel_tol=tolerance)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(one[k], other[k], tolerance) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(
            _same(a, b, tolerance) for a, b in zip(one, other, strict=True)
        )
    return bool(one == other)
