"""A user's own preference: a function of two rows that says whether the first is preferred.

It is compiled, and has to be a strict partial order: no row is preferred to itself or to one that
is preferred to it, and what is preferred to a row is preferred to all that the row is preferred to.
Rows that are left out of a partial result would otherwise be missed later.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa
from numba import cloudpickle, njit, types
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError
from numpy.typing import NDArray

from penstock.errors import PenstockError, TopologyError
from penstock.preference.points import PointError
from penstock.preference.preference import Dominates, Preference

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")

Numbers = NDArray[np.float64]
"""Rows as they are, a line each, in the order of the preference's columns."""

Positions = NDArray[np.int64]
Mask = NDArray[np.bool_]
Kernel = TypeVar("Kernel", bound=Callable[..., object])

_SAMPLE_ROWS = 48
_PAIR = (types.float64[::1], types.float64[::1])
_REMEDY = (
    "Write it with numbers, comparisons and NumPy alone, such as "
    "lambda a, b: a[0] < b[0] and a[1] <= b[1]."
)


class DominanceError(PenstockError):
    """A user's preference contradicts itself on rows that came."""


def compiled_dominance(label: str, dominates: Dominates, columns: int) -> Dominates:
    """Compile a user's function of two arrays of so many numbers; raise ``TopologyError``.

    What is returned can be pickled, and is compiled once in each process that it comes to. A
    function that was compiled with Numba before is taken as it is.
    """
    try:
        # Numba would read past the end of an array that is shorter than the function believes.
        function: Any = (
            dominates if isinstance(dominates, Dispatcher) else njit(boundscheck=True)(dominates)
        )
        _send_by_value(function.py_func)
        function.compile(_PAIR)
        returned = function.overloads[_PAIR].signature.return_type
    except (NumbaError, TypeError, AttributeError, NotImplementedError) as error:
        raise TopologyError(
            label, f"dominates can't be compiled: {_reason(error)}", _REMEDY
        ) from None
    if not isinstance(returned, types.Boolean):
        raise TopologyError(label, f"dominates returns {returned}, not True or False", _REMEDY)
    try:
        function.py_func(np.zeros(columns), np.ones(columns))
    except IndexError as error:
        raise TopologyError(
            label,
            f"dominates reads a number that is not there: {error}",
            f"Its arrays have {columns} numbers, those of the columns in minimize, then maximize.",
        ) from None
    compiled: Dominates = function
    return compiled


def _send_by_value(function: Any) -> None:
    """Let Numba pickle a function with its code: a worker can't import the file of a job."""
    module = sys.modules.get(function.__module__)
    if module is not None:
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]


def to_numbers(columns: Sequence[pa.Array], preference: Preference) -> Numbers:
    """Turn columns, in the order of ``preference.columns``, into the numbers of each row.

    They are not turned round where larger is better. Dates are days and timestamps microseconds
    since 1970; integers above 2^53 and decimals are rounded to the nearest double. A missing number
    is refused or, put last, infinitely bad.

    >>> worse = Preference(minimize=("price",), maximize=("rating",), missing="last")
    >>> to_numbers([pa.array([3, None]), pa.array([None, 4.5])], worse).tolist()
    [[3.0, -inf], [inf, 4.5]]
    """
    rows = len(columns[0])
    numbers = np.empty((rows, len(columns)))
    named = zip(columns, preference.columns, preference.is_maximized, strict=True)
    for place, (column, name, maximized) in enumerate(named):
        values = _doubles(column, name)
        is_missing = np.isnan(values)
        if preference.missing == "refuse" and is_missing.any():
            raise PointError(
                name,
                f"has no number in {int(is_missing.sum())} of {rows} rows (null or NaN)",
                "Filter such rows out, or write missing='last' to rank them behind all others.",
            )
        values[is_missing] = -np.inf if maximized else np.inf
        numbers[:, place] = values
    return numbers


def skylines(numbers: Numbers, starts: Positions, dominates: Dominates) -> Positions:
    """Return the positions of the rows to which none of their segment is preferred, ascending.

    A segment begins at each of ``starts``, which ascend from 0, and ends where the next begins.
    Raises ``DominanceError`` where ``dominates`` is seen to be no order.
    """
    check_order(numbers, dominates)
    return np.flatnonzero(_kept(numbers, np.append(starts, len(numbers)), dominates))


def merge(one: Numbers, other: Numbers, dominates: Dominates) -> tuple[Mask, Mask]:
    """Return which rows of two skylines stay in the skyline of both together."""
    return ~_beaten(one, other, dominates), ~_beaten(other, one, dominates)


def insert(kept: Numbers, row: Numbers, dominates: Dominates) -> tuple[bool, Mask]:
    """Return whether a row joins a skyline, and which rows of that skyline stay."""
    stay, joins = merge(kept, row.reshape(1, -1), dominates)
    return bool(joins[0]), stay


def dominance_counts(numbers: Numbers, of: Numbers, dominates: Dominates) -> Positions:
    """Return to how many of all rows each row of ``of`` is preferred."""
    return _counts(numbers, of, dominates)


def check_order(numbers: Numbers, dominates: Dominates) -> None:
    """Try a sample of rows; raise ``DominanceError`` with those that show a contradiction."""
    few = np.linspace(0, len(numbers) - 1, min(len(numbers), _SAMPLE_ROWS)).astype(np.int64)
    sample = numbers[few]
    preferred = _table(sample, dominates)
    for wrong, told in (
        (np.diag(np.diag(preferred)), "{0} is preferred to itself"),
        (preferred & preferred.T, "{0} is preferred to {1}, and {1} to {0}"),
    ):
        if wrong.any():
            first, second = np.argwhere(wrong)[0]
            raise _contradiction(told.format(_row(sample[first]), _row(sample[second])))
    by_way = preferred.astype(np.int64) @ preferred.astype(np.int64) > 0
    if (by_way & ~preferred).any():
        first, last = np.argwhere(by_way & ~preferred)[0]
        way = np.argmax(preferred[first] & preferred[:, last])
        one, two, three = (_row(sample[each]) for each in (first, way, last))
        raise _contradiction(
            f"{one} is preferred to {two} and {two} to {three}, but {one} not to {three}"
        )


def _contradiction(found: str) -> DominanceError:
    return DominanceError(
        f"dominates contradicts itself: {found}. Let it prefer a row only where that holds "
        "along every chain of rows, never round in a circle."
    )


def _row(numbers: Numbers) -> str:
    return f"[{', '.join(f'{each:.17g}' for each in numbers)}]"


def _reason(error: Exception) -> str:
    # Numba colours its errors where a package for that happens to be installed.
    plain = _COLOURS.sub("", str(error))
    lines = [line.strip() for line in plain.splitlines() if line.strip()]
    said = [line for line in lines if not line.startswith("Failed in nopython mode")]
    return (said or lines or [type(error).__name__])[0].rstrip(".")


def _doubles(column: pa.Array, name: str) -> Numbers:
    kind = column.type
    try:
        if pa.types.is_date32(kind):
            column = column.cast(pa.int32())
        elif pa.types.is_temporal(kind):
            column = column.cast(pa.int64(), safe=False)
        doubles = column.cast(pa.float64(), safe=False)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        doubles = None
    if doubles is None or pa.types.is_string(kind) or pa.types.is_large_string(kind):
        raise PointError(
            name,
            f"is of type {kind}, which is no number",
            "Compare numbers, decimals, booleans, dates or timestamps.",
        )
    return np.array(doubles.to_numpy(zero_copy_only=False), dtype=np.float64)


def _for_one_function(kernel: Kernel) -> Kernel:
    """Compile a kernel anew for each user's function, which can't be kept on disk."""
    return cast(Kernel, njit(kernel))


@_for_one_function
def _kept(numbers: Numbers, bounds: Positions, dominates: Dominates) -> Mask:
    kept = np.zeros(len(numbers), np.bool_)
    best = np.empty(len(numbers), np.int64)
    for segment in range(len(bounds) - 1):
        size = 0
        for row in range(bounds[segment], bounds[segment + 1]):
            beaten, stay = False, 0
            for rank in range(size):
                if dominates(numbers[best[rank]], numbers[row]):
                    # What beat a row will beat others: it is asked sooner from now on.
                    best[rank], best[rank // 2] = best[rank // 2], best[rank]
                    beaten = True
                    break
            if beaten:
                continue
            for rank in range(size):
                if not dominates(numbers[row], numbers[best[rank]]):
                    best[stay] = best[rank]
                    stay += 1
            best[stay] = row
            size = stay + 1
        for rank in range(size):
            kept[best[rank]] = True
    return kept


@_for_one_function
def _beaten(numbers: Numbers, by: Numbers, dominates: Dominates) -> Mask:
    beaten = np.zeros(len(numbers), np.bool_)
    for row in range(len(numbers)):
        for other in range(len(by)):
            if dominates(by[other], numbers[row]):
                beaten[row] = True
                break
    return beaten


@_for_one_function
def _counts(numbers: Numbers, of: Numbers, dominates: Dominates) -> Positions:
    counts = np.zeros(len(of), np.int64)
    for rank in range(len(of)):
        for row in range(len(numbers)):
            counts[rank] += dominates(of[rank], numbers[row])
    return counts


@_for_one_function
def _table(numbers: Numbers, dominates: Dominates) -> Mask:
    rows = len(numbers)
    table = np.zeros((rows, rows), np.bool_)
    for row in range(rows):
        for other in range(rows):
            table[row, other] = dominates(numbers[row], numbers[other])
    return table
