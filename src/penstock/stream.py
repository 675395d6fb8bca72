"""Stream: what users write."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from penstock.branch import Branch, Outlet
from penstock.classic_session import require_classic
from penstock.engine import checks, fusion_checks, window_checks
from penstock.engine.checks import How
from penstock.engine.columns import LETTER_TYPE, MISSED, MISSED_TYPE, TIME_TYPES, WATERMARK
from penstock.engine.schemas import (
    analysed,
    as_column,
    check_arrow,
    check_columns,
    check_streamable,
    parse_schema,
    prototype,
    schema_of,
)
from penstock.errors import TopologyError
from penstock.grouped import Grouped, Windowed
from penstock.sinks import Sink
from penstock.topology.dag import label_of
from penstock.topology.operators import (
    Consolidate,
    DeadLetters,
    Emit,
    Filter,
    Join,
    LateRows,
    Map,
    MapBatches,
    OnError,
    Operator,
    Output,
    PythonOperator,
    Select,
    Source,
    Spans,
    Union,
)
from penstock.windows.durations import Duration, seconds
from penstock.windows.specs import WindowSpec
from penstock.windows.watermark import FixedDelay, Watermark

RowFunction = Callable[[dict[str, Any]], dict[str, Any] | list[dict[str, Any]] | None]
BatchFunction = Callable[[pa.RecordBatch], pa.RecordBatch]
TableSource = DataFrame | Callable[[], DataFrame]
# Joins after which the columns of the stream are as they were.
_KEEPING_JOINS = ("inner", "left", "left_semi", "left_anti")


class Stream(Branch):
    """A stream of rows on its way from a source through operators.

    Every method returns a new stream and leaves this one as it is, so one stream can be read by
    several branches. Mistakes are told at once, by a ``TopologyError`` that names the operator.
    """

    def __init__(
        self,
        operator: Operator,
        prototype: DataFrame,
        parents: Sequence[Branch] = (),
        *,
        is_named: bool = False,
    ) -> None:
        super().__init__(operator, parents, is_named=is_named)
        self._prototype = prototype

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self._operator.schema.names

    @property
    def schema(self) -> StructType:
        """The columns, as Spark describes them."""
        return self._prototype.schema

    @classmethod
    def read(
        cls,
        df: DataFrame,
        *,
        time: str | tuple[str, str] | None = None,
        watermark: Watermark | Duration | None = None,
        idle_after: Duration | None = None,
        spans: Spans = "start",
        cardinality: Mapping[str, int] | None = None,
        name: str | None = None,
    ) -> Stream:
        """Start a stream at a streaming DataFrame.

        ``time`` names its event-time column, and ``watermark`` how late rows may be: a duration, or
        a rule such as ``KSlack()``. A source that gave no row for ``idle_after`` does not hold the
        windows of other sources back. Where a query has several sources, each needs a ``name``.

        Rows that span time have two columns, ``time=("start", "end")``, of which the watermark
        follows the first; ``spans`` says in which windows such a row counts: in those of its
        ``"start"`` or its ``"end"``, in ``"each"`` that it touches, or ``"split"`` among them by
        overlap.

        ``cardinality`` says how many values columns have, where you know: rows that are shared out
        by such a column are of no use to more tasks than that.
        """
        label = label_of(name, "source")
        df = require_classic(df)
        begin, until = window_checks.time_columns(label, time)
        checks.check_source(label, df, begin, until, watermark is not None)
        window_checks.check_spans(label, spans, until)
        rule = watermark if isinstance(watermark, Watermark) else None
        if watermark is not None and rule is None:
            rule = FixedDelay.of(watermark)  # type: ignore[arg-type]
        source = Source(
            name=label,
            schema=schema_of(df.schema),
            time=begin,
            until=until,
            spans=spans,
            data=df,
            watermark=rule,
            idle_after_seconds=None if idle_after is None else seconds(idle_after),
            cardinalities=fusion_checks.cardinalities(label, schema_of(df.schema), cardinality),
        )
        return cls(source, prototype(df.sparkSession, df.schema), is_named=name is not None)

    def map(
        self,
        fn: RowFunction,
        schema: str | StructType,
        *,
        cost_key: str | Sequence[str] | None = None,
        keeps: str | Sequence[str] = (),
        fuse: bool = True,
        on_error: OnError = "fail",
        name: str | None = None,
    ) -> Stream:
        """Call ``fn`` once for every row: a dict in; a dict, a list of dicts or None out.

        ``schema`` declares the columns that come out; further keys are left out, a missing key or a
        value of another type is an error of that row. ``on_error='dead_letter'`` sends such rows,
        and those on which ``fn`` raises, to ``dead_letters()``.

        ``cost_key`` names the columns on which the time that ``fn`` takes depends. Each call is
        then timed, and ``placement=CostAware()`` shares out rows by what they will cost.

        ``keeps`` names the columns that every row that comes out has from the row that went in, so
        that rows which are shared out by them before ``fn`` need not move again after it.
        ``fuse=False`` lets the operator run by itself.
        """
        return self._python(Map, fn, schema, cost_key, keeps, fuse, on_error, name)

    def map_batches(
        self,
        fn: BatchFunction,
        schema: str | StructType,
        *,
        cost_key: str | Sequence[str] | None = None,
        keeps: str | Sequence[str] = (),
        fuse: bool = True,
        on_error: OnError = "fail",
        name: str | None = None,
    ) -> Stream:
        """Call ``fn`` once for every Arrow record batch; it returns one.

        With ``on_error='dead_letter'`` all rows of a batch on which ``fn`` raises are set aside.
        With a ``cost_key`` batches are small, so that a call's time tells of the few keys in it.
        ``keeps`` and ``fuse`` are as for ``map``.
        """
        return self._python(MapBatches, fn, schema, cost_key, keeps, fuse, on_error, name)

    def select(self, *expressions: str | Column, name: str | None = None) -> Stream:
        """Compute columns with SQL expressions, as ``selectExpr`` does; they stay in the JVM.

        Columns of ``pyspark.sql.functions`` work too. One row comes out for each that goes in,
        ``explode`` and the like apart; sums and window functions over a micro-batch are refused.
        """
        label = label_of(name, "select")
        checks.check_selected(label, expressions)
        before, empty = self._operator.schema, self._prototype
        for each in expressions:
            analysed(label, f'"{each}"', lambda each=each: empty.select(as_column(each)), before)  # type: ignore[misc]
        columns = [as_column(each) for each in expressions]
        df = analysed(label, "select", lambda: empty.select(*columns), before)
        row_by_row = check_streamable(label, "select", df)
        check_columns(label, df.schema, "Name one of them with AS")
        operator = Select(
            name=label,
            schema=schema_of(df.schema),
            expressions=expressions,
            row_by_row=row_by_row,
            kept=fusion_checks.kept_columns(empty, df),
        )
        return self._then(operator, df, name)

    def filter(self, condition: str | Column, *, name: str | None = None) -> Stream:
        """Keep the rows for which an SQL condition is true; it sees one row at a time."""
        label = label_of(name, "filter")
        checks.check_expression(label, condition, "Write filter('a > 1').")
        before = self._operator.schema
        what = f'"{condition}"'
        df = analysed(label, what, lambda: self._prototype.filter(condition), before)
        check_streamable(label, what, df)
        return self._then(Filter(name=label, schema=before, condition=condition), df, name)

    def union(self, *others: Stream, name: str | None = None) -> Stream:
        """Put the rows of several streams together, by column name.

        Their columns must have the same types; a column may be null if it may on any side.
        """
        label = label_of(name, "union")
        if not others:
            raise TopologyError(label, "there is nothing to unite with", "Write a.union(b).")
        united = self._prototype
        for other in others:
            if not isinstance(other, Stream):
                raise TopologyError(
                    label, f"a {type(other).__name__} is no stream", "Write a.union(b, c)."
                )
            checks.check_union(label, self._operator, other._operator)
            united = united.unionByName(other._prototype)
        struct = united.schema  # Spark says which columns may be null
        operator = Union(name=label, schema=schema_of(struct))
        return self._then(operator, prototype(united.sparkSession, struct), name, (self, *others))

    def join(
        self,
        table: TableSource,
        on: str | Sequence[str],
        how: How = "inner",
        *,
        refresh: Duration | None = None,
        broadcast: bool | None = None,
        name: str | None = None,
    ) -> Stream:
        """Join every row with a table: a DataFrame, or a function that returns one.

        ``how`` is ``"inner"``, ``"left"``, ``"left_semi"`` or ``"left_anti"``, or another of
        Spark's words for these.

        The table is read once and kept; with ``refresh`` it is read again that often. Small tables
        are broadcast, as Spark sees fit or as ``broadcast`` says.
        """
        label = label_of(name, "join")
        keys, kind = checks.join_keys(label, on), checks.join_kind(label, how)
        df = checks.join_table(label, table)
        checks.check_join(label, self._operator.schema, df, keys)
        empty = prototype(df.sparkSession, df.schema)
        joined = analysed(
            label,
            f"the join on {', '.join(keys)}",
            lambda: self._prototype.join(empty, list(keys), kind),
            self._operator.schema,
        )
        check_columns(label, joined.schema, "Rename or drop it on one side of the join")
        operator = Join(
            name=label,
            schema=schema_of(joined.schema),
            table=table,
            on=keys,
            how=kind,
            refresh_seconds=None if refresh is None else seconds(refresh),
            broadcast=broadcast,
            kept={name: name for name in self.columns if kind in _KEEPING_JOINS},
        )
        return self._then(operator, prototype(joined.sparkSession, joined.schema), name)

    def group_by(self, *columns: str) -> Grouped:
        """Name the columns by which rows belong together.

        Follow it with ``window(...)``, or with ``process(...)`` for a state of each key.
        """
        keys = window_checks.group_keys("group_by", self._operator.schema, columns)
        return Grouped(self, keys)

    def window(
        self, *specs: WindowSpec, emit: Emit = "on_close", spans: Spans | None = None
    ) -> Windowed:
        """Cut the stream into windows: ``tumbling(...)``, ``sliding(...)``, or several at once.

        Follow it with ``aggregate(...)`` or ``reduce(...)``. A window comes out once, when the
        watermark has passed its end; with ``emit="every_batch"`` open windows come out too, each
        time that they change, and a column ``is_final`` tells which are closed.
        """
        return Windowed(self, (), specs, emit, spans)

    def late_rows(self, *, name: str | None = None) -> Stream:
        """Return a copy of the rows that came too late.

        Where windows read this stream, those are the rows that missed a window because it had
        closed; a column ``_missed`` names the windows. Such a row still counts in windows that are
        open. Elsewhere they are the rows whose time the watermark had passed. A column
        ``_watermark`` says where the watermark stood. The rows stay in this stream too.
        """
        label = label_of(name, "late_rows")
        checks.check_late(label, self._operator, [branch._operator for branch in self._upstream()])
        watermark = F.lit(None).cast("timestamp").alias(WATERMARK)
        missed = F.lit(None).cast(MISSED_TYPE).alias(MISSED)
        df = self._prototype.select("*", watermark, missed)
        check_columns(label, df.schema, "Rename yours: late rows get a column of that name")
        return self._then(LateRows(name=label, schema=schema_of(df.schema)), df, name)

    def dead_letters(self, *, name: str | None = None) -> Stream:
        """Return the rows on which operators up to here failed.

        Columns: operator, error (its type), message, row (as JSON, as the operator got it) and
        traceback.
        """
        label = label_of(name, "dead_letters")
        failing = [
            branch
            for branch in self._upstream()
            if isinstance(branch._operator, PythonOperator)
            and branch._operator.on_error == "dead_letter"
        ]
        checks.check_letters(label, len(failing))
        df = prototype(self._prototype.sparkSession, LETTER_TYPE)
        operator = DeadLetters(name=label, schema=schema_of(LETTER_TYPE))
        return self._then(operator, df, name, failing)

    def to(
        self, sink: Sink | Callable[[DataFrame, int], object], *, name: str | None = None
    ) -> Outlet:
        """End the branch in a sink, or in a function of ``(df, batch_id)``.

        Give what comes out to ``penstock.run``. Columns that the sink can't take are refused here.
        """
        sink = checks.as_sink(label_of(name, "sink"), sink)
        kind = sink.describe().partition("(")[0]
        label = label_of(name, kind if kind.isidentifier() else "sink")
        checks.check_sink(label, sink, self.columns)
        output = Output(name=label, schema=self._operator.schema, sink=sink)
        return Outlet(output, [self], is_named=name is not None)

    def component(self, name: str) -> Stream:
        """Let the newest operator run in a component of this name, with others that do so too.

        Operators of one component run as one stage. Say it of several to force them together, or
        give one a name of its own to keep it apart. SQL always runs with what it reads.
        """
        readers = [branch._operator.name for branch in self._children]
        fusion_checks.check_component(name, self._operator, readers)
        self._leave()
        parents = self._parents
        if isinstance(self._operator, Consolidate):
            (compute,) = parents
            compute._leave()
            operator = replace(compute._operator, component=name)
            parents = (Branch(operator, compute._parents, is_named=compute._is_named),)
        made = replace(self._operator, component=name)
        return type(self)(made, self._prototype, parents, is_named=self._is_named)

    def _python(
        self,
        kind: type[Map] | type[MapBatches],
        fn: Callable[..., Any],
        schema: str | StructType,
        cost_key: str | Sequence[str] | None,
        keeps: str | Sequence[str],
        fuse: bool,
        on_error: OnError,
        name: str | None,
    ) -> Stream:
        label = checks.function_label(fn, name, kind.kind)
        checks.check_function(label, fn, on_error)
        fusion_checks.check_fuse(label, fuse)
        check_arrow(label, self.schema)
        struct = parse_schema(label, schema)
        df = prototype(self._prototype.sparkSession, struct)
        operator = kind(
            name=label,
            schema=schema_of(struct),
            function=fn,
            returns=struct,
            on_error=on_error,
            cost_key=checks.cost_key(label, self._operator.schema, cost_key),
            kept=fusion_checks.kept(label, self._operator.schema, schema_of(struct), keeps),
            fuse=fuse,
        )
        return self._then(operator, df, name)

    def _then(
        self,
        operator: Operator,
        df: DataFrame,
        name: str | None,
        parents: Sequence[Branch] | None = None,
    ) -> Stream:
        parents = (self,) if parents is None else parents
        times = {(op.time, op.until, op.spans) for op in (each._operator for each in parents)}
        time, until, spans = times.pop() if len(times) == 1 else (None, None, "start")
        kept = time is not None and operator.schema.type_of(time) in TIME_TYPES
        if kept and (until is None or operator.schema.type_of(until) == "timestamp"):
            operator = replace(operator, time=time, until=until, spans=spans)
        return Stream(operator, df, parents, is_named=name is not None)
