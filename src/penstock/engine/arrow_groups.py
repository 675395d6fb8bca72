"""The rows of an Arrow batch, grouped by their key columns without a Python loop over rows.

Rows belong together where ``key_bytes`` gives the same bytes. Nothing here imports Spark: it runs
in Spark's Python workers, where start-up time counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.placement.key_bytes import joined, key_bytes

_SMALL = 1 << 16


@dataclass(frozen=True, slots=True)
class RowGroups:
    """Which rows of a batch belong together.

    ``keys`` holds one key for each group, in the order of their first rows. ``order`` holds the
    numbers of all rows, group after group and in each as they came; group ``i`` is
    ``order[starts[i]:starts[i + 1]]``.
    """

    keys: list[bytes]
    order: NDArray[np.intp]
    starts: NDArray[np.intp]


def grouped(columns: Sequence[pa.Array], rows: int) -> RowGroups:
    """Group the rows of a batch by these of its columns; without any, all rows are one group.

    >>> groups = grouped([pa.array(["b", None, "b", None, "a"])], 5)
    >>> groups.order.tolist(), groups.starts.tolist()
    ([0, 2, 1, 3, 4], [0, 2, 4, 5])
    """
    if not columns or not rows:
        keys = [b""] if rows else []
        return RowGroups(keys, np.arange(rows), np.array([0, rows][: len(keys) + 1]))
    encoded = row_keys(columns).dictionary_encode()
    codes = encoded.indices.to_numpy()
    keys = encoded.dictionary.to_pylist()
    ends = np.cumsum(np.bincount(codes, minlength=len(keys)))
    # NumPy sorts 16-bit numbers by radix, ten times faster than wider ones.
    order = np.argsort(codes.astype(np.uint16) if len(keys) <= _SMALL else codes, kind="stable")
    return RowGroups(keys, order, np.concatenate([[0], ends]))


def row_keys(columns: Sequence[pa.Array]) -> pa.Array:
    """Return the key of every row as bytes, from its columns, of which there is at least one."""
    return joined([key_bytes(column) for column in columns])
