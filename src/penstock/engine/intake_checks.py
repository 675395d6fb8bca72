"""What can be wrong with what a query is to take in, told before anything runs."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import BooleanType, IntegralType

from penstock.elasticity.intake import Intake
from penstock.engine.schemas import analysed, as_column, check_streamable, prototype
from penstock.errors import ConfigurationError, TopologyError
from penstock.topology.dag import Topology
from penstock.topology.operators import Source


def check_intake(topology: Topology, intake: Intake, trigger_seconds: float | None) -> None:
    """Refuse a limit without an aim, a deadline of rows without a time, a priority of no number."""
    if intake.admission is not None:
        intake.admission.goal_seconds(trigger_seconds)
    if intake.deadline_micros is not None and intake.deadline_micros <= 0:
        raise ConfigurationError(
            "deadline is no time, so that every row would be late. Write for example "
            "deadline='30 seconds', or leave it out."
        )
    backlog = intake.backlog
    for source in topology.sources:
        if intake.deadline_micros is not None:
            _check_time(source, "the deadline")
        if backlog is not None and backlog.is_by_time:
            _check_time(source, f"shed='{backlog.shed}'")
        if backlog is not None and backlog.is_priority:
            _check_priority(source, backlog.shed)


def _check_time(source: Source, what: str) -> None:
    if source.time is None:
        raise TopologyError(
            source.name,
            f"it has no time column, and {what} goes by how old rows are",
            "Write Stream.read(df, time='ts').",
        )


def _check_priority(source: Source, expression: str) -> None:
    what = f'the priority "{expression}"'
    empty = prototype(source.data.sparkSession, source.data.schema)
    df = analysed(source.name, what, lambda: empty.select(as_column(expression)), source.schema)
    if not check_streamable(source.name, what, df) or len(df.columns) != 1:
        raise TopologyError(
            source.name, f"{what} gives not one value for a row", "Write one expression."
        )
    found = df.schema.fields[0].dataType
    if not isinstance(found, IntegralType | BooleanType):
        raise TopologyError(
            source.name,
            f"{what} is {found.simpleString()}, not a whole number",
            f"Write shed='bigint({expression})', with a factor where fractions count.",
        )
    changes = _why_it_changes(source.data.sparkSession, df)
    if changes:
        raise TopologyError(
            source.name,
            f"{what} {changes}, and a batch that is tried again would shed other rows",
            "Write an expression of columns alone, or shed='random'.",
        )


def _why_it_changes(spark: SparkSession, df: DataFrame) -> str | None:
    """Say why an expression may give a row another value in the next job; None if it can't."""
    plan: Any = df._jdf.queryExecution().analyzed()
    jvm: Any = spark._jvm
    pattern = jvm.org.apache.spark.sql.catalyst.trees.TreePattern
    if not plan.deterministic():
        return "gives another number each time"
    if plan.containsPattern(pattern.CURRENT_LIKE()):  # Spark takes them for constants of a job
        return "goes by the clock or the session, as now() does"
    if plan.containsPattern(pattern.PLAN_EXPRESSION()):
        return "reads a table, which may have changed by then"
    return None
