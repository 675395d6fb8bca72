"""The operators of a topology: what each one does, said as data.

Functions, tables and sinks of the user's are opaque values here; only the engine looks inside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from penstock.topology.schema import Schema
from penstock.windows.durations import in_seconds, in_words, microseconds
from penstock.windows.panes import Panes
from penstock.windows.watermark import Watermark

OnError = Literal["fail", "dead_letter"]
Emit = Literal["on_close", "every_batch"]
Spans = Literal["start", "end", "each", "split"]


@dataclass(frozen=True, kw_only=True)
class Operator:
    """A node of the topology.

    ``inputs`` are the names of the operators it reads from. ``time`` is the event-time column of
    its output, or None where it has none. Where rows span time, ``until`` is the column of the time
    at which they end, and ``spans`` says in which windows they count.

    ``kept`` names the columns that come out as they went in: by the name they come out with, the
    name they went in with. ``cardinalities`` say how many values some of its columns have.
    ``fuse`` is false where the user wants it to run by itself; ``component`` is the name of the
    component that the user wants it in.
    """

    kind: ClassVar[str] = "operator"

    name: str
    schema: Schema
    inputs: tuple[str, ...] = ()
    time: str | None = None
    until: str | None = None
    spans: Spans = "start"
    kept: Mapping[str, str] = field(default_factory=dict)
    cardinalities: Mapping[str, int] = field(default_factory=dict)
    fuse: bool = True
    component: str | None = None

    @property
    def keeps_rows(self) -> bool:
        """Whether exactly one row comes out for every row that goes in."""
        return False

    def describe(self) -> str:
        """Say what it does, in the user's words."""
        return ""

    def state_signature(self) -> Mapping[str, str] | None:
        """Name what the operator's state in a checkpoint depends on; None for no state."""
        return None


@dataclass(frozen=True, kw_only=True)
class Source(Operator):
    """Rows that come from outside: any streaming DataFrame."""

    kind: ClassVar[str] = "source"

    data: Any
    watermark: Watermark | None = None
    idle_after_seconds: float | None = None

    def describe(self) -> str:
        """Name the time column and the watermark."""
        if self.time is None:
            return "no event time"
        rule = self.watermark.describe() if self.watermark else "none"
        span = f" to {self.until}" if self.until else ""
        idle = ""
        if self.idle_after_seconds is not None:
            idle = f", idle after {in_words(microseconds(self.idle_after_seconds))}"
        return f"time {self.time}{span}, watermark {rule}{idle}"


@dataclass(frozen=True, kw_only=True)
class PythonOperator(Operator):
    """What every operator that calls a user's Python function has.

    ``returns`` is the declared schema as the engine wants it. ``cost_key`` are the columns of its
    input by which its cost is learnt; none where it is not.
    """

    function: Callable[..., Any]
    returns: Any
    on_error: OnError = "fail"
    cost_key: tuple[str, ...] = ()

    def describe(self) -> str:
        """Name the user's function."""
        name = getattr(self.function, "__qualname__", type(self.function).__name__)
        cost = f", cost by {', '.join(self.cost_key)}" if self.cost_key else ""
        bad = "stop the query" if self.on_error == "fail" else "set aside"
        return f"{name}, bad rows {bad}{cost}"


@dataclass(frozen=True, kw_only=True)
class Map(PythonOperator):
    """A function called once for every row: dict in, dict, list of dicts or None out."""

    kind: ClassVar[str] = "map"


@dataclass(frozen=True, kw_only=True)
class MapBatches(PythonOperator):
    """A function called once for every Arrow record batch."""

    kind: ClassVar[str] = "map_batches"


@dataclass(frozen=True, kw_only=True)
class Process(PythonOperator):
    """A function called once for every key and micro-batch, with a state of the key's own.

    ``rows`` and ``state`` are the columns that go in and those of a key's state, as the engine
    wants them; ``key_columns`` and ``state_columns`` say the same in words. ``by_time`` is the
    column in whose order a key's rows come, None for the order of arrival.
    """

    kind: ClassVar[str] = "process"

    key_columns: Schema
    state_columns: Schema
    groups: int
    rows: Any
    state: Any
    by_time: str | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns by which rows belong together."""
        return self.key_columns.names

    def describe(self) -> str:
        """Name the function, the keys and the state."""
        keys = ", ".join(self.keys)
        return f"{super().describe()}, by {keys} in {self.groups} key groups"

    def state_signature(self) -> Mapping[str, str]:
        """Name what the state in a checkpoint depends on."""
        return {
            "keys": str(self.key_columns),
            "state": str(self.state_columns),
            "key groups": str(self.groups),
        }


@dataclass(frozen=True, kw_only=True)
class Select(Operator):
    """SQL expressions, one for each column that comes out."""

    kind: ClassVar[str] = "select"

    expressions: tuple[Any, ...]
    row_by_row: bool = True

    @property
    def keeps_rows(self) -> bool:
        """A projection keeps its rows, unless an expression such as explode multiplies them."""
        return self.row_by_row

    def describe(self) -> str:
        """Show the expressions."""
        return ", ".join(str(expression) for expression in self.expressions)


@dataclass(frozen=True, kw_only=True)
class Filter(Operator):
    """An SQL condition; rows for which it is true go on."""

    kind: ClassVar[str] = "filter"

    condition: Any

    def describe(self) -> str:
        """Show the condition."""
        return str(self.condition)


@dataclass(frozen=True, kw_only=True)
class Union(Operator):
    """The rows of several streams, matched by column name."""

    kind: ClassVar[str] = "union"


@dataclass(frozen=True, kw_only=True)
class Join(Operator):
    """Each row with its matches in a table.

    ``table`` is a DataFrame, or a function without arguments that returns one; it is read again
    every ``refresh_seconds`` where that is set.
    """

    kind: ClassVar[str] = "join"

    table: Any
    on: tuple[str, ...]
    how: str = "inner"
    refresh_seconds: float | None = None
    broadcast: bool | None = None

    def describe(self) -> str:
        """Show keys, kind of join and how often the table is read again."""
        again = ""
        if self.refresh_seconds is not None:
            again = f", read again every {in_seconds(microseconds(self.refresh_seconds))}"
        return f"{self.how} on {', '.join(self.on)}{again}"


@dataclass(frozen=True, kw_only=True)
class Compute(Operator):
    """Partial results of a micro-batch's rows by pane and key: Enorm's compute.

    ``aggregation`` is the engine's, ``rows`` the columns that go in as the engine wants them;
    ``aggregates`` says it in the user's words, ``meaning`` without the names of results, and
    ``state`` names the columns of a partial. ``moves_rows`` is true where it has a way of its own
    to share rows out, so that they can't stay where they are.
    """

    kind: ClassVar[str] = "compute"

    keys: tuple[str, ...]
    panes: Panes
    rows: Any
    aggregation: Any
    aggregates: str
    meaning: str
    state: str
    moves_rows: bool = False

    def describe(self) -> str:
        """Show keys, aggregates and panes."""
        by = f" by {', '.join(self.keys)}" if self.keys else ""
        return f"{self.aggregates}{by}, panes of {in_words(self.panes.micros)}"

    def state_signature(self) -> Mapping[str, str]:
        """Name what the partials in the pane store depend on."""
        return {
            "keys": ", ".join(f"{key} {self.schema.type_of(key)}" for key in self.keys),
            "windows": "; ".join(spec.spec.describe() for spec in self.panes.specs),
            "aggregates": self.meaning,
            "partials": self.state,
            "time": f"{self.time} to {self.until}" if self.until else f"{self.time}",
            "spans": self.spans,
        }


@dataclass(frozen=True, kw_only=True)
class Consolidate(Operator):
    """Complete windows, merged from partials when the watermark closes them: Enorm's consolidate.

    ``inputs`` is its compute operator. Its rows come out in the round after that one's.
    ``returns`` is their schema as the engine wants it.
    """

    kind: ClassVar[str] = "consolidate"

    panes: Panes
    returns: Any
    emit: Emit
    plan: str = ""

    def describe(self) -> str:
        """Show the windows, when they come out, and how they are formed."""
        windows = "; ".join(spec.spec.describe() for spec in self.panes.specs)
        when = "when closed" if self.emit == "on_close" else "every batch"
        return f"{windows}, {when}{f', {self.plan}' if self.plan else ''}"


@dataclass(frozen=True, kw_only=True)
class LateRows(Operator):
    """A copy of the rows that came after the watermark had passed them."""

    kind: ClassVar[str] = "late_rows"


@dataclass(frozen=True, kw_only=True)
class DeadLetters(Operator):
    """The rows that operators failed on; ``inputs`` are those operators."""

    kind: ClassVar[str] = "dead_letters"


@dataclass(frozen=True, kw_only=True)
class Output(Operator):
    """The end of a branch: a sink."""

    kind: ClassVar[str] = "sink"

    sink: Any

    @property
    def keeps_rows(self) -> bool:
        """A sink takes every row."""
        return True

    @property
    def reads_all(self) -> bool:
        """Whether the sink is known to read every row of a batch, in one job.

        A user's own function may read none, some, or all of them several times.
        """
        return bool(getattr(self.sink, "reads_all", False))

    def describe(self) -> str:
        """Show what the sink says of itself."""
        return str(self.sink.describe())
