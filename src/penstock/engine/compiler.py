"""From a topology and a plan to the DataFrames of one micro-batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.classic.dataframe import DataFrame as DataFrameOf
from pyspark.sql.pandas.functions import pandas_udf
from pyspark.sql.types import StructField, StructType
from pyspark.util import PythonEvalType

from penstock.engine.columns import LETTER_TYPE, SOURCE_TAG, TASK, WATERMARK
from penstock.engine.observations import Counter
from penstock.engine.python_step import (
    FAILED,
    BatchesCall,
    Call,
    PythonStep,
    RowsCall,
)
from penstock.engine.schemas import arrow_schema, as_column, quoted
from penstock.engine.tables import Tables
from penstock.engine.task_metrics import TaskReport
from penstock.placement.placement import Border, Placement
from penstock.topology.components import Component, components
from penstock.topology.dag import Topology
from penstock.topology.jobs import ALL_SOURCES, chain_end, kept
from penstock.topology.operators import (
    DeadLetters,
    Filter,
    Join,
    LateRows,
    Map,
    Operator,
    Output,
    PythonOperator,
    Select,
    Source,
    Union,
)
from penstock.topology.row_counts import counted_by_spark

BEFORE_ALL_TIMES = -62_135_596_800_000_000  # the year 1, in microseconds


@dataclass(frozen=True, slots=True)
class Plan:
    """How the next micro-batch runs: tasks by component, and the watermark of each source."""

    tasks: Mapping[str, int]
    watermarks: Mapping[str, int | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rows:
    """A DataFrame on its way through the topology, with what is known of its partitions."""

    df: DataFrame
    partitions: int | None
    ordered: bool


@dataclass(slots=True)
class CompiledBatch:
    """The DataFrames of a micro-batch, not yet run."""

    frames: dict[str, DataFrame] = field(default_factory=dict)
    kept: list[DataFrame] = field(default_factory=list)
    counters: dict[str, Counter] = field(default_factory=dict)

    def release(self) -> None:
        """Free what was kept for several readers."""
        for df in self.kept:
            df.unpersist(blocking=False)
        self.kept.clear()


class Compiler:
    """Compiles micro-batches of one topology; what does not change is prepared once."""

    def __init__(
        self,
        topology: Topology,
        placement: Placement,
        report: TaskReport,
        tables: Tables,
    ) -> None:
        self.topology = topology
        self.components = components(topology)
        self.placement = placement
        self.tables = tables
        self.kept = frozenset(kept(topology))
        self.counted = counted_by_spark(topology)
        self.steps = _python_steps(self.components, report)

    def compile(self, batch: DataFrame, plan: Plan) -> CompiledBatch:
        """Return the DataFrames for every sink and every kept stream of a batch."""
        return _Compilation(self, batch, plan).run()


class _Compilation:
    """One walk through the topology, inputs before readers."""

    def __init__(self, compiler: Compiler, batch: DataFrame, plan: Plan) -> None:
        self._compiler = compiler
        self._topology = compiler.topology
        self._batch = batch
        self._plan = plan
        self._rows: dict[str, Rows] = {}
        self._letters: dict[str, DataFrame] = {}
        self._result = CompiledBatch()

    def run(self) -> CompiledBatch:
        self._read_sources()
        fused = {op.name for step in self._compiler.steps.values() for op in step.operators[1:]}
        for operator in self._topology:
            if isinstance(operator, Output):
                self._result.frames[operator.name] = self._rows[operator.inputs[0]].df
            elif isinstance(operator, PythonOperator):
                if operator.name not in fused:
                    self._run_python(self._compiler.steps[operator.name])
            else:
                rows = self._observed(operator, self._sql(operator))
                self._rows[operator.name] = self._keep(operator.name, rows)
        return self._result

    def _read_sources(self) -> None:
        sources = self._topology.sources
        whole = _as_it_came(self._batch)
        if len(sources) > 1:
            whole = self._keep(ALL_SOURCES, whole)
            for number, source in enumerate(sources):
                mine = whole.df.filter(F.col(SOURCE_TAG) == number).select(f"{source.name}.*")
                self._rows[source.name] = replace(whole, df=mine)
        else:
            self._rows[sources[0].name] = whole

    def _sql(self, operator: Operator) -> Rows:
        if isinstance(operator, Source):
            return self._rows[operator.name]
        if isinstance(operator, DeadLetters):
            return self._dead_letters(operator)
        if isinstance(operator, Union):
            return self._union([self._rows[name] for name in operator.inputs])
        rows = self._rows[operator.inputs[0]]
        if isinstance(operator, Select):
            columns = [as_column(expression) for expression in operator.expressions]
            return replace(rows, df=rows.df.select(*columns))
        if isinstance(operator, Filter):
            return replace(rows, df=rows.df.filter(operator.condition))
        if isinstance(operator, Join):
            return self._join(operator, rows)
        if isinstance(operator, LateRows):
            return replace(rows, df=self._late(operator, rows.df))
        raise AssertionError(f"no way to compile a {operator.kind}")

    def _union(self, inputs: list[Rows]) -> Rows:
        df = inputs[0].df
        for other in inputs[1:]:
            df = df.unionByName(other.df)
        counts = [rows.partitions for rows in inputs]
        known = [count for count in counts if count is not None]
        total = sum(known) if len(known) == len(counts) else None
        return Rows(df, total, all(rows.ordered for rows in inputs))

    def _join(self, operator: Join, rows: Rows) -> Rows:
        table = self._compiler.tables.current(operator)
        if table.is_small:
            joined = rows.df.join(F.broadcast(table.df), list(operator.on), operator.how)
            return replace(rows, df=joined)
        joined = rows.df.join(table.df, list(operator.on), operator.how)
        return Rows(joined, None, ordered=False)

    def _late(self, operator: LateRows, df: DataFrame) -> DataFrame:
        sources = [op for op in self._topology.upstream(operator.name) if isinstance(op, Source)]
        marks = [self._plan.watermarks.get(source.name) for source in sources]
        # Before there is a watermark nothing is late, as if it stood before all times.
        lowest = min(BEFORE_ALL_TIMES if mark is None else mark for mark in marks)
        # A number that changes with every batch would make Spark compile the stage's code anew each
        # time. An array reaches the code as an argument, and the index, which looks at the row,
        # keeps Spark from putting the number back.
        assert operator.time is not None
        time = F.col(quoted(operator.time))
        twice = F.array(*[F.timestamp_micros(F.lit(lowest).cast("bigint"))] * 2)
        mark = F.element_at(twice, F.when(F.unix_micros(time) >= 0, 1).otherwise(2))
        return df.filter(time <= mark).withColumn(WATERMARK, mark)

    def _dead_letters(self, operator: DeadLetters) -> Rows:
        ends = dict.fromkeys(chain_end(self._topology, name) for name in operator.inputs)
        wanted = [F.lit(name) for name in operator.inputs]
        frames = [
            self._letters[end].filter(F.col(f"{FAILED}.operator").isin(*wanted)) for end in ends
        ]
        parts = [Rows(df.select(f"{FAILED}.*"), None, ordered=False) for df in frames]
        return self._union(parts)

    def _run_python(self, step: CompiledStep) -> None:
        rows = self._placed(step, self._rows[step.operators[0].inputs[0]])
        rows = replace(rows, df=step.apply(rows.df))
        last = step.operators[-1].name
        if step.sets_aside:
            raw = self._keep(last, rows)
            self._letters[last] = raw.df.filter(F.col(FAILED).isNotNull())
            names = [F.col(quoted(name)) for name in step.operators[-1].schema.names]
            good = raw.df.filter(F.col(FAILED).isNull()).select(*names)
            self._rows[last] = replace(raw, df=good)
        else:
            self._rows[last] = self._keep(last, rows)

    def _placed(self, step: CompiledStep, rows: Rows) -> Rows:
        tasks = self._plan.tasks.get(step.component)
        if tasks is None or not step.opens_component:
            return rows
        border = Border(rows.partitions, tasks, rows.ordered)
        placement = self._compiler.placement
        if placement.fits(border):
            return rows
        expression = placement.expression(border)
        if expression is None:
            return Rows(rows.df.repartition(tasks), tasks, ordered=False)
        marked = rows.df.withColumn(TASK, F.expr(expression).cast("int"))
        moved = marked.repartitionById(tasks, F.col(TASK)).drop(TASK)
        return Rows(moved, tasks, ordered=False)

    def _observed(self, operator: Operator, rows: Rows) -> Rows:
        timed = isinstance(operator, Source) and operator.watermark is not None
        if operator.name not in self._compiler.counted and not timed:
            return rows
        counter, df = Counter.on(rows.df, operator.time if timed else None)
        self._result.counters[operator.name] = counter
        return replace(rows, df=df)

    def _keep(self, name: str, rows: Rows) -> Rows:
        if name not in self._compiler.kept:
            return rows
        df = rows.df.persist(StorageLevel.MEMORY_AND_DISK)
        self._result.kept.append(df)
        self._result.frames[name] = df
        return replace(rows, df=df)


@dataclass(frozen=True, slots=True)
class CompiledStep:
    """A run of Python operators, pickled once and applied to every batch."""

    component: str
    operators: tuple[Operator, ...]
    sets_aside: bool
    opens_component: bool
    function: Callable[..., Column]

    def apply(self, df: DataFrame) -> DataFrame:
        """Do what ``df.mapInArrow`` does, with a function that is not pickled again every batch."""
        call: Any = self.function(*[df[quoted(name)] for name in df.columns])
        java: Any = df._jdf
        return DataFrameOf(java.mapInArrow(call._jc, False, None), df.sparkSession)


def _python_steps(
    all_components: tuple[Component, ...], report: TaskReport
) -> dict[str, CompiledStep]:
    found = {}
    for component in all_components:
        opens = True
        for run in component.steps():
            if isinstance(run[0], PythonOperator):
                step = _python_step(component, run, opens, report)
                found[run[0].name] = step
                opens = False
    return found


def _python_step(
    component: Component, run: tuple[Operator, ...], opens: bool, report: TaskReport
) -> CompiledStep:
    operators = [operator for operator in run if isinstance(operator, PythonOperator)]
    calls: list[Call] = []
    for operator in operators:
        kind = RowsCall if isinstance(operator, Map) else BatchesCall
        schema = arrow_schema(operator.returns)
        calls.append(kind(operator.name, operator.function, schema, operator.on_error))
    sets_aside = any(call.on_error == "dead_letter" for call in calls)
    body = PythonStep(run[0].name, tuple(calls), sets_aside, report)
    declared: StructType = operators[-1].returns
    returns = _with_failures(declared) if sets_aside else declared
    function = pandas_udf(  # type: ignore[call-overload]
        body.__call__, returnType=returns, functionType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF
    )
    return CompiledStep(component.name, run, sets_aside, opens, function)


def _with_failures(struct: StructType) -> StructType:
    """Return the columns of a step that sets rows aside: all may be null, and a mark is added."""
    fields = [StructField(f.name, f.dataType, True) for f in struct.fields]
    return StructType([*fields, StructField(FAILED, LETTER_TYPE, True)])


def _as_it_came(df: DataFrame) -> Rows:
    """Ask Spark how many partitions a batch has, and whether their rows keep their order.

    The user's DataFrame may itself shuffle; a partition computed again then comes in another order.
    """
    java: Any = df._jdf
    plan = java.logicalPlan()
    is_rdd = plan.getClass().getSimpleName() == "LogicalRDD"
    rdd = plan.rdd() if is_rdd else java.queryExecution().toRdd()
    level = str(rdd.outputDeterministicLevel())
    return Rows(df, int(rdd.getNumPartitions()), ordered=level == "DETERMINATE")
