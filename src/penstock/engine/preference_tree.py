"""The tree in which skylines of a batch DataFrame's partitions are merged, a few at a time."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.engine.arrow_udf import ArrowFunction
from penstock.engine.columns import TASK
from penstock.engine.python_step import ERROR_MARK, RowFailed
from penstock.engine.schemas import node_names
from penstock.errors import NOT_KNOWN, PenstockError

MOST_MERGED = 16
FEW = 8


@dataclass(frozen=True, slots=True)
class InWords:
    """Runs a step; what it can't compare is told to who reads the failure of a Spark job."""

    step: ArrowFunction

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Do what the step does."""
        try:
            yield from self.step(batches)
        except RowFailed as error:
            told = json.loads(str(error).removeprefix(ERROR_MARK))
            row = "" if told["row"] == NOT_KNOWN else f" Such a row is {told['row']}"
            raise PenstockError(f"operator '{told['operator']}': {told['message']}{row}") from None


def tree_widths(partitions: int) -> tuple[int, ...]:
    """Return how many tasks each level of the tree has, for so many partitions; the last has one.

    A task merges about as many skylines as there are tasks beside it, and never very many.

    >>> tree_widths(8), tree_widths(16), tree_widths(200), tree_widths(5000)
    ((1,), (4, 1), (14, 1), (313, 20, 2, 1))
    """
    widths = []
    fan_in = min(MOST_MERGED, max(2, math.ceil(math.sqrt(partitions))))
    while partitions > FEW:
        partitions = math.ceil(partitions / fan_in)
        widths.append(partitions)
    return tuple(widths) if widths and widths[-1] == 1 else (*widths, 1)


def gathered_in(df: DataFrame, tasks: int, partitions: int) -> DataFrame:
    """Move all rows of neighbouring partitions to one task, of so many partitions and tasks."""
    together = math.ceil(partitions / tasks)
    task = (F.spark_partition_id() / F.lit(together)).cast("int")
    return df.withColumn(TASK, task).repartitionById(tasks, F.col(TASK)).drop(TASK)


def partitions_of(df: DataFrame) -> int:
    """Return in how many partitions a DataFrame will about be, without running anything."""
    execution: Any = df._jdf.queryExecution()
    plan = execution.executedPlan()
    if str(plan.nodeName()) == "AdaptiveSparkPlan":
        plan = plan.initialPlan()
    known = int(plan.outputPartitioning().numPartitions())
    if known:
        return known
    if any("Exchange" in name for name in node_names(plan)):
        # To ask an exchange for its partitions may run what is before it.
        return int(df.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
    return max(1, int(execution.toRdd().getNumPartitions()))
