"""From a topology and a plan to the DataFrames of one micro-batch."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.engine.columns import SOURCE_TAG
from penstock.engine.compiled_batch import CompiledBatch, Plan, Rows
from penstock.engine.compiled_step import CompiledStep, StateHome, python_steps
from penstock.engine.keyed_rows import Route, moved_by_key, routed, with_marks
from penstock.engine.late_rows import as_late_rows, late_rows
from penstock.engine.observations import Measures, counting
from penstock.engine.placing import Placing
from penstock.engine.python_step import FAILED
from penstock.engine.schemas import as_column, prototype, quoted
from penstock.engine.shedding import Shedding
from penstock.engine.source_times import SourceTimes
from penstock.engine.tables import Tables
from penstock.engine.task_metrics import TaskReport
from penstock.engine.windowed_operator import WindowedOperator
from penstock.topology.components import Component, Components, owner_of_groups
from penstock.topology.dag import Topology
from penstock.topology.jobs import ALL_SOURCES, kept, rounds
from penstock.topology.operators import (
    Compute,
    Consolidate,
    DeadLetters,
    Filter,
    Join,
    LateRows,
    Operator,
    Output,
    Process,
    PythonOperator,
    Select,
    Source,
    Union,
)
from penstock.topology.row_counts import counted_by_spark


class Compiler:
    """Compiles micro-batches of one topology; what does not change is prepared once."""

    def __init__(
        self,
        components: Components,
        placing: Placing,
        report: TaskReport,
        tables: Tables,
        windows: Mapping[str, WindowedOperator],
        home: StateHome,
        routes: Mapping[str, Route],
        shedding: Shedding,
    ) -> None:
        self.topology = topology = components.topology
        self.shedding = shedding
        self.windows = windows
        self.turns = rounds(topology)
        self.measured_by = {
            source: name
            for name, operator in windows.items()
            if (source := _source_seen_by(topology, operator)) is not None
        }
        self.times = {
            source.name: SourceTimes(source)
            for source in topology.sources
            if source.watermark and source.name not in self.measured_by
        }
        self.components = components
        self.placing = placing
        self.tables = tables
        self.kept = frozenset(kept(topology, components))
        self.counted = counted_by_spark(topology)
        self.counting = counting()
        self.routes = routes
        timed = frozenset(op.name for op in topology.processes if _has_watermark(topology, op.name))
        self.steps = python_steps(self.components, report, home, timed, placing.sketch)

    def begin(self, batch: DataFrame, plan: Plan) -> Compilation:
        """Start compiling a batch, round by round."""
        return Compilation(self, batch, plan)


class Compilation:
    """One walk through the topology, inputs before readers.

    ``result`` holds the DataFrames for every sink, every kept stream and every compute operator of
    the rounds compiled so far.
    """

    def __init__(self, compiler: Compiler, batch: DataFrame, plan: Plan) -> None:
        self._compiler = compiler
        self._topology = compiler.topology
        self._batch = batch
        self._plan = plan
        self._rows: dict[str, Rows] = {}
        self._letters: dict[str, DataFrame] = {}
        self.result = CompiledBatch()

    def compile(
        self, turn: int, windows: Mapping[str, DataFrame], dry: Collection[str] = ()
    ) -> None:
        """Compile one round.

        ``windows`` are the complete windows by consolidate operator. Operators in ``dry`` have
        nothing to read and are left out.
        """
        if turn == 0:
            self._read_sources()
        fused = {op.name for step in self._compiler.steps.values() for op in step.operators[1:]}
        for operator in self._topology:
            name = operator.name
            if self._compiler.turns[name] != turn or name in dry or name in fused:
                continue
            if isinstance(operator, Output):
                self.result.frames[name] = self._rows[operator.inputs[0]].df
            elif isinstance(operator, Compute):
                self._compute(operator)
            elif isinstance(operator, PythonOperator):
                self._run_python(self._compiler.steps[name])
            else:
                rows = self._windows(operator, windows) or self._sql(operator)
                self._rows[name] = self._split(operator, rows) or self._finished(operator, rows)

    def _windows(self, operator: Operator, windows: Mapping[str, DataFrame]) -> Rows | None:
        if not isinstance(operator, Consolidate):
            return None
        df = windows.get(operator.name)
        if df is None:
            df = prototype(self._batch.sparkSession, operator.returns)
        return Rows(df, None, ordered=False)

    def _compute(self, operator: Compute) -> None:
        windowed = self._compiler.windows[operator.name]
        rows = self._rows[operator.inputs[0]]
        slots = self._plan.slots
        tasks = self._plan.panes.get(operator.name, slots) if windowed.is_preference else slots
        stays = self._compiler.components.stays(operator)
        if windowed.is_changing:  # rows of older windows go another way than those of newer ones
            df = rows.df.persist(StorageLevel.MEMORY_AND_DISK)
            self.result.kept.append(df)
            rows = replace(rows, df=df)
        partials = windowed.frame_of(
            rows.df, tasks, ordered=rows.ordered, partitions=rows.partitions, stays=stays
        )
        self.result.frames[operator.name] = partials.frame
        self.result.inner += partials.inner

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
            return self._late(operator, rows)
        raise AssertionError(f"no way to compile a {operator.kind}")

    def _union(self, inputs: list[Rows]) -> Rows:
        df = inputs[0].df
        for other in inputs[1:]:
            df = df.unionByName(other.df)
        counts = [rows.partitions for rows in inputs]
        known = [count for count in counts if count is not None]
        total = sum(known) if len(known) == len(counts) else None
        in_python = any(rows.in_python for rows in inputs)
        return Rows(df, total, all(rows.ordered for rows in inputs), in_python)

    def _join(self, operator: Join, rows: Rows) -> Rows:
        table = self._compiler.tables.current(operator)
        if table.is_small:
            joined = rows.df.join(F.broadcast(table.df), list(operator.on), operator.how)
            return replace(rows, df=joined)
        joined = rows.df.join(table.df, list(operator.on), operator.how)
        return Rows(joined, None, ordered=False)

    def _late(self, operator: LateRows, rows: Rows) -> Rows:
        assert operator.time is not None
        readers = self._topology.consumers[operator.inputs[0]]
        windowed = [self._compiler.windows[op.name] for op in readers if isinstance(op, Compute)]
        low = self._plan.lows.get(operator.name)
        late = replace(rows, df=late_rows(rows.df, operator.time, low, windowed))
        shed = self._compiler.shedding.apart(operator.inputs[0])
        return late if shed is None else self._union([late, replace(rows, df=as_late_rows(shed))])

    def _dead_letters(self, operator: DeadLetters) -> Rows:
        step_ends = self._compiler.components.step_ends
        ends = dict.fromkeys(step_ends[name] for name in operator.inputs)
        wanted = [F.lit(name) for name in operator.inputs]
        frames = [
            self._letters[end].filter(F.col(f"{FAILED}.operator").isin(*wanted)) for end in ends
        ]
        parts = [Rows(df.select(f"{FAILED}.*"), None, ordered=False) for df in frames]
        return self._union(parts)

    def _run_python(self, step: CompiledStep) -> None:
        first, last = step.operators[0], step.operators[-1].name
        rows = self._rows[first.inputs[0]]
        if step.opens_component:
            rows = self._entered(self._compiler.components[step.component], rows)
        elif isinstance(first, Process):
            in_sequence = self._in_sequence(first, rows)
            rows = with_marks(rows, first, in_sequence=in_sequence, in_place=True)
        rows = replace(rows, df=step.apply(rows.df), in_python=True)
        if isinstance(first, Process):
            rows = replace(rows, sequence=self._compiler.components.job.key_attributes(first.name))
        if step.sets_aside:
            raw = self._keep(last, rows)
            self._letters[last] = raw.df.filter(F.col(FAILED).isNotNull())
            names = [F.col(quoted(name)) for name in step.operators[-1].schema.names]
            good = raw.df.filter(F.col(FAILED).isNull()).select(*names)
            self._rows[last] = replace(raw, df=good)
        else:
            raw = self._rows[last] = self._keep(last, rows)
        if isinstance(first, Process):
            self.result.processed[last] = raw.df

    def _entered(self, component: Component, rows: Rows) -> Rows:
        """Move rows to where the tasks of a component will find them."""
        entrance, keyed = component.entrance, owner_of_groups(component)
        if keyed is not None:
            route = self._compiler.routes[component.name]
            if isinstance(entrance, Process):
                in_sequence = self._in_sequence(entrance, rows)
                return routed(rows, entrance, route, in_sequence=in_sequence)
            return moved_by_key(rows, self._key_columns(component, keyed), route)
        tasks = self._plan.tasks.get(component.name)
        if tasks is None:
            return rows
        if component.by:
            return self._compiler.placing.by_columns(rows, component.by, tasks)
        return self._compiler.placing.place(component.name, rows, tasks)

    def _in_sequence(self, operator: Process, rows: Rows) -> bool:
        own = self._compiler.components.job.key_attributes(operator.name)
        return bool(rows.sequence) and rows.sequence <= own

    def _key_columns(self, component: Component, keyed: Process) -> list[str]:
        """Name the columns at a component's entrance that hold the keys of an operator in it."""
        lineage = self._compiler.components.job.lineage
        at_entrance = {a: c for c, a in lineage.inputs(component.entrance.name).items()}
        further_on = lineage.inputs(keyed.name)
        return [at_entrance[further_on[key]] for key in keyed.keys]

    def _split(self, operator: Operator, rows: Rows) -> Rows | None:
        """Let only those rows of a source on that are to be processed, where not all are.

        All are kept where several read them, so that its late rows find the others.
        """
        shedding = self._compiler.shedding
        split = shedding.split(operator, rows.df) if isinstance(operator, Source) else None
        if split is None:
            return None
        measures, counted = Measures.on(rows.df, *split.counts)
        whole = self._finished(operator, replace(rows, df=counted), split.is_admitted)
        is_kept = operator.name in self._compiler.kept
        shedding.set_apart(operator.name, whole.df if is_kept else rows.df, split, measures)
        return replace(whole, df=whole.df.filter(split.is_admitted))

    def _finished(self, operator: Operator, rows: Rows, only: Column | None = None) -> Rows:
        return self._keep(operator.name, self._observed(operator, rows, only))

    def _observed(self, operator: Operator, rows: Rows, only: Column | None) -> Rows:
        """Count rows on the way where nobody else does, of ``only`` some where not all count."""
        if operator.name in self._compiler.measured_by:
            return rows
        if operator.name in self._compiler.times:
            mark = self._plan.marks.get(operator.name)
            measures, df = self._compiler.times[operator.name].measure(rows.df, mark, only)
        elif operator.name in self._compiler.counted:
            count = self._compiler.counting if only is None else counting(only=only)
            measures, df = Measures.on(rows.df, count)
        else:
            return rows
        self.result.counters[operator.name] = measures
        return replace(rows, df=df)

    def _keep(self, name: str, rows: Rows) -> Rows:
        if name not in self._compiler.kept:
            return rows
        df = rows.df.persist(StorageLevel.MEMORY_AND_DISK)
        self.result.kept.append(df)
        self.result.frames[name] = df
        return replace(rows, df=df, in_python=False)  # readers find them finished


def _has_watermark(topology: Topology, name: str) -> bool:
    """Whether a watermark ever comes to an operator: all sources before it must have one."""
    before = [op for op in topology.upstream(name) if isinstance(op, Source)]
    return all(source.watermark is not None for source in before)


def _source_seen_by(topology: Topology, windowed: WindowedOperator) -> str | None:
    """Return the source of which a windowed operator sees every row and its time, if there is one.

    Then that operator tells of them what a watermark needs, and nobody else has to look.
    """
    name = windowed.compute.inputs[0]
    while isinstance(topology[name], Select) and topology[name].keeps_rows:
        select = topology[name]
        assert isinstance(select, Select)
        # Asked of texts only: a Column has no answer to whether it equals another.
        texts = [each for each in select.expressions if isinstance(each, str)]
        if topology.is_fork(name) or select.time not in texts:
            return None
        name = select.inputs[0]
    source = topology[name]
    if not isinstance(source, Source) or topology.is_fork(name) or source.watermark is None:
        return None
    compute = windowed.compute
    same_time = source.time == compute.time and compute.spans == "start"
    sees_all = windowed.partials.counts_on_the_way and same_time
    return name if sees_all and not source.watermark.counts_late else None


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
