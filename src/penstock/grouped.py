"""Streams that are grouped and cut into windows, on their way to aggregates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import StructType

from penstock.aggregate import Aggregate
from penstock.branch import Branch
from penstock.engine import checks, fusion_checks, window_checks
from penstock.engine.aggregation import Aggregation, SqlAggregation
from penstock.engine.columns import WINDOW
from penstock.engine.pane_rows import SHARE
from penstock.engine.preference_aggregation import PreferenceAggregation
from penstock.engine.preference_checks import check_delta
from penstock.engine.schemas import check_columns, parse_schema, prototype, schema_of
from penstock.engine.user_aggregation import UserAggregation
from penstock.engine.window_results import result_type
from penstock.key_state import KeyState
from penstock.preference.pane_splitting import How, PaneSplitting
from penstock.preference.preference import Dominates, Missing, Preference
from penstock.preference.query import PreferenceQuery
from penstock.topology.dag import label_of
from penstock.topology.operators import Compute, Consolidate, Emit, OnError, Process, Spans
from penstock.windows.aggregates import WindowAggregate
from penstock.windows.ladder import choose_ladder
from penstock.windows.ladder_costs import Sizes
from penstock.windows.panes import paned
from penstock.windows.specs import WindowSpec

ASSUMED_KEYS = 1_000

KeyFunction = Callable[
    [dict[str, Any], list[dict[str, Any]], KeyState], dict[str, Any] | list[dict[str, Any]] | None
]

if TYPE_CHECKING:
    from penstock.stream import Stream


class Grouped:
    """A stream with the columns by which its rows belong together."""

    def __init__(self, stream: Stream, keys: tuple[str, ...]) -> None:
        self._stream = stream
        self._keys = keys

    def window(
        self, *specs: WindowSpec, emit: Emit = "on_close", spans: Spans | None = None
    ) -> Windowed:
        """Cut the stream into windows for every key; see ``Stream.window``."""
        return Windowed(self._stream, self._keys, specs, emit, spans)

    def process(
        self,
        fn: KeyFunction,
        *,
        state: str | StructType,
        schema: str | StructType,
        keeps: str | Sequence[str] = (),
        fuse: bool = True,
        on_error: OnError = "fail",
        name: str | None = None,
        groups: int = 128,
    ) -> Stream:
        """Call ``fn(key, rows, state)`` once for every key and micro-batch, with the key's state.

        ``rows`` are the key's rows of the micro-batch, as dicts in the order of their event time.
        ``fn`` reads and changes the :class:`~penstock.KeyState`, and returns a dict, a list of
        dicts or None. It is called without rows when the key's timer has come.

        ``state`` declares the columns of a key's state, ``schema`` those that come out. A key on
        which ``fn`` fails keeps the state it had; with ``on_error='dead_letter'`` its rows of the
        micro-batch go to ``dead_letters()``. Keys are kept in ``groups`` groups, which move between
        tasks as a whole.

        ``keeps`` names the columns that every row that comes out has from its key: a ``process`` by
        the same columns that follows then runs with this one, and rows move once for both.
        ``fuse=False`` lets the operator run by itself.
        """
        stream, operator = self._stream, self._stream._operator
        label = checks.function_label(fn, name, Process.kind)
        checks.check_function(label, fn, on_error)
        checks.check_process(label, stream.schema, self._keys, groups)
        fusion_checks.check_fuse(label, fuse)
        kept = parse_schema(label, state)
        struct = parse_schema(label, schema)
        keys = StructType([stream.schema[key] for key in self._keys])
        process = Process(
            name=label,
            schema=schema_of(struct),
            function=fn,
            returns=struct,
            on_error=on_error,
            key_columns=schema_of(keys),
            state_columns=schema_of(kept),
            groups=groups,
            rows=stream.schema,
            state=kept,
            by_time=operator.time,
            kept=fusion_checks.kept(label, schema_of(keys), schema_of(struct), keeps),
            fuse=fuse,
        )
        return stream._then(process, prototype(stream._prototype.sparkSession, struct), name)


class Windowed:
    """A stream cut into windows, of which nothing is computed yet."""

    def __init__(
        self,
        stream: Stream,
        keys: tuple[str, ...],
        specs: tuple[WindowSpec, ...],
        emit: Emit,
        spans: Spans | None,
    ) -> None:
        operator = stream._operator
        self._spans = operator.spans if spans is None else spans
        upstream = [branch._operator for branch in stream._upstream()]
        window_checks.check_window("window", operator, upstream, specs, emit, self._spans)
        self._stream = stream
        self._keys = keys
        self._emit = emit
        self._panes = paned(specs)

    def aggregate(
        self, *, name: str | None = None, fuse: bool = True, **aggregates: WindowAggregate
    ) -> Stream:
        """Aggregate every window: ``aggregate(n=count(), mean=avg("rate"))``.

        Columns that come out: ``window`` (its start and end), ``window_name`` where there are
        several windows, the columns of ``group_by``, and one for every aggregate. With
        ``fuse=False`` rows of a key are brought together before anything is computed of them.
        """
        window_checks.check_name(name)
        label = label_of(name, "windows")
        fusion_checks.check_fuse(label, fuse)
        empty = self._stream._prototype
        share = SHARE if self._spans == "split" else None
        operator = self._stream._operator
        time = operator.until if self._spans == "end" else operator.time
        resolved = SqlAggregation.resolve(label, aggregates, empty, time, share)
        said = ", ".join(f"{key}={each.describe()}" for key, each in aggregates.items())
        meaning = "; ".join(each.describe() for each in aggregates.values())
        return self._consolidated(label, name, resolved, said, meaning, fuse)

    def reduce(self, aggregate: Aggregate, *, name: str | None = None, fuse: bool = True) -> Stream:
        """Aggregate every window with an ``Aggregate`` of the user's own."""
        label = label_of(name, "windows")
        fusion_checks.check_fuse(label, fuse)
        window_checks.check_whole_rows(label, self._spans, "an aggregate of your own")
        empty = self._stream._prototype
        resolved = UserAggregation.resolve(label, aggregate, empty, self._keys)
        said = type(aggregate).__name__
        return self._consolidated(label, name, resolved, said, said, fuse)

    def skyline(
        self,
        *,
        minimize: str | Sequence[str] = (),
        maximize: str | Sequence[str] = (),
        missing: Missing = "refuse",
        dominates: Dominates | None = None,
        splitting: PaneSplitting | How | None = None,
        name: str | None = None,
    ) -> Stream:
        """Keep the rows of every window that no other row of it dominates: its skyline.

        A row dominates another that is nowhere better and somewhere worse; rows that are equal are
        all kept. ``missing`` says what a null or NaN in one of the columns is: "refuse" stops the
        query, "last" makes it worse than every number. ``dominates`` is a preference of your own.
        ``splitting`` says how panes are split over tasks: see :class:`PaneSplitting`.

        Columns that come out: ``window``, ``window_name`` where there are several windows, the
        columns of ``group_by``, and all others of the row.
        """
        preference = Preference.checked(
            label_of(name, "skyline"), minimize, maximize, missing, dominates
        )
        return self._preferred(name, PreferenceQuery(preference), None, splitting)

    def top_dominant(
        self,
        delta: int,
        *,
        minimize: str | Sequence[str] = (),
        maximize: str | Sequence[str] = (),
        missing: Missing = "refuse",
        k_column: str | None = None,
        splitting: PaneSplitting | How | None = None,
        name: str | None = None,
    ) -> Stream:
        """Keep the strongest rows of every window, at least ``delta`` of them where it has so many.

        Each of them is dominated in no k of the columns by any other row, for the smallest k of
        which there are at least ``delta`` such rows; where a skyline is smaller, it is all of it.
        ``k_column`` names a column for the k that was found. See :meth:`skyline` for the rest.
        """
        label = label_of(name, "top_dominant")
        check_delta(label, delta)
        preference = Preference.checked(label, minimize, maximize, missing)
        return self._preferred(name, PreferenceQuery(preference, delta), k_column, splitting)

    def _preferred(
        self,
        name: str | None,
        query: PreferenceQuery,
        k_column: str | None,
        splitting: PaneSplitting | How | None,
    ) -> Stream:
        label = label_of(name, "skyline" if query.delta is None else "top_dominant")
        window_checks.check_whole_rows(label, self._spans, "a preference query")
        how = PaneSplitting.written(splitting)
        resolved = PreferenceAggregation.resolve(
            label, query, self._stream.schema, self._keys, k_column, how
        )
        return self._consolidated(label, name, resolved, query.describe(), query.describe())

    def _consolidated(
        self,
        label: str,
        name: str | None,
        aggregation: Aggregation,
        said: str,
        meaning: str,
        fuse: bool = True,
    ) -> Stream:
        stream, operator = self._stream, self._stream._operator
        keys = [stream.schema[key] for key in self._keys]
        window_checks.check_keys(label, schema_of(StructType(keys)), self._emit)
        partials = StructType([*keys, *aggregation.state.fields])
        compute = Compute(
            name=f"{label}_partials",
            schema=schema_of(partials),
            keys=self._keys,
            panes=self._panes,
            time=operator.time,
            until=operator.until,
            spans=self._spans,
            rows=stream.schema,
            aggregation=aggregation,
            aggregates=said,
            meaning=meaning,
            state=aggregation.state_text,
            moves_rows=isinstance(aggregation, PreferenceAggregation),
            fuse=fuse,
        )
        struct = result_type(self._panes, keys, aggregation.schema, self._emit)
        check_columns(label, struct, "Rename the column, key, aggregate or k_column of that name")
        consolidate = Consolidate(
            name=label,
            schema=schema_of(struct),
            time=WINDOW,
            panes=self._panes,
            returns=struct,
            emit=self._emit,
            plan=self._plan(aggregation),
        )
        branch = Branch(compute, [stream], is_named=name is not None)
        session = stream._prototype.sparkSession
        made = type(stream)
        return made(consolidate, prototype(session, struct), [branch], is_named=name is not None)

    def _plan(self, aggregation: Aggregation) -> str:
        """Say how windows would be formed if panes had some keys; a run plans by what it meets."""
        if isinstance(aggregation, PreferenceAggregation):
            return "merged from the skylines of panes"
        sizes = Sizes(ASSUMED_KEYS)
        ladder = choose_ladder(self._panes, sizes, invertible=aggregation.invertible)
        return f"with {ASSUMED_KEYS:,} keys: {ladder.reason}"
