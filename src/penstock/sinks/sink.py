"""What a sink is: something that takes the rows of one micro-batch, as often as they are sent."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from pyspark.sql import DataFrame


@runtime_checkable
class Sink(Protocol):
    """Takes the rows of micro-batches.

    After a crash the engine may send the same ``batch_id`` again. What a sink holds must then be as
    if the batch had been sent once: a batch replaces what an earlier try of the same batch left.
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
