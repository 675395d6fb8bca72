"""The replay as a streaming source of Spark: the one class behind ``replay`` and ``generate``."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from penstock.elasticity.lag import SOURCE_MARK
from penstock.errors import CheckpointError, ConfigurationError
from penstock.sources.offset import ReplayOffset
from penstock.sources.options import ReplayOptions
from penstock.sources.rows import SPARK_SCHEMA, RowMaker
from penstock.sources.schedule import Schedule

if TYPE_CHECKING:
    import pyarrow as pa

ALL_ROWS = (1 << 63) - 1


class ReplaySource(DataSource):
    """Spark's handle on a replay; ``penstock.sources.replay`` writes its options."""

    @classmethod
    def name(cls) -> str:
        """Give the name for ``spark.readStream.format``."""
        return SOURCE_MARK

    def schema(self) -> str:
        """Give the columns of the rows."""
        return SPARK_SCHEMA

    def streamReader(self, schema: StructType) -> ReplayReader:  # noqa: N802
        """Make the reader."""
        return ReplayReader(self.options)


class RowRange(InputPartition):
    """Rows ``first`` to ``end`` - 1 of a replay whose event times start at ``origin_micros``."""

    def __init__(self, first: int, end: int, origin_micros: int) -> None:
        self.first = first
        self.end = end
        self.origin_micros = origin_micros


class ReplayReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Says which rows are due, and makes them.

    On the driver one reader serves a query from start to stop. Copies of it are pickled to the
    executors, so it keeps the options as they came and not the schedule made of them.
    """

    def __init__(self, options: Mapping[str, str], clock: Callable[[], float] = time.time) -> None:
        self._options_as_came = tuple(sorted(options.items()))
        self._clock = clock
        self._available_now = False
        self._read_so_far: ReplayOffset | None = None
        self._options  # noqa: B018  # bad options must fail here, before the query runs

    @property
    def _options(self) -> ReplayOptions:
        return _load(self._options_as_came)[0]

    @property
    def _schedule(self) -> Schedule:
        return _load(self._options_as_came)[1]

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Start the replay's clock now; only the very first start of a query does."""
        offset = ReplayOffset(0, int(self._clock() * 1000), self._options.rows_like)
        self._read_so_far = offset
        return offset.as_dict()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Give the limit of a batch; Spark also applies it with AvailableNow.

        It is always one in rows: that says that this source takes such limits.
        """
        max_rows = self._options.max_rows_per_batch
        return ReadMaxRows(ALL_ROWS if max_rows is None else max_rows)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Make the rest of the pass available at once, whatever the time."""
        self._available_now = True

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Say where the next batch ends."""
        offset = self._offset_of(start)
        row = next_row(
            offset.row, self._available_row(offset), limit, last_rows=self._is_over(offset)
        )
        end = ReplayOffset(row, offset.origin_ms, offset.rows_like)
        self._read_so_far = end
        return end.as_dict()

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        """Say which rows are due by now, read or not; Spark shows it in the query's progress."""
        read = self._read_so_far
        if read is None:
            return None
        row = self._available_row(read)
        return ReplayOffset(row, read.origin_ms, read.rows_like).as_dict()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[RowRange]:
        """Cut the rows of a batch into ranges that follow each other."""
        # Only the end counts for the origin: when a first batch is done again after a crash, its
        # start is a new initialOffset, while its end is the one from the checkpoint.
        first, read = self._offset_of(start).row, self._offset_of(end)
        self._read_so_far = read
        origin_micros = self._options.origin_micros
        if origin_micros is None:
            origin_micros = read.origin_ms * 1000
        pieces = self._options.partitions
        cuts = [first + (read.row - first) * piece // pieces for piece in range(pieces + 1)]
        return [RowRange(low, high, origin_micros) for low, high in pairwise(cuts) if low < high]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Make the rows of one range; this runs on an executor."""
        assert isinstance(partition, RowRange)
        options = self._options
        maker = RowMaker(
            schedule=self._schedule,
            keys=options.keys,
            delays=options.delays,
            cost=options.cost,
            seed=options.seed,
            origin_micros=partition.origin_micros,
        )
        return maker.batches(partition.first, partition.end)

    def _offset_of(self, stored: dict[str, Any]) -> ReplayOffset:
        offset = ReplayOffset.from_dict(stored)
        if offset.rows_like != self._options.rows_like:
            raise CheckpointError(
                "the checkpoint is of a replay with another trace, keys, delays, cost, seed or "
                "origin; go back to those, or give this query a checkpoint of its own"
            )
        return offset

    def _available_row(self, read: ReplayOffset) -> int:
        if self._available_now:
            return self._schedule.end_of_pass(read.row)
        # What was read stays read, even if the wall clock was set back.
        return max(read.row, self._schedule.rows_due(self._elapsed_micros(read)))

    def _is_over(self, read: ReplayOffset) -> bool:
        return self._available_now or self._schedule.is_over(self._elapsed_micros(read))

    def _elapsed_micros(self, read: ReplayOffset) -> int:
        return int((self._clock() * 1000 - read.origin_ms) * 1000 * self._options.speedup)


def next_row(start: int, available: int, limit: ReadLimit, *, last_rows: bool) -> int:
    """Say where a batch ends that starts at row ``start``, when rows before ``available`` are due.

    ``last_rows`` says that no more will come, so that waiting for a minimum would be for ever.

    >>> next_row(100, 250, ReadMaxRows(80), last_rows=False)
    180
    >>> next_row(100, 250, ReadMinRows(200), last_rows=False)
    100
    """
    if isinstance(limit, ReadAllAvailable):
        return available
    if isinstance(limit, ReadMaxRows):
        return min(available, start + limit.max_rows)
    if isinstance(limit, ReadMinRows):
        enough = last_rows or available - start >= limit.min_rows
        return available if enough else start
    raise ConfigurationError(
        f"the source 'penstock' cannot limit a batch by {type(limit).__name__}; "
        "limit its rows with max_rows_per_batch"
    )


@lru_cache(maxsize=8)
def _load(options_as_came: tuple[tuple[str, str], ...]) -> tuple[ReplayOptions, Schedule]:
    # A Python worker serves many tasks; it unpacks the trace once.
    options = ReplayOptions.from_options(dict(options_as_came))
    return options, Schedule(options.trace, options.loop)
