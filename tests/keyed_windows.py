"""Rows of keyed windows with times that are known, and a model of what comes of them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

START = datetime(2026, 1, 1, tzinfo=UTC)
WINDOW, DELAY = 20, 5
SIZE = 100
Event = tuple[int, Any, int]  # id, key, seconds since START


def table(events: Iterable[Event], key_type: pa.DataType) -> pa.Table:
    ids, keys, seconds = zip(*events, strict=True)
    times = pa.array(
        [START + timedelta(seconds=each) for each in seconds], pa.timestamp("us", "UTC")
    )
    return pa.table({"id": pa.array(ids, pa.int64()), "k": pa.array(keys, key_type), "ts": times})


def batch(number: int, keys: list[Any]) -> list[Event]:
    """Rows of ten seconds, ten in each, with these keys by turns."""
    first = number * SIZE
    return [(first + i, keys[i % len(keys)], 10 * number + i // 10) for i in range(SIZE)]


def same_key(key: Any) -> Any:
    """Return a key as Spark groups it: all zeros and all NaN are one."""
    if isinstance(key, float):
        return "NaN" if math.isnan(key) else key + 0.0
    return key


def expected(batches: Iterable[list[Event]]) -> tuple[dict[Any, tuple[int, int]], int]:
    """A model of the job: windows that the watermark has closed, and how many rows were late."""
    found: dict[Any, list[int]] = defaultdict(list)
    closed, latest, late = -math.inf, -math.inf, 0
    for events in batches:
        for number, key, seconds in events:
            start = seconds // WINDOW * WINDOW
            if start + WINDOW <= closed:
                late += 1
            else:
                found[start, same_key(key)].append(number)
        latest = max([latest, *(seconds for _, _, seconds in events)])
        closed = latest - DELAY
    return {
        (start, key): (len(ids), sum(ids))
        for (start, key), ids in found.items()
        if start + WINDOW <= closed
    }, late
