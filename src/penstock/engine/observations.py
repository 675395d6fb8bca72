"""Counts that Spark takes on the way, without a job of their own."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from penstock.errors import QueryError

_TOLD_WITHIN_SECONDS = 60.0
_LOOK_EVERY_SECONDS = 0.002


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

    def told(self, places: Sequence[DataFrame]) -> tuple[Any, ...] | None:
        """Return what was measured by a job that has run; None where it had no use for the rows.

        Raises where Spark never said: nothing tells then from no rows at all.
        """
        values = self.read(places)
        if values is None and not self._is_reported:
            raise _not_reported()
        return values

    def wait(self) -> tuple[Any, ...]:
        """Return what was measured, once Spark reports it; the job must have run."""
        java: Any = self.observation._jo
        deadline = time.monotonic() + _TOLD_WITHIN_SECONDS
        while not self._is_reported:
            if time.monotonic() > deadline:
                raise _not_reported()
            time.sleep(_LOOK_EVERY_SECONDS)
        return _values(java.getRow()) or (0,)

    @property
    def _is_reported(self) -> bool:
        java: Any = self.observation._jo
        return bool(java.future().isCompleted())


def counting(name: str = "rows", only: Column | None = None) -> Column:
    """Return the measure that counts rows, all or those for which ``only`` is true."""
    return (F.count(F.lit(1)) if only is None else F.count_if(only)).alias(name)


def _not_reported() -> QueryError:
    """Say that a report was lost, as Spark drops events that its listeners are too slow for."""
    return QueryError(
        "Spark did not report how many rows it read and wrote, so that some might be missing in "
        "results. Start the query again; the micro-batch is run once more. If it comes back, raise "
        "spark.scheduler.listenerbus.eventqueue.capacity."
    )


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
