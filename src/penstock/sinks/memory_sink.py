"""Rows in the memory of the driver, for tests and notebooks."""

from __future__ import annotations

from pyspark.sql import DataFrame, Row


class MemorySink:
    """Keeps every batch in this process; a batch sent again replaces itself.

    Nothing is written anywhere, so a restarted process starts empty.
    """

    reads_all = True

    def __init__(self) -> None:
        self.batches: dict[int, list[Row]] = {}

    def open(self, query_id: str) -> None:
        """Nothing to prepare: rows of earlier runs in this process stay."""

    def write(self, df: DataFrame, batch_id: int) -> None:
        """Collect the batch with one Spark job."""
        self.batches[batch_id] = df.collect()

    def rows(self) -> list[Row]:
        """All rows, in the order of their batches."""
        return [row for batch_id in sorted(self.batches) for row in self.batches[batch_id]]

    def describe(self) -> str:
        """The word memory."""
        return "memory()"
