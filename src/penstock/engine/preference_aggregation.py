"""Preference queries as the engine applies them to windows: skylines that merge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, IntegerType, StructField, StructType

from penstock.engine.aggregate_steps import STATE, Limits
from penstock.engine.aggregation import Place
from penstock.engine.arrow_udf import ArrowMaps
from penstock.engine.columns import KEY
from penstock.engine.preference_checks import check_compared, check_keys, check_new_column
from penstock.engine.preference_steps import PART, POINTS, MeasuredStage, PaneStep, WindowStep
from penstock.engine.schemas import arrow_schema, check_arrow, columns_named
from penstock.engine.task_metrics import TaskReport
from penstock.engine.task_states import TaskStates
from penstock.preference.pane_splitting import PaneSplitting
from penstock.preference.query import PreferenceQuery

_STATE = StructType(
    [
        StructField(STATE, BinaryType(), nullable=False),
        StructField(PART, IntegerType(), nullable=False),
        StructField(POINTS, IntegerType(), nullable=False),
    ]
)


@dataclass(frozen=True)
class PreferenceAggregation:
    """A preference query over the columns of one stream.

    A state is a skyline: the rows that are left, as bytes, with how many they are and in which task
    they were found. ``rows`` are the columns of a row besides the keys, ``schema`` those and, where
    asked for, the k that was found.
    """

    invertible: ClassVar[bool] = False
    exchanges: ClassVar[bool] = False
    state: ClassVar[StructType] = _STATE

    label: str
    query: PreferenceQuery
    rows: StructType
    schema: StructType
    keys: tuple[str, ...] = ()
    splitting: PaneSplitting = field(default_factory=PaneSplitting)
    limits: Limits = field(default_factory=Limits)
    _stages: tuple[MeasuredStage | None, MeasuredStage | None] = (None, None)
    _maps: ArrowMaps = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_maps", ArrowMaps(self.label))

    @classmethod
    def resolve(
        cls,
        label: str,
        query: PreferenceQuery,
        columns: StructType,
        keys: Sequence[str] = (),
        k_column: str | None = None,
        splitting: PaneSplitting | None = None,
    ) -> PreferenceAggregation:
        """Make it for rows of some columns, ``keys`` among them.

        Raises ``TopologyError`` where columns can't travel to Python, or be compared.
        """
        check_compared(label, query.preference, columns, keys)
        check_keys(label, columns, keys)
        if k_column is not None:
            check_new_column(label, "k_column", k_column)
        rows = StructType([field for field in columns if field.name not in keys])
        check_arrow(label, rows)
        found = [] if k_column is None else [StructField(k_column, IntegerType(), nullable=False)]
        schema = StructType([*rows.fields, *found])
        return cls(label, query, rows, schema, tuple(keys), splitting or PaneSplitting())

    @property
    def state_text(self) -> str:
        """Name the columns of the rows in a state, which are bytes to Spark."""
        return f"rows of {self.rows.simpleString()}"

    def compile_here(self) -> None:
        """Compile what the query needs, so that workers on this machine find it compiled."""
        self.query.make_ready(arrow_schema(self.rows))

    def reporting(self, panes: str, windows: str, report: TaskReport) -> PreferenceAggregation:
        """Return the same, whose tasks report what they do under the names of two operators."""
        stages = MeasuredStage(panes, "panes", report), MeasuredStage(windows, "windows", report)
        return replace(self, label=windows, _stages=stages)

    def partials(
        self, df: DataFrame, groups: Sequence[str], place: Place | None = None
    ) -> DataFrame:
        """Find the best rows of each group where they are, or where ``place`` puts them.

        The first group is the pane. Each task that has rows of a group makes a partial of them.
        """
        rows = df.select(*columns_named([*groups, *self.rows.names]))
        return self._maps.apply(
            "panes",
            rows if place is None else place(rows),
            len(groups),
            lambda: (
                PaneStep(
                    self.query,
                    arrow_schema(self.rows),
                    len(groups),
                    self.label,
                    {f"{KEY}{number}": name for number, name in enumerate(self.keys)},
                    self.limits,
                    self._stages[0],
                ).__call__
            ),
            self.state,
        )

    def merged(self, df: DataFrame, groups: Sequence[str]) -> DataFrame:
        """Merge all partials of each group to one."""
        return self._of_lists(self._listed(df, groups), len(groups), finishes=False)

    def finished(self, df: DataFrame, groups: Sequence[str]) -> DataFrame:
        """Turn the skyline of each group into its rows."""
        lists = df.select(*columns_named(groups), F.array(STATE).alias(STATE))
        return self._of_lists(lists, len(groups), finishes=True)

    def results(self, df: DataFrame, groups: Sequence[str]) -> DataFrame:
        """Merge partials and turn them into rows at once: they cross to Python one time."""
        return self._of_lists(self._listed(df, groups), len(groups), finishes=True)

    def where_they_are(
        self, df: DataFrame, groups: Sequence[str], *, finishes: bool, again: bool = False
    ) -> DataFrame:
        """Merge the partials of a group that each task has, with no exchange.

        With ``finishes`` they become rows: all of a group have to be in one task then. ``again`` is
        for what was merged like this before and brought together since.
        """
        step = f"{'again' if again else 'here'} {'finish' if finishes else 'merge'}"
        rows = df.select(*columns_named([*groups, STATE]))
        return self._maps.apply(
            step,
            rows,
            len(groups),
            lambda: TaskStates(self._window_step(step, len(groups), finishes=finishes)).__call__,
            self.schema if finishes else self.state,
        )

    def subtracted(self, df: DataFrame, groups: Sequence[str], sign: str) -> DataFrame:
        """Nothing can be taken out of a skyline again: not to be called."""
        raise AssertionError("a skyline has no inverse")

    def _listed(self, df: DataFrame, groups: Sequence[str]) -> DataFrame:
        return df.groupBy(*columns_named(groups)).agg(F.collect_list(STATE).alias(STATE))

    def _of_lists(self, lists: DataFrame, key_columns: int, *, finishes: bool) -> DataFrame:
        step = "finish" if finishes else "merge"
        return self._maps.apply(
            step,
            lists,
            key_columns,
            lambda: self._window_step(step, key_columns, finishes=finishes).__call__,
            self.schema if finishes else self.state,
        )

    def _window_step(self, step: str, key_columns: int, *, finishes: bool) -> WindowStep:
        with_k = len(self.schema) > len(self.rows)
        # Steps of one batch tell what they did apart from each other.
        stage = None if self._stages[1] is None else replace(self._stages[1], step=step)
        columns = arrow_schema(self.rows)
        return WindowStep(self.query, columns, key_columns, finishes, with_k, stage, self.label)
