"""The rows of a replay: every one a function of its number, made a RecordBatch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.sources.cost import KeyCost
from penstock.sources.delays import Delays
from penstock.sources.draws import uniform
from penstock.sources.keys import Keys
from penstock.sources.schedule import Schedule

SPARK_SCHEMA = "id bigint, ts timestamp, key bigint, value double, cost_ms double"
ARROW_SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("ts", pa.timestamp("us", tz="UTC")),
        ("key", pa.int64()),
        ("value", pa.float64()),
        ("cost_ms", pa.float64()),
    ]
)

# Small enough for all columns and scratch arrays to stay in a core's cache.
_ROWS_PER_RECORD_BATCH = 16_384

_KEY_STREAM, _DELAY_STREAM, _VALUE_STREAM = range(3)


@dataclass(frozen=True, slots=True)
class RowMaker:
    """Makes rows from their numbers: the same numbers always give the same rows.

    A row's event time is when it is due minus its delay, counted from ``origin_micros``.
    """

    schedule: Schedule
    keys: Keys
    delays: Delays
    cost: KeyCost
    seed: int
    origin_micros: int

    def batches(self, first: int, end: int) -> Iterator[pa.RecordBatch]:
        """Make rows ``first`` to ``end`` - 1, in order."""
        for start in range(first, end, _ROWS_PER_RECORD_BATCH):
            yield self._batch(start, min(end, start + _ROWS_PER_RECORD_BATCH))

    def _batch(self, first: int, end: int) -> pa.RecordBatch:
        rows = np.arange(first, end, dtype=np.int64)
        keys = self.keys.draw(uniform(rows, self.seed, _KEY_STREAM))
        event_micros = self.schedule.due_micros(rows)
        event_micros += self.origin_micros
        event_micros -= self.delays.draw_micros(uniform(rows, self.seed, _DELAY_STREAM))
        columns = [
            rows,
            event_micros,
            keys,
            uniform(rows, self.seed, _VALUE_STREAM),
            self.cost.cost_ms(keys),
        ]
        return pa.RecordBatch.from_arrays(
            [
                pa.array(column, type=field.type)
                for column, field in zip(columns, ARROW_SCHEMA, strict=True)
            ],
            schema=ARROW_SCHEMA,
        )
