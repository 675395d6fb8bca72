"""Aggregating rows where they are: one result for every group of each partition, no exchange."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.classic.dataframe import DataFrame as DataFrameOf


def grouped_where_they_are(df: DataFrame, column: str) -> DataFrame:
    """Return the rows in a form in which Spark sees no need to move them for a ``groupBy``.

    Spark has no aggregate of a single partition. It does leave rows where they are when they are
    known to be partitioned by a column that is grouped by, so that is what it is told here: a
    ``groupBy`` on ``column`` and others then gives up to one row per group and partition. Only a
    result that is merged again, as partials are, may be made this way.

    What was counted on the way is found in the plan of ``df``, not in that of the result.
    """
    java: Any = df._jdf
    jvm: Any = df.sparkSession._jvm
    session: Any = df.sparkSession._jsparkSession
    execution = java.queryExecution()
    rows = execution.toRdd()
    output = execution.executedPlan().output()
    names = [field.name for field in df.schema.fields]
    grouped = [output.apply(names.index(column))]
    sequence = jvm.PythonUtils.toSeq
    partitioning = jvm.org.apache.spark.sql.catalyst.plans.physical.HashPartitioning(
        sequence(grouped), rows.getNumPartitions()
    )
    nothing = jvm.scala.Option.empty()
    relation = jvm.org.apache.spark.sql.execution.LogicalRDD(
        output, rows, partitioning, sequence([]), False, nothing, session, nothing, nothing, False
    )
    datasets = getattr(getattr(jvm.org.apache.spark.sql.classic, "Dataset$"), "MODULE$")
    return DataFrameOf(datasets.ofRows(session, relation), df.sparkSession)
