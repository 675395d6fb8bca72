"""Aggregates that users write in Python, as the engine applies them to windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import ArrayType, StructField, StructType

from penstock.engine.aggregate_calls import AggregateCalls
from penstock.engine.aggregate_checks import (
    as_aggregate,
    check_methods,
    columns_read,
    declared_result,
    declared_state,
)
from penstock.engine.aggregate_steps import (
    STATE,
    ComputeStep,
    ConsolidateStep,
    FinishStep,
    Limits,
    MeasuredKeys,
)
from penstock.engine.aggregation import Place
from penstock.engine.arrow_udf import ArrowMaps
from penstock.engine.columns import KEY
from penstock.engine.schemas import arrow_schema, columns_named

_LIMITS = Limits()


class UserAggregation:
    """A user's ``Aggregate``, checked, for the columns of one stream.

    A state is a column of lists of rows. Each function is pickled once for each set of key columns
    and then serves every micro-batch.
    """

    invertible = False
    exchanges = False

    def __init__(
        self, calls: AggregateCalls, columns: Sequence[str], schema: StructType, limits: Limits
    ) -> None:
        self.schema = schema
        self.state = _state_column(calls)
        self._calls = calls
        self._columns = tuple(columns)
        self._limits = limits
        self._maps = ArrowMaps(calls.operator)

    @classmethod
    def resolve(
        cls,
        label: str,
        aggregate: object,
        empty: DataFrame,
        keys: Sequence[str] = (),
        limits: Limits = _LIMITS,
    ) -> UserAggregation:
        """Check what a user gave for the columns of ``empty``.

        ``keys`` are the user's names of the columns that the engine calls ``KEY0``, ``KEY1`` and so
        on, for errors. Raises ``TopologyError`` where a method is missing, a schema is not
        readable, or a column is not there.
        """
        known = as_aggregate(label, aggregate)
        check_methods(label, known)
        columns = columns_read(label, known, empty.schema)
        state = declared_state(label, known)
        schema = declared_result(label, known)
        names = {f"{KEY}{number}": name for number, name in enumerate(keys)}
        calls = AggregateCalls(label, known, state, arrow_schema(schema), names)
        return cls(calls, columns, schema, limits)

    @property
    def state_text(self) -> str:
        """Name what a state holds."""
        return self.state.simpleString()

    def partials(
        self,
        df: DataFrame,
        groups: Sequence[str],
        place: Place | None = None,
        measured: MeasuredKeys | None = None,
    ) -> DataFrame:
        """Compute the states of rows where they are, or where ``place`` puts them.

        No exchange is needed. A key may have several partials, at least one for each task that had
        rows of it. Where ``place`` adds the hash of each row's key, loads can be ``measured``.
        """
        read = [*groups, *(name for name in self._columns if name not in groups)]
        inputs = tuple(read.index(name) for name in self._columns)
        rows = df.select(*columns_named(read))
        return self._maps.apply(
            "compute" if measured is None else "compute and measure",
            rows if place is None else place(rows),
            len(groups),
            lambda: ComputeStep(self._calls, len(groups), inputs, self._limits, measured).__call__,
            self.state,
        )

    def merged(self, df: DataFrame, groups: Sequence[str]) -> DataFrame:
        """Consolidate all partials of each key to one."""
        # Lists made in the JVM cross to Python many keys at a time; applyInArrow would send an
        # Arrow stream for each key, and keep -0.0 apart from 0.0.
        lists = df.groupBy(*columns_named(groups)).agg(F.collect_list(STATE).alias(STATE))
        return self._maps.apply(
            "consolidate",
            lists,
            len(groups),
            lambda: ConsolidateStep(self._calls, len(groups)).__call__,
            self.state,
        )

    def finished(self, df: DataFrame, groups: Sequence[str]) -> DataFrame:
        """Turn the state of each key into its rows of results: none, one, or several."""
        return self._maps.apply(
            "finish",
            df.select(*columns_named([*groups, STATE])),
            len(groups),
            lambda: FinishStep(self._calls, len(groups)).__call__,
            self.schema,
        )

    def results(self, df: DataFrame, groups: Sequence[str]) -> DataFrame:
        """Merge the states of each group, and turn them into its result."""
        return self.finished(self.merged(df, groups), groups)

    def subtracted(self, df: DataFrame, groups: Sequence[str], sign: str) -> DataFrame:
        """Nothing can be taken out of a state again: not to be called."""
        raise AssertionError("a user's aggregate has no inverse")


def _state_column(calls: AggregateCalls) -> StructType:
    rows: Any = from_arrow_schema(calls.state)
    return StructType([StructField(STATE, ArrayType(rows, containsNull=False), nullable=False)])
