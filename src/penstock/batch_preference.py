"""Preference queries over batch DataFrames: the rows that no other row is better than."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StructField,
    StructType,
)

from penstock.arguments import listed, shown
from penstock.classic_session import require_classic
from penstock.engine.aggregate_steps import STATE, Limits
from penstock.engine.arrow_udf import ArrowFunction, ArrowMap
from penstock.engine.columns import KEY, PANE, TASK
from penstock.engine.dominance_counting import COUNTS, FIRST, CountStep, SumStep
from penstock.engine.preference_aggregation import PreferenceAggregation
from penstock.engine.preference_checks import (
    NewColumn,
    check_compared,
    check_delta,
    check_keys,
    check_new_column,
)
from penstock.engine.preference_steps import PaneStep, WindowStep
from penstock.engine.preference_tree import (
    InWords,
    gathered_in,
    partitions_of,
    tree_widths,
)
from penstock.engine.schemas import arrow_schema, check_arrow, check_columns, columns_named, quoted
from penstock.engine.task_states import TaskStates
from penstock.errors import TopologyError
from penstock.preference.preference import Dominates, Missing, Preference
from penstock.preference.query import PreferenceQuery
from penstock.shipping import ship_package

_STATE = PreferenceAggregation.state
_COUNTS = StructType([StructField(STATE, BinaryType()), StructField(COUNTS, BinaryType())])


def skyline(
    df: DataFrame,
    *,
    minimize: str | Sequence[str] = (),
    maximize: str | Sequence[str] = (),
    by: str | Sequence[str] = (),
    missing: Missing = "refuse",
    dominates: Dominates | None = None,
    counts: str | None = None,
) -> DataFrame:
    """Return the rows that no other row dominates, with all their columns, as they are.

    A row dominates another if it is at least as good in every column of ``minimize`` and
    ``maximize``, and better in one. Equal rows don't dominate each other: all of them stay. With
    ``by``, rows are compared with those of the same group alone. A null or NaN in a compared column
    is an error, or with ``missing="last"`` worse than every number.

    ``dominates`` is a preference of your own instead: a function of two arrays, the numbers of two
    rows in the order of ``minimize`` and then ``maximize``, that returns whether the first is
    preferred. It is compiled with Numba, and has to be a strict order. With ``counts``, a column of
    that name says how many rows each row dominates, of all rows of its group; ``df`` is then read
    twice.

    Each partition keeps its own best rows, and only those are moved: in a tree to one task, or with
    ``by`` to a task for each group. Nothing runs until Spark needs the result.

        ps.skyline(offers, minimize=["price", "days"], maximize=["rating"])
        ps.skyline(offers, minimize="price", maximize="rating", by="category", counts="beats")
    """
    label = "skyline"
    preference = Preference.checked(label, minimize, maximize, missing, dominates)
    batch = _Batch.checked(label, df, PreferenceQuery(preference), by)
    if counts is None:
        return batch.answer(StructType([]))
    return batch.counted(_one_more(label, df, "counts", counts, LongType()))


def top_dominant(
    df: DataFrame,
    delta: int,
    *,
    minimize: str | Sequence[str] = (),
    maximize: str | Sequence[str] = (),
    by: str | Sequence[str] = (),
    missing: Missing = "refuse",
    k_column: str | None = None,
) -> DataFrame:
    """Return the best rows of a skyline: at least ``delta`` of them, and as few as can be told.

    A row k-dominates another if it is at least as good in k or more of the columns, and better in
    one of those. The rows are those that no row k-dominates, for the smallest k that leaves
    ``delta`` of them or more; ``k_column`` names a column for that k. Where the skyline itself has
    fewer rows than ``delta``, it is the result.

    All else is as in ``skyline``; with ``by``, there are ``delta`` rows and a k for each group.

        ps.top_dominant(players, 100, minimize=["x", "y"], maximize=["speed"], k_column="k")
    """
    label = "top_dominant"
    preference = Preference.checked(label, minimize, maximize, missing)
    check_delta(label, delta)
    batch = _Batch.checked(label, df, PreferenceQuery(preference, delta), by)
    if k_column is None:
        return batch.answer(StructType([]))
    return batch.answer(_one_more(label, df, "k_column", k_column, IntegerType()))


def _one_more(
    label: str, df: DataFrame, argument: NewColumn, name: Any, kind: DataType
) -> StructType:
    check_new_column(label, argument, name)
    found = StructType([StructField(name, kind, nullable=False)])
    check_columns(label, StructType([*df.schema.fields, *found.fields]), "Name it otherwise")
    return found


@dataclass(frozen=True)
class _Batch:
    """A preference query over one DataFrame, as Spark plans it.

    ``groups`` are the columns that rows are compared within. The rows keep them too: two that group
    together need not be alike, such as 0.0 and -0.0.
    """

    label: str
    df: DataFrame
    query: PreferenceQuery
    groups: Mapping[str, Column]

    @classmethod
    def checked(
        cls, label: str, df: DataFrame, query: PreferenceQuery, by: str | Sequence[str]
    ) -> _Batch:
        """Refuse what can't be asked of a DataFrame; raise ``TopologyError``."""
        if not isinstance(df, DataFrame):
            raise TopologyError(
                label,
                f"it is asked of a {type(df).__module__}.{type(df).__name__}",
                f"Give it a Spark DataFrame; of a Stream ask window(...).{label}(...).",
            )
        df = require_classic(df)
        if df.isStreaming:
            raise TopologyError(
                label,
                "this DataFrame is a stream, whose best rows are never all known",
                f"Write ps.Stream.read(df, time=...).window(...).{label}(...).",
            )
        names = listed(by)
        check_columns(label, df.schema, "Rename one with df.toDF(...)")
        check_arrow(label, df.schema)
        _check_groups(label, df, names)
        check_compared(label, query.preference, df.schema, names)
        ship_package(df.sparkSession)
        keys = {f"{KEY}{number}": F.col(quoted(name)) for number, name in enumerate(names)}
        # The first group of a pane step is the pane, and here there is one.
        return cls(label, df, query, {PANE: F.lit(0), **keys})

    def answer(self, more: StructType) -> DataFrame:
        """Return the rows of the answer, with the k that was found where there is ``more``."""
        rows = StructType([*self.df.schema.fields, *more.fields])
        finish = self._merge(finishes=True, with_k=bool(more.fields))
        return self._mapped(self._gathered(), finish, rows)

    def counted(self, more: StructType) -> DataFrame:
        """Return the rows of the skyline, each with how many rows it dominates as ``more``."""
        best = self._mapped(self._gathered(), self._merge(), _STATE)
        copies = 1 if self._has_keys else partitions_of(self.df)
        both = self._copied(best, copies).unionByName(self._compared(copies))
        if self._has_keys:
            placed = both.repartition(*columns_named(self.groups))
        else:
            placed = both.repartitionById(copies, F.col(TASK))
        ready = placed.drop(TASK).sortWithinPartitions(F.col(STATE).isNull())
        count = CountStep(self.query, self._arrow, len(self.groups), Limits())
        counted = self._mapped(ready, count, _COUNTS)
        together = counted if self._has_keys else gathered_in(counted, 1, copies)
        total = SumStep(self.query, self._arrow, len(self.groups))
        return self._mapped(together, total, StructType([*self.df.schema.fields, *more.fields]))

    @property
    def _has_keys(self) -> bool:
        return len(self.groups) > 1

    @property
    def _arrow(self) -> pa.Schema:
        return arrow_schema(self.df.schema)

    def _gathered(self) -> DataFrame:
        """Return partial skylines so that those of a group are all in one task."""
        local = PaneStep(self.query, self._arrow, len(self.groups), self.label)
        rows = self.df.select(*self._group_columns, *columns_named(self.df.columns))
        partials = self._mapped(rows, local, _STATE)
        if self._has_keys:
            return partials.repartition(*columns_named(self.groups))
        partitions = partitions_of(self.df)
        *widths, last = tree_widths(partitions)
        for width in widths:
            moved = gathered_in(partials, width, partitions)
            partials, partitions = self._mapped(moved, self._merge(), _STATE), width
        return gathered_in(partials, last, partitions)

    def _merge(self, *, finishes: bool = False, with_k: bool = False) -> TaskStates:
        groups = len(self.groups)
        return TaskStates(
            WindowStep(self.query, self._arrow, groups, finishes, with_k, operator=self.label)
        )

    def _copied(self, best: DataFrame, copies: int) -> DataFrame:
        """Return each skyline once for every task that counts rows of its group."""
        task = F.explode(F.sequence(F.lit(0), F.lit(copies - 1))).alias(TASK)
        marked = best.select(*columns_named(self.groups), STATE, task)
        compared = [
            F.lit(None).cast(self.df.schema[name].dataType).alias(name)
            for name in self.query.preference.columns
        ]
        return marked.select("*", (F.col(TASK) == 0).alias(FIRST), *compared)

    def _compared(self, copies: int) -> DataFrame:
        """Return what is compared of all rows, in the same columns as the skylines."""
        return self.df.select(
            *self._group_columns,
            F.lit(None).cast("binary").alias(STATE),
            (F.spark_partition_id() % F.lit(copies)).alias(TASK),
            F.lit(False).alias(FIRST),
            *columns_named(self.query.preference.columns),
        )

    @property
    def _group_columns(self) -> list[Column]:
        return [column.alias(name) for name, column in self.groups.items()]

    def _mapped(self, df: DataFrame, step: ArrowFunction, after: StructType) -> DataFrame:
        keys = df.schema.fields[: len(self.groups)]
        # Spark's own mapInArrow does not find columns with dots or backticks in their names.
        mapped = ArrowMap(InWords(step).__call__, StructType([*keys, *after.fields])).apply(df)
        return mapped if STATE in after.names else mapped.drop(*self.groups)


def _check_groups(label: str, df: DataFrame, names: Sequence[Any]) -> None:
    for name in names:
        if not isinstance(name, str) or name not in df.columns:
            raise TopologyError(
                label,
                f"there is no column {shown(name)} to group by",
                f"Columns here: {', '.join(df.columns)}. To group by an expression, add it "
                "with df.withColumn(...).",
            )
    check_keys(label, df.schema, names)
