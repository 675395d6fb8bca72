"""What tests compare with."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pyspark.sql import DataFrame, Row


def bag(rows: list[Row] | DataFrame) -> Counter[tuple[Any, ...]]:
    """Rows as a multiset: streams promise no order."""
    listed = rows if isinstance(rows, list) else rows.collect()
    return Counter(tuple(row) for row in listed)
