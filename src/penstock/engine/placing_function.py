"""A placer as a function that Spark calls with the keys of rows, and moves rows by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import IntegerType

from penstock.engine.columns import TASK
from penstock.engine.schemas import quoted
from penstock.placement.placer import Placer


class PlacingFunction:
    """Moves rows to the tasks that a placer chooses for them.

    Only the columns that costs depend on cross to Python, not the rows. Rows of a partition are
    placed one record batch after the other, with the loads that those before left.
    """

    def __init__(self, placer: Placer) -> None:
        self._tasks = placer.tasks

        def place(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
            context = TaskContext.get()
            placed = placer.begin(context.partitionId() if context else 0)
            for columns in batches:
                yield pa.array(placed.place(columns if isinstance(columns, tuple) else (columns,)))

        function: Any = arrow_udf(place, returnType=IntegerType())  # type: ignore[call-overload]
        # The task depends on the rows before, so Spark must not compute it twice.
        self._function = function.asNondeterministic()

    def moved(self, df: DataFrame, columns: Sequence[str]) -> DataFrame:
        """Return the rows where the placer puts them, by these of their columns."""
        task = self._function(*[F.col(quoted(name)) for name in columns])
        marked = df.withColumn(TASK, task)
        return marked.repartitionById(self._tasks, F.col(TASK)).drop(TASK)
