"""A micro-batch as DataFrames that are not yet run, and the plan that shapes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame

from penstock.engine.observations import Measures
from penstock.engine.source_times import seen
from penstock.topology.attributes import Attribute
from penstock.topology.operators import Source
from penstock.windows.watermark import Mark, Seen


@dataclass(frozen=True, slots=True)
class Plan:
    """How the next micro-batch runs.

    ``tasks`` are by component. ``marks`` are the watermarks by source, ``lows`` by the operators
    that look at one. ``slots`` are those in use, ``panes`` the tasks of each compute operator.
    """

    tasks: Mapping[str, int]
    marks: Mapping[str, Mark] = field(default_factory=dict)
    lows: Mapping[str, int | None] = field(default_factory=dict)
    slots: int = 1
    panes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rows:
    """A DataFrame on its way through the topology, with what is known of its partitions.

    ``in_python`` says that Python operators run in the stage that it comes out of. ``sequence``
    are attributes of which rows with equal values always come in the same order, however they are
    shared out.
    """

    df: DataFrame
    partitions: int | None
    ordered: bool
    in_python: bool = False
    sequence: frozenset[Attribute] = frozenset()


@dataclass(slots=True)
class CompiledBatch:
    """The DataFrames of a micro-batch, not yet run.

    ``kept`` are cached until ``release``. ``processed`` are the rows of the keyed operators, which
    must run even where nobody reads them. ``inner`` were handed to Spark inside other DataFrames,
    as finished rows.
    """

    frames: dict[str, DataFrame] = field(default_factory=dict)
    kept: list[DataFrame] = field(default_factory=list)
    processed: dict[str, DataFrame] = field(default_factory=dict)
    inner: list[DataFrame] = field(default_factory=list)
    counters: dict[str, Measures] = field(default_factory=dict)

    def complete(self) -> None:
        """Let Spark take in what was counted in the rows that were handed over as finished.

        No query of its own holds their plans, so that Spark would wait for them for ever, and keep
        what it waits for.
        """
        for df in self.inner:
            java: Any = df._jdf
            session: Any = df.sparkSession._jsparkSession
            session.observationManager().tryComplete(java.queryExecution())
        self.inner.clear()

    @property
    def places(self) -> list[DataFrame]:
        """The DataFrames in whose plans a count may have to be looked for."""
        return self.kept

    def counted(self) -> dict[str, int]:
        """Return the rows that Spark counted, by operator."""
        read = {name: measures.read(self.places) for name, measures in self.counters.items()}
        return {name: int(values[0]) if values else 0 for name, values in read.items()}

    def seen(self, sources: Sequence[Source]) -> dict[str, Seen]:
        """Return what the sources showed of their rows' times."""
        return {
            source.name: seen(source, self.counters[source.name], self.places)
            for source in sources
            if source.name in self.counters
        }

    def release(self) -> None:
        """Free what was kept for several readers."""
        for df in self.kept:
            df.unpersist(blocking=False)
        self.kept.clear()
