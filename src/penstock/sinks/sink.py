"""What a sink is: something that takes the rows of one micro-batch, as often as they are sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from pyspark.sql import DataFrame

RETRIES = 8
RETRY_SECONDS = 1.0


@runtime_checkable
class Sink(Protocol):
    """Takes the rows of micro-batches.

    After a crash the engine may send the same ``batch_id`` again. What a sink holds must then be as
    if the batch had been sent once: a batch replaces what an earlier try of the same batch left.

    A sink that reads every row of a batch in one Spark job may say so with an attribute
    ``reads_all = True``. The engine keeps the rows of others in memory, or on disk, while they are
    written: then reading them twice computes nothing twice, and reading some loses no count.

    A sink that keeps its rows so may raise ``SinkUnavailable`` where what it writes to is away. The
    batch is then sent again, after longer and longer waits. Attributes ``retries`` and
    ``retry_seconds`` say how often, and how long the first wait is; 8 and 1 s unless it has them.
    """

    def open(self, query_id: str) -> None:
        """Prepare for a query, before its first batch of this run; refuse what can't work."""
        ...

    def write(self, df: DataFrame, batch_id: int) -> None:
        """Take one batch whole, or raise and leave nothing that a reader would see."""
        ...

    def describe(self) -> str:
        """Name the sink for people, without secrets."""
        ...


@runtime_checkable
class ChecksColumns(Protocol):
    """What a sink may have besides: a look at the columns when a stream is given to it.

    Without it, columns that a sink can't take are found in the first micro-batch.
    """

    def check(self, columns: Sequence[str]) -> None:
        """Raise ``SinkError`` if rows with these columns can't be written."""
        ...
