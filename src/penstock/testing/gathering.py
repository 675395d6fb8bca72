"""Puts memory in the place of a topology's sinks, and takes late rows and dead letters too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import Row

from penstock.branch import Branch, Outlet
from penstock.engine.columns import LETTER_TYPE
from penstock.engine.schemas import prototype, schema_of
from penstock.errors import ConfigurationError
from penstock.sinks.memory_sink import MemorySink
from penstock.stream import Stream
from penstock.testing.batches_run import SinkRows
from penstock.topology.operators import Compute, Consolidate, DeadLetters, PythonOperator, Source

_EXPECTED = "Return a stream, what .to(sink) returned, a list of these, or a dict of them by name"


@dataclass(frozen=True)
class Gathering:
    """Outlets into memory, and where in it the rows are."""

    outlets: tuple[Outlet, ...]
    sinks: Mapping[str, MemorySink]
    late: tuple[MemorySink, ...]
    letters: tuple[MemorySink, ...]

    def rows(self) -> SinkRows:
        """Return what every sink holds."""
        return SinkRows({name: sink.rows() for name, sink in self.sinks.items()})

    def batch(self, number: int) -> SinkRows:
        """Return what every sink got in a micro-batch."""
        return SinkRows({name: sink.batches.get(number, []) for name, sink in self.sinks.items()})

    def functions(self) -> list[Any]:
        """Return all functions and aggregates of the user's that run in Spark's workers."""
        operators = [branch._operator for branch in _upstream(self.outlets)]
        functions: list[Any] = [op.function for op in operators if isinstance(op, PythonOperator)]
        aggregates = [op.aggregation for op in operators if isinstance(op, Compute)]
        return [*functions, *(getattr(each, "aggregate", None) for each in aggregates)]


def gather(returned: Any) -> Gathering:
    """Gather all that a topology function returned, and what it let lie."""
    sinks: dict[str, MemorySink] = {}
    outlets = []
    for name, branch in _named(returned):
        sinks[name] = MemorySink()
        outlets.append(_into_memory(branch, sinks[name]))
    branches = _upstream(outlets)
    late = [(stream.late_rows(), MemorySink()) for stream in _late_streams(branches)]
    letters = [(stream, MemorySink()) for stream in _letters(branches)]
    beside = [stream.to(sink) for stream, sink in [*late, *letters]]
    return Gathering(
        outlets=(*outlets, *beside),
        sinks=sinks,
        late=tuple(sink for _, sink in late),
        letters=tuple(sink for _, sink in letters),
    )


def rows_in(sinks: Iterable[MemorySink]) -> tuple[Row, ...]:
    """Return the rows of several sinks, batch by batch."""
    by_batch = [(batch, rows) for sink in sinks for batch, rows in sink.batches.items()]
    by_batch.sort(key=lambda each: each[0])
    return tuple(row for _, rows in by_batch for row in rows)


def _named(returned: Any) -> list[tuple[str, Stream | Outlet]]:
    """Give each outlet the name that the test knows it by."""
    named: list[tuple[str, Stream | Outlet]] = []
    taken: set[str] = set()
    for given, branch in _flat(returned, None):
        hint = name = given or branch._operator.name
        number = 1
        while name in taken:
            number += 1
            name = f"{hint}_{number}"
        taken.add(name)
        named.append((name, branch))
    if not named:
        raise ConfigurationError(f"the topology function returned nothing to run. {_EXPECTED}.")
    return named


def _flat(returned: Any, name: str | None) -> list[tuple[str | None, Stream | Outlet]]:
    if isinstance(returned, Stream | Outlet):
        return [(name, returned)]
    if isinstance(returned, Mapping):
        return [each for key, value in returned.items() for each in _flat(value, str(key))]
    if isinstance(returned, list | tuple | set):
        return [each for value in returned for each in _flat(value, name)]
    raise ConfigurationError(
        f"the topology function returned a {type(returned).__name__}. {_EXPECTED}."
    )


def _into_memory(branch: Stream | Outlet, sink: MemorySink) -> Outlet:
    if isinstance(branch, Stream):
        return branch.to(sink)
    output: Any = branch._operator
    return Outlet(replace(output, sink=sink), branch._parents, is_named=branch._is_named)


def _upstream(outlets: Iterable[Branch]) -> list[Branch]:
    return list(dict.fromkeys(branch for outlet in outlets for branch in outlet._upstream()))


def _late_streams(branches: list[Branch]) -> list[Stream]:
    """Return the streams that may have late rows: those windows read, or sources without any.

    Complete windows are never late, so windows of windows are left out.
    """
    streams: dict[Branch, None] = {}
    windowed: set[Branch] = set()
    for branch in branches:
        if isinstance(branch._operator, Compute):
            (stream,) = branch._parents
            windowed.update(stream._upstream())
            streams[stream] = None
    for branch in branches:
        if isinstance(branch._operator, Source) and branch not in windowed:
            streams[branch] = None
    return [each for each in streams if isinstance(each, Stream) and _can_be_late(each)]


def _can_be_late(stream: Stream) -> bool:
    operators = [branch._operator for branch in stream._upstream()]
    sources = [operator for operator in operators if isinstance(operator, Source)]
    return (
        stream._operator.time is not None
        and not any(isinstance(operator, Consolidate) for operator in operators)
        and all(source.watermark is not None for source in sources)
    )


def _letters(branches: list[Branch]) -> list[Stream]:
    failing = [branch for branch in branches if _sets_aside(branch)]
    if not failing:
        return []
    stream = next(branch for branch in branches if isinstance(branch, Stream))
    operator = DeadLetters(name="dead_letters", schema=schema_of(LETTER_TYPE))
    return [Stream(operator, prototype(stream._prototype.sparkSession, LETTER_TYPE), failing)]


def _sets_aside(branch: Branch) -> bool:
    operator = branch._operator
    return isinstance(operator, PythonOperator) and operator.on_error == "dead_letter"
