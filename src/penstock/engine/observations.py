"""Counts that Spark takes on the way, without a job of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F


@dataclass(frozen=True, slots=True)
class Measures:
    """Whole numbers found in one DataFrame's rows, while some job reads them."""

    observation: Observation

    @classmethod
    def on(cls, df: DataFrame, *measures: Column) -> tuple[Measures, DataFrame]:
        """Return what will be measured, and the DataFrame on which it is.

        Every measure has a name of its own.
        """
        observation = Observation()
        return cls(observation), df.observe(observation, *measures)

    def read(self, places: Sequence[DataFrame]) -> tuple[Any, ...] | None:
        """Return what was measured; None where no job asked for these rows.

        Spark reports an observation when the first query that contains it ends. If that query had
        no use for the rows (its filter is never true, say) the report is empty, although another
        may have read them. Then the plans of ``places``, which hold the true counts, are asked.
        """
        java: Any = self.observation._jo
        if java is None:
            return None
        row = java.getRow() if java.future().isCompleted() else None
        if row is None or row.size() == 0:
            row = _from_plans(java.name(), places)
        return None if row is None else _values(row)

    def wait(self) -> tuple[Any, ...]:
        """Return what was measured, once Spark reports it; the job must have run."""
        java: Any = self.observation._jo
        return _values(java.getRow()) or (0,)


def counting(name: str = "rows", only: Column | None = None) -> Column:
    """Return the measure that counts rows, all or those for which ``only`` is true."""
    return (F.count(F.lit(1)) if only is None else F.count_if(only)).alias(name)


def _values(row: Any) -> tuple[Any, ...] | None:
    """Return the numbers of a row, by one call for all of them."""
    told = str(row.mkString(","))
    if not told:
        return None
    return tuple(None if value == "null" else int(value) for value in told.split(","))


def _from_plans(name: str, places: Sequence[DataFrame]) -> Any:
    if not places:
        return None
    jvm: Any = places[0].sparkSession._jvm
    collector = getattr(jvm.org.apache.spark.sql.execution, "CollectMetricsExec$")
    collect = getattr(collector, "MODULE$").collect
    for df in places:
        java: Any = df._jdf
        found = collect(java.queryExecution().executedPlan()).get(name)
        if found.isDefined():
            return found.get()
    return None
