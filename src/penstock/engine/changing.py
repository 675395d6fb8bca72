"""Numbers that change from batch to batch, in expressions whose generated code does not."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F


def changing(number: int, beside: Column) -> Column:
    """Return a number as a column that Spark does not write into the code it generates.

    A literal that changes with every batch would make Spark compile the stage's code anew each
    time. An array reaches the code as an argument, and the index, which looks at the row, keeps
    Spark from putting the number back. ``beside`` is any number of the row.
    """
    twice = F.array(*[F.lit(number).cast("bigint")] * 2)
    return F.element_at(twice, F.when(beside >= 0, 1).otherwise(2))
