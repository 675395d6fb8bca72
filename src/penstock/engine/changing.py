"""Numbers that change from batch to batch, in expressions whose generated code does not."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

BEFORE_ALL_TIMES = -62_135_596_800_000_000  # the year 1, in microseconds


def any_index(beside: Column) -> Column:
    """Return 1 or 2, Spark can't know which; ``beside`` is any number of the row."""
    return F.when(beside >= 0, 1).otherwise(2)


def changing(number: int, index: Column) -> Column:
    """Return a number as a column that Spark does not write into the code it generates.

    A literal that changes with every batch would make Spark compile the stage's code anew each
    time. An array reaches the code as an argument, and ``index``, which looks at the row, keeps
    Spark from putting the number back.
    """
    return F.element_at(F.expr(f"array({number}L, {number}L)"), index)
