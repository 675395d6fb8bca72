"""Counts that Spark takes on the way, without a job of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from penstock.engine.schemas import quoted


@dataclass(frozen=True, slots=True)
class Counted:
    """Rows that passed a point, and the newest event time among them."""

    rows: int = 0
    newest_micros: int | None = None


@dataclass(frozen=True, slots=True)
class Counter:
    """Counts the rows of one DataFrame while a sink's job runs."""

    observation: Observation

    @classmethod
    def on(cls, df: DataFrame, time: str | None) -> tuple[Counter, DataFrame]:
        """Return a counter and the DataFrame that it watches; ``time`` is the event-time column."""
        measures: list[Column] = [F.count(F.lit(1)).alias("rows")]
        if time is not None:
            measures.append(F.unix_micros(F.max(F.col(quoted(time)))).alias("newest"))
        observation = Observation()
        return cls(observation), df.observe(observation, *measures)

    def read(self, kept: Sequence[DataFrame]) -> Counted:
        """Return what was counted; nothing where no sink asked for these rows.

        Spark reports an observation when the first query that contains it ends. If that query had
        no use for the rows (its filter is never true, say) the report is empty, although another
        may have read them: then the cached plans, which hold the true counts, are asked.
        """
        java: Any = self.observation._jo
        if java is None or not java.future().isCompleted():
            return Counted()
        row = java.getRow()
        if row.size() == 0:
            row = self._from_kept(java.name(), kept)
        if row is None or row.size() == 0:
            return Counted()
        return Counted(int(row.get(0) or 0), row.get(1) if row.size() > 1 else None)

    def _from_kept(self, name: str, kept: Sequence[DataFrame]) -> Any:
        for df in kept:
            java: Any = df._jdf
            plan = java.queryExecution().executedPlan()
            jvm: Any = df.sparkSession._jvm
            found = jvm.org.apache.spark.sql.execution.CollectMetricsExec.collect(plan).get(name)
            if found.isDefined():
                return found.get()
        return None
