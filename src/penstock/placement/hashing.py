"""Keys as numbers: the same value gives the same number in every process, machine and Python.

Nothing here depends on Python's ``hash``, which changes from one process to the next. Integers are
themselves; other values are hashed over their bytes, each distinct one once.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.errors import ConfigurationError

Numbers = NDArray[np.uint64]

_ALL_BITS = (1 << 64) - 1


def key_hashes(*columns: Any) -> Numbers:
    """Return one number for each row's key, made of one column or of several in this order.

    A column is a NumPy array, an Arrow array of any type that Spark groups by, or a sequence of
    Python values of one type. Integers of all widths agree, and so do strings of both Arrow types.
    Null is a value of its own.

    >>> key_hashes(np.array([5, -1], np.int32)).tolist() == [5, 2**64 - 1]
    True
    >>> key_hashes(["a", None], [1, 2]).tolist()
    [15494599884965365094, 3270074704614139147]
    """
    if not columns:
        raise ConfigurationError("a key needs at least one column. Give key_hashes() its columns.")
    numbers = [_column_hashes(column) for column in columns]
    lengths = [len(each) for each in numbers]
    if len(set(lengths)) > 1:
        raise ConfigurationError(
            f"the columns of a key have {lengths} rows. Give columns of the same batch."
        )
    if len(numbers) == 1:
        return numbers[0]
    combined = np.zeros(lengths[0], np.uint64)
    for each in numbers:
        combined = _mixed((combined + _STEP) ^ each)
    return combined


# The BLAKE2b hash of b"null" to 64 bits: as good as never the hash of something else.
_NULL = np.uint64(0x6ED20AFACBB27673)
# The constants of SplitMix64.
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def _mixed(numbers: Numbers) -> Numbers:
    """Spread every bit over all others, as the last steps of SplitMix64 do."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * _FIRST
    numbers = (numbers ^ (numbers >> np.uint64(27))) * _SECOND
    return numbers ^ (numbers >> np.uint64(31))


def _column_hashes(column: Any) -> Numbers:
    if isinstance(column, np.ndarray) and column.dtype.kind in "iu":
        return _wide(column)
    if isinstance(column, pa.ChunkedArray):
        parts = [_arrow_hashes(chunk) for chunk in column.chunks]
        return np.concatenate(parts) if parts else np.zeros(0, np.uint64)
    if isinstance(column, pa.Array):
        return _arrow_hashes(column)
    return _sequence_hashes(column)


def _wide(integers: NDArray[Any]) -> Numbers:
    if integers.dtype.kind == "i":
        integers = integers.astype(np.int64, copy=False)
    return integers.astype(np.uint64, copy=False)


def _sequence_hashes(values: Sequence[Any]) -> Numbers:
    try:
        return _arrow_hashes(pa.array(values))
    except (pa.ArrowException, OverflowError, TypeError) as error:
        if all(value is None or type(value) is int for value in values):
            return np.array([_NULL if v is None else v & _ALL_BITS for v in values], np.uint64)
        kinds = sorted({type(value).__name__ for value in values})
        raise ConfigurationError(
            f"a key column of {' and '.join(kinds)} can't be hashed: {error}. "
            "Give values of one type: integers, strings, bytes, dates or decimals."
        ) from error


def _arrow_hashes(column: pa.Array) -> Numbers:
    arrow_type = column.type
    if pa.types.is_dictionary(arrow_type):
        return _taken(_arrow_hashes(column.dictionary), column.indices)
    if pa.types.is_integer(arrow_type):
        plain = column.fill_null(0) if column.null_count else column
        return _with_nulls(_wide(plain.to_numpy()), column)
    from penstock.placement.key_bytes import key_bytes  # loads pandas, which integers don't need

    if pa.types.is_nested(arrow_type):  # Arrow finds the distinct values of bytes, not of lists
        encoded = key_bytes(column).dictionary_encode()
        return _with_nulls(_taken(_digests(encoded.dictionary), encoded.indices), column)
    if pa.types.is_floating(arrow_type):
        column = column.cast(pa.float64())
    encoded = column.dictionary_encode()
    return _taken(_digests(key_bytes(encoded.dictionary)), encoded.indices)


def _digests(values: pa.Array) -> Numbers:
    digests = [blake2b(value, digest_size=8).digest() for value in values.to_pylist()]
    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64, copy=False)


def _taken(numbers: Numbers, indices: pa.Array) -> Numbers:
    if not len(numbers):  # all null, or no rows
        return np.full(len(indices), _NULL)
    plain = indices.fill_null(0) if indices.null_count else indices
    return _with_nulls(numbers[plain.to_numpy()], indices)


def _with_nulls(numbers: Numbers, column: pa.Array) -> Numbers:
    if not column.null_count:
        return numbers
    return np.where(column.is_null().to_numpy(zero_copy_only=False), _NULL, numbers)
