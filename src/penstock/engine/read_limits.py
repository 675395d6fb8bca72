"""Hands the limit of the next micro-batch to the sources of a running query.

Spark keeps, for every source of a query, the limit that the source declared when the query started,
and gives it to the source each time that it plans a batch. That table is replaced here, while a
batch runs and Spark's own thread waits for it. A source that declared a limit in rows takes any
other one in rows, and never gets more than it declared: ``max_rows_per_batch`` and
``maxOffsetsPerTrigger`` still hold.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

_ALL_ROWS = (1 << 63) - 1
_KAFKA = "KafkaMicroBatchStream"
# It declares a limit in rows, and then reads that many whatever it is told.
_DEAF = "RatePerMicroBatchStream"
_LEAST_SHARE = 0.1  # of an equal share, for a source that has nothing to give at the moment


@dataclass(frozen=True, slots=True)
class LimitedStream:
    """A source as Spark knows it; ``most_rows`` is None where it takes no limit in rows."""

    java: Any
    declared: Any
    kind: str
    most_rows: int | None


class ReadLimits:
    """The limits of one running query's sources, in the order in which Spark knows them."""

    def __init__(self, spark: SparkSession, query: StreamingQuery) -> None:
        jvm: Any = spark._jvm
        java: Any = query._jsq
        self._rows_limit = jvm.org.apache.spark.sql.connector.read.streaming.ReadLimit.maxRows
        self._execution = java.streamingQuery()
        self._declared = self._execution.uniqueSources()
        sources = self._execution.sources().distinct()
        found = [sources.apply(number) for number in range(sources.size())]
        self.streams = tuple(_stream(each, self._declared.apply(each)) for each in found)

    @property
    def are_honoured(self) -> bool:
        """Whether any source takes a limit in rows."""
        return any(stream.most_rows is not None for stream in self.streams)

    def set(self, rows: Sequence[int]) -> None:
        """Let the next batch take so many rows of each source at most."""
        table = self._declared
        for stream, most in zip(self.streams, rows, strict=True):
            if stream.most_rows is not None:
                limit = self._limit(stream, min(max(1, most), stream.most_rows))
                table = table.updated(stream.java, limit)
        getattr(self._execution, "uniqueSources_$eq")(table)

    def _limit(self, stream: LimitedStream, rows: int) -> Any:
        if _is_python(stream.declared):
            return stream.declared.copy(json.dumps({"_type": "ReadMaxRows", "max_rows": rows}))
        return self._rows_limit(rows)


def shares(total: int, streams: Sequence[LimitedStream], given: Sequence[int]) -> list[int]:
    """Share a limit out among the sources that take one, by what each has to give.

    ``given`` are the rows of every source: those that it gave and those that wait. What a source
    that takes no limit gave comes off first. One that has little to give still gets a tenth of an
    equal share, so that it is not shut out when it has more.
    """
    takes = [stream.most_rows is not None for stream in streams]
    rest = total - sum(rows for rows, limited in zip(given, takes, strict=True) if not limited)
    weights = [rows + 1 if limited else 0 for rows, limited in zip(given, takes, strict=True)]
    least = max(1, int(rest * _LEAST_SHARE) // max(1, sum(takes)))
    among = sum(weights)
    idle = {at for at, weight in enumerate(weights) if rest * weight < least * among}
    # What is held for idle sources comes off the others, in proportion.
    rest -= least * sum(takes[at] for at in idle)
    among -= sum(weights[at] for at in idle)
    return [
        (least if at in idle else max(least, rest * weight // among)) if limited else 0
        for at, (weight, limited) in enumerate(zip(weights, takes, strict=True))
    ]


def _stream(java: Any, declared: Any) -> LimitedStream:
    kind = str(java.getClass().getSimpleName())
    return LimitedStream(java, declared, kind, most_rows(kind, declared))


def most_rows(kind: str, declared: Any) -> int | None:
    """Return the most rows that a source of this kind may be told to take, None for no limit.

    ``declared`` is the limit that it has of its own.
    """
    if _is_python(declared):
        limit = json.loads(declared.json())
        return int(limit["max_rows"]) if limit.get("_type") == "ReadMaxRows" else None
    own = str(declared.getClass().getSimpleName())
    if own == "ReadMaxRows":
        return None if kind == _DEAF else int(declared.maxRows())
    return _ALL_ROWS if kind == _KAFKA and own == "ReadAllAvailable" else None


def _is_python(declared: Any) -> bool:
    return str(declared.getClass().getSimpleName()) == "PythonStreamingSourceReadLimit"
