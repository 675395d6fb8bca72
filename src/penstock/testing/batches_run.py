"""What came of a run over a test's batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar, overload

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.types import StructType

from penstock.arguments import checked, shown
from penstock.elasticity.decision import Decision
from penstock.errors import ArgumentError, ConfigurationError
from penstock.journal.lines import Event

Kind = TypeVar("Kind")


class SinkRows(Sequence[Row]):
    """Rows by the name of their sink: ``rows["totals"]``; where there is one sink, just its rows.

    >>> one = SinkRows({"totals": [Row(n=1), Row(n=2)]})
    >>> one[0], len(one), one == [Row(n=1), Row(n=2)]
    (Row(n=1), 2, True)
    >>> two = SinkRows({"totals": [Row(n=1)], "alarms": []})
    >>> two["alarms"], two.names
    ([], ('totals', 'alarms'))
    >>> list(two)
    Traceback (most recent call last):
        ...
    penstock.errors.ConfigurationError: there are 2 sinks: totals, alarms. Write rows['totals'].
    """

    @checked
    def __init__(self, by_sink: Mapping[str, Sequence[Row]]) -> None:
        for name, rows in by_sink.items():
            if not isinstance(rows, Iterable):
                raise ArgumentError(f"the rows of '{name}' are {shown(rows)}. Give a list of rows.")
        self._by_sink = {name: list(rows) for name, rows in by_sink.items()}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the sinks, in the order of the topology's outlets."""
        return tuple(self._by_sink)

    @overload
    def __getitem__(self, which: int) -> Row: ...

    @overload
    def __getitem__(self, which: slice | str) -> list[Row]: ...

    def __getitem__(self, which: int | slice | str) -> Row | list[Row]:
        """Return the rows of a sink by its name, or of the only one by number."""
        if not isinstance(which, str):
            return self._only()[which]
        if which not in self._by_sink:
            raise KeyError(f"there is no sink '{which}'. There are {', '.join(self.names)}.")
        return list(self._by_sink[which])

    def __len__(self) -> int:
        """Return how many rows the only sink got."""
        return len(self._only())

    def __eq__(self, other: object) -> bool:
        """Compare with other rows by sink, or with a list."""
        if isinstance(other, SinkRows):
            return self._by_sink == other._by_sink
        return isinstance(other, list | tuple) and self._only() == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Show the rows of each sink."""
        return f"SinkRows({self._by_sink!r})"

    def _only(self) -> list[Row]:
        if len(self._by_sink) != 1:
            raise ConfigurationError(
                f"there are {len(self._by_sink)} sinks: {', '.join(self.names)}. "
                f"Write rows[{self.names[0]!r}]."
            )
        return next(iter(self._by_sink.values()))


@dataclass(frozen=True)
class GivenRows:
    """All rows that a source was given, in the order of their batches."""

    schema: StructType
    rows: tuple[Row, ...]

    def df(self, spark: SparkSession) -> DataFrame:
        """Return them as a DataFrame, for a query of Spark's own."""
        return spark.createDataFrame(list(self.rows), self.schema)


@dataclass(frozen=True)
class BatchesRun:
    """What :func:`run_batches` returns.

    Attributes
    ----------
    rows
        All rows of every sink, in the order of the micro-batches; within one, in Spark's.
    batches
        The rows of every sink, by micro-batch: ``batches[0]`` is what the first list of rows led
        to. With ``close_windows`` there is one more at the end.
    late_rows
        The rows that came too late, each with ``_watermark`` and ``_missed``.
    dead_letters
        The rows on which functions failed that set such rows aside: ``operator``, ``error``,
        ``message``, ``row`` and ``traceback``.
    decisions
        What the policy decided, each time that it was something else than before.
    watermarks
        Where the watermark stood after each micro-batch, the lowest of several sources'; None
        before there is one. A local time without a zone, as Spark gives times to Python.
    events
        The journal.
    inputs
        What each source was given.

    """

    rows: SinkRows
    batches: tuple[SinkRows, ...]
    late_rows: tuple[Row, ...] = ()
    dead_letters: tuple[Row, ...] = ()
    decisions: tuple[Decision, ...] = ()
    watermarks: tuple[datetime | None, ...] = ()
    events: tuple[Event, ...] = field(default=(), repr=False)
    inputs: Mapping[str, GivenRows] = field(default_factory=dict, repr=False)

    def events_of(self, kind: type[Kind]) -> list[Kind]:
        """Return the events of one kind: ``events_of(penstock.journal.WindowsClosed)``."""
        bodies: list[Any] = [event.body for event in self.events]
        return [body for body in bodies if isinstance(body, kind)]
