"""Rows for a writer of Spark's that runs a plan without telling Spark of it, as Kafka's does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.classic.dataframe import DataFrame as DataFrameOf


@contextmanager
def finished_rows(df: DataFrame) -> Iterator[DataFrame]:
    """Give the rows as finished ones, and tell Spark what was counted in them once they are read.

    Else Spark never hears that the plan ran: the rows of its sources would count as none, and
    their watermark would stay where it is.
    """
    java: Any = df._jdf
    session: Any = df.sparkSession._jsparkSession
    execution = java.queryExecution()
    rows = session.internalCreateDataFrame(execution.toRdd(), java.schema(), False)
    yield DataFrameOf(rows, df.sparkSession)
    session.observationManager().tryComplete(execution)
