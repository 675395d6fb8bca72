"""Aggregates in pieces: rows to states, states to states, states to results, as DataFrames."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from penstock.arguments import is_text, shown
from penstock.engine.aggregate_inputs import Inputs, input_name
from penstock.engine.schemas import RESERVED, analysed, check_columns, quoted, schema_of
from penstock.errors import TopologyError
from penstock.windows.aggregates.base import (
    Part,
    Recipe,
    Setting,
    UnsuitableColumn,
    WindowAggregate,
)
from penstock.windows.aggregates.counts import count_part

ROWS = RESERVED + "rows"

Place = Callable[[DataFrame], DataFrame]


@dataclass(frozen=True, slots=True)
class Beside:
    """What to count of all rows while some of them are aggregated.

    Only rows for which ``when`` is true are aggregated; the others are in groups of their own.
    ``groups`` are the groups, with their names; ``measures`` are aggregates over the columns in
    ``carried``.
    """

    groups: tuple[Column, ...]
    when: Column
    carried: tuple[Column, ...]
    measures: tuple[Column, ...]


class Aggregation(Protocol):
    """Computes over groups in pieces that merge, wherever the rows are.

    ``groups`` are names of columns, at least one. The columns of the state have names that start
    with ``_penstock_``.
    """

    @property
    def schema(self) -> StructType:
        """The columns of a result, besides the groups."""
        ...

    @property
    def state(self) -> StructType:
        """The columns of a state, besides the groups."""
        ...

    @property
    def state_text(self) -> str:
        """What a state holds, in words that change where an older state can't be read any more."""
        ...

    @property
    def invertible(self) -> bool:
        """Whether ``subtracted`` works, and is exact."""
        ...

    @property
    def exchanges(self) -> bool:
        """Whether ``partials`` brings rows together by group, unless told where to leave them."""
        ...

    def partials(
        self, df: DataFrame, groups: Sequence[str], place: Place | None = None
    ) -> DataFrame:
        """Turn rows into groups and states; a group may be there several times.

        ``place`` is applied to the rows when they hold only what is needed, and may move them.
        """
        ...

    def merged(self, df: DataFrame, groups: Sequence[str]) -> DataFrame:
        """Turn groups and states into one state for each group."""
        ...

    def finished(self, df: DataFrame, groups: Sequence[str]) -> DataFrame:
        """Turn groups and states into groups and results."""
        ...

    def results(self, df: DataFrame, groups: Sequence[str]) -> DataFrame:
        """Turn groups and states, any number for each group, into groups and results."""
        ...

    def subtracted(self, df: DataFrame, groups: Sequence[str], sign: str) -> DataFrame:
        """Merge states of which some are taken away: column ``sign`` is +1 or -1.

        A group of which no row is left is left out.
        """
        ...


@dataclass(frozen=True)
class SqlAggregation:
    """Aggregates as SQL expressions, which Spark compiles.

    All expressions are made once. Applying them to the next micro-batch costs no more than handing
    them over.
    """

    exchanges: ClassVar[bool] = True

    schema: StructType
    state: StructType
    invertible: bool
    _inputs: tuple[Column, ...]
    _plain: frozenset[int]
    _partials: tuple[Column, ...]
    _merges: tuple[Column, ...]
    _results: tuple[Column, ...]
    _subtractions: Mapping[str, str]
    _made: dict[Any, Any] = field(default_factory=dict, compare=False)

    @classmethod
    def resolve(
        cls,
        label: str,
        aggregates: Mapping[str, WindowAggregate],
        empty: DataFrame,
        time: str | None,
        share: str | None = None,
        *,
        keeps_inverse: bool = True,
    ) -> SqlAggregation:
        """Analyse aggregates on an empty DataFrame with the columns of the rows.

        ``time`` is the column that orders rows. ``share`` is a column with the share of each row
        that counts, where rows count in parts; ``empty`` need not have it. Raises
        ``TopologyError``, with ``label`` as the operator. Without ``keeps_inverse`` states are
        smaller and can't be taken away again.
        """
        _check(label, aggregates)
        inputs = Inputs(label, empty, time, share)
        states = _States()
        setting = {"is_shared": share is not None, "keeps_inverse": keeps_inverse}
        recipes: dict[str, tuple[Recipe, dict[str, str]]] = {}
        for name, aggregate in aggregates.items():
            names, types = inputs.add(aggregate)
            recipe = _recipe(label, name, aggregate, Setting(types, **setting))
            recipes[name] = recipe, {**names, **states.add(recipe.parts, names)}
        invertible = keeps_inverse and all(recipe.is_invertible for recipe, _ in recipes.values())
        if invertible:
            states.add_row_count()
        made = cls(
            StructType(),
            StructType(),
            invertible,
            inputs.columns,
            inputs.plain,
            states.partials,
            states.merges,
            (),
            states.subtractions if invertible else {},
        )
        try:
            return made._analysed(label, inputs, recipes)
        except TopologyError as error:
            raise inputs.readable(error) from None

    @property
    def state_text(self) -> str:
        """Name the columns of a state."""
        return self.state.simpleString()

    def partials(
        self, df: DataFrame, groups: Sequence[str], place: Place | None = None
    ) -> DataFrame:
        """Turn rows into groups and states, one for each group."""
        columns = self._columns(groups)
        rows = df.select(*columns, *self._inputs)
        if place is not None:
            rows = place(rows)
        return rows.groupBy(*columns).agg(*self._partials)

    def counted_partials(
        self, df: DataFrame, groups: Sequence[str], count: Beside, place: Place | None = None
    ) -> DataFrame:
        """Turn rows into groups and states, and count rows on the way, all in one aggregate."""
        if _COUNTED not in self._made:
            # What is left out is not computed either: it could fail.
            inputs = [
                column
                if number in self._plain
                else F.when(count.when, column).alias(input_name(number))
                for number, column in enumerate(self._inputs)
            ]
            self._made[_COUNTED] = [*count.groups, *inputs, *count.carried]
        rows = df.select(*self._made[_COUNTED])
        if place is not None:
            rows = place(rows)
        return rows.groupBy(*self._columns(groups)).agg(*self._partials, *count.measures)

    def merged(self, df: DataFrame, groups: Sequence[str]) -> DataFrame:
        """Turn groups and states into one state for each group."""
        return df.groupBy(*self._columns(groups)).agg(*self._merges)

    def finished(self, df: DataFrame, groups: Sequence[str]) -> DataFrame:
        """Turn groups and states into groups and results."""
        return df.select(*self._columns(groups), *self._results)

    def results(self, df: DataFrame, groups: Sequence[str]) -> DataFrame:
        """Merge the states of each group, and turn them into its result."""
        return self.finished(self.merged(df, groups), groups)

    def subtracted(self, df: DataFrame, groups: Sequence[str], sign: str) -> DataFrame:
        """Merge states of which some are taken away: column ``sign`` is +1 or -1."""
        if not self.invertible:
            raise AssertionError("these aggregates have no exact inverse")
        key = ("sign", sign)
        if key not in self._made:
            self._made[key] = [
                F.expr(text.replace(_SIGN, quoted(sign))).alias(name)
                for name, text in self._subtractions.items()
            ]
        merged = df.groupBy(*self._columns(groups)).agg(*self._made[key])
        return merged.filter(_ROWS_LEFT)

    def _columns(self, groups: Sequence[str]) -> list[Column]:
        key = tuple(groups)
        if key not in self._made:
            self._made[key] = [F.col(quoted(name)) for name in groups]
        columns: list[Column] = self._made[key]
        return columns

    def _analysed(
        self, label: str, inputs: Inputs, recipes: Mapping[str, tuple[Recipe, dict[str, str]]]
    ) -> SqlAggregation:
        """Find the types of states and results; results get the types of Spark's own aggregates."""
        rows = inputs.empty.select(F.lit(0).alias(_GROUP), *self._inputs).groupBy(_GROUP)
        before, natives, finishes = schema_of(inputs.rows.schema), StructType(), []
        for name, (recipe, names) in recipes.items():
            native = F.expr(recipe.native.format_map(names)).alias(name)
            df = analysed(label, f"the aggregate '{name}'", lambda n=native: rows.agg(n), before)  # type: ignore[misc]
            natives.add(df.schema.fields[1])
            finishes.append(F.expr(recipe.finish.format_map(names)))
        check_columns(label, natives, "Give each aggregate its own name")
        states = analysed(label, "the aggregates", lambda: rows.agg(*self._partials), before)
        merged = states.groupBy(_GROUP).agg(*self._merges)
        results = _as_native(merged, finishes, natives)
        final = merged.select(*results)
        return SqlAggregation(
            final.schema,
            StructType(states.drop(_GROUP).schema.fields),
            self.invertible,
            self._inputs,
            self._plain,
            self._partials,
            self._merges,
            tuple(results),
            self._subtractions,
        )


_GROUP = RESERVED + "group"
_COUNTED = "counted"
_SIGN = "{sign}"
_ROWS_LEFT = f"{ROWS} > 0"


class _States:
    """The columns of the states: aggregates that need the same part share it."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, str], str] = {}
        self._texts: dict[str, tuple[str, str, str]] = {}

    def add(self, parts: Sequence[Part], inputs: Mapping[str, str]) -> dict[str, str]:
        """Add an aggregate's parts; return the columns' names by the names of the parts."""
        names = {}
        for part in parts:
            key = (part.partial.format_map(inputs), part.merge)
            column = f"{RESERVED}{len(self._names)}_{part.name}"
            names[part.name] = self._names.setdefault(key, column)
        for part in parts:
            known = {**inputs, **names, "sign": _SIGN}
            texts = (part.partial, part.merge, part.subtract or "")
            partial, merge, subtract = (text.format_map(known) for text in texts)
            self._texts[names[part.name]] = partial, merge, subtract
        return names

    def add_row_count(self) -> None:
        """Count rows, so that a group all of whose rows were taken away can be told."""
        part = count_part(ROWS, "count(1)")
        texts = (part.partial, part.merge, part.subtract or "")
        names = {ROWS: ROWS, "sign": _SIGN}
        partial, merge, subtract = (text.format_map(names) for text in texts)
        self._texts[ROWS] = partial, merge, subtract

    @property
    def partials(self) -> tuple[Column, ...]:
        return tuple(F.expr(texts[0]).alias(name) for name, texts in self._texts.items())

    @property
    def merges(self) -> tuple[Column, ...]:
        return tuple(F.expr(texts[1]).alias(name) for name, texts in self._texts.items())

    @property
    def subtractions(self) -> dict[str, str]:
        return {name: texts[2] for name, texts in self._texts.items()}


def _as_native(merged: DataFrame, finishes: list[Column], natives: StructType) -> list[Column]:
    """Name the results, and give them the types of Spark's own aggregates."""
    numbered = [finish.alias(str(number)) for number, finish in enumerate(finishes)]
    results = []
    for finish, made, native in zip(
        finishes, merged.select(*numbered).schema, natives, strict=True
    ):
        is_same = made.dataType.simpleString() == native.dataType.simpleString()
        result = finish if is_same else finish.cast(native.dataType)
        results.append(result.alias(native.name))
    return results


def _recipe(label: str, name: str, aggregate: WindowAggregate, setting: Setting) -> Recipe:
    try:
        return aggregate.recipe(setting)
    except UnsuitableColumn as error:
        problem = f"column '{name}': {error.problem}"
        raise TopologyError(label, problem, error.remedy) from None


def _check(label: str, aggregates: Mapping[str, Any]) -> None:
    remedy = "Write for example aggregate(n=count(), mean=avg('rate'))."
    if not isinstance(aggregates, Mapping):
        given = f"the aggregates are {shown(aggregates)}"
        raise TopologyError(label, given, "Write for example aggs={'n': ps.count()}.")
    if not aggregates:
        raise TopologyError(label, "there is no aggregate", remedy)
    for name, aggregate in aggregates.items():
        if not is_text(name) or not name:
            raise TopologyError(label, f"an aggregate is called {shown(name)}", remedy)
        if not isinstance(aggregate, WindowAggregate):
            raise TopologyError(
                label, f"column '{name}' is a {type(aggregate).__name__}, not an aggregate", remedy
            )
