"""Aggregating rows where they are: one result for every group of each partition, no exchange."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.classic.dataframe import DataFrame as DataFrameOf

from penstock.engine.session import spark_version


class LocalGroups:
    """Hands rows over in a form in which Spark sees no need to move them for a ``groupBy``.

    Spark has no aggregate of a single partition. It does leave rows where they are when they are
    known to be partitioned by a column that is grouped by, so that is what it is told here: a
    ``groupBy`` on the first column and others then gives up to one row per group and partition.
    Only a result that is merged again, as partials are, may be made this way.

    Made once for all micro-batches: it keeps what it found in the JVM.
    """

    def __init__(self, session: SparkSession) -> None:
        jvm: Any = session._jvm
        self._session = session
        self._java: Any = session._jsparkSession
        execution = jvm.org.apache.spark.sql.execution
        physical = jvm.org.apache.spark.sql.catalyst.plans.physical
        self._relation_of = execution.LogicalRDD
        # Spark 4.3 asks for one thing more than 4.2.
        self._last = () if spark_version().startswith("4.2.") else (False,)
        self._partitioning_of = physical.HashPartitioning
        self._sequence = jvm.PythonUtils.toSeq
        self._nothing = jvm.scala.Option.empty()
        self._none = self._sequence([])
        datasets = getattr(getattr(jvm.org.apache.spark.sql.classic, "Dataset$"), "MODULE$")
        self._rows_of = datasets.ofRows

    def of(self, df: DataFrame) -> DataFrame:
        """Return the rows as if they were partitioned by their first column.

        What was counted on the way is found in the plan of ``df``, not in that of the result.
        """
        java: Any = df._jdf
        execution = java.queryExecution()
        rows = execution.toRdd()
        output = execution.executedPlan().output()
        grouped = self._sequence([output.head()])
        relation = self._relation_of(
            output,
            rows,
            self._partitioning_of(grouped, rows.getNumPartitions()),
            self._none,
            False,
            self._nothing,
            self._java,
            self._nothing,
            self._nothing,
            *self._last,
        )
        return DataFrameOf(self._rows_of(self._java, relation), self._session)
