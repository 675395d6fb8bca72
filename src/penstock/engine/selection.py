"""Finds the n-th lowest of many rows without sorting them, and without bringing them together."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

PRIORITY = "_penstock_priority"
TIE = "_penstock_tie"
LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1
_BUCKET_BITS = 16
_FEW = 50_000


def nth_lowest(keys: DataFrame, n: int, low: int, high: int, few: int = _FEW) -> tuple[int, int]:
    """Return the priority and the tie of the ``n``-th lowest row, counted from 1.

    ``keys`` has two bigint columns, ``PRIORITY``, from ``low`` to ``high``, and ``TIE``. Rows are
    counted by the leading bits of a number, and those that share the bits of the row that is looked
    for are counted by the next bits, until ``few`` are left to be looked at one by one.
    """
    for column, lowest, highest in ((PRIORITY, low, high), (TIE, LOWEST, HIGHEST)):
        keys, n, size = _narrowed(keys, column, n, lowest, highest, few)
        if size <= few:
            return sorted((int(p), int(t)) for p, t in keys.select(PRIORITY, TIE).collect())[n - 1]
    priority, tie = keys.select(PRIORITY, TIE).take(1)[0]  # so many rows that are all alike
    return int(priority), int(tie)


def _narrowed(
    keys: DataFrame, column: str, n: int, low: int, high: int, few: int
) -> tuple[DataFrame, int, int]:
    """Return few rows, or rows of one value, with the row's number among them and their count."""
    shift = max(0, (high - low).bit_length() - _BUCKET_BITS)
    while True:
        bucket = F.shiftright(F.col(column), shift).alias("bucket")
        counts = sorted((int(b), int(c)) for b, c in keys.groupBy(bucket).count().collect())
        for found, size in counts:  # noqa: B007  # the last one is what is looked for
            if n <= size:
                break
            n -= size
        low, high = found << shift, ((found + 1) << shift) - 1
        keys = keys.filter(F.col(column).between(low, high))
        if shift == 0 or size <= few:
            return keys, n, size
        shift = max(0, shift - _BUCKET_BITS)
