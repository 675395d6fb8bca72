"""The options that streams and tables are read with, out of Spark's plan of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

_FILES = "FileSource["


@dataclass(frozen=True, slots=True)
class StreamSource:
    """One source of a streaming query: whether it reads files, and with which options."""

    reads_files: bool
    options: Mapping[str, str]

    def option(self, name: str, default: str) -> str:
        """Return an option, whose name may be written in any case."""
        named = {each.lower(): str(value) for each, value in self.options.items()}
        return named.get(name.lower(), default)


def stream_sources(frames: Iterable[DataFrame]) -> list[StreamSource]:
    """Return the sources of a query over these frames, in the order in which Spark counts them."""
    leaves: list[Any] = []
    found = []
    for frame in frames:
        for leaf in _leaves(frame):
            # A frame that is read in two places is one source.
            if leaf.isStreaming() and leaf not in leaves:
                leaves.append(leaf)
                is_old = leaf.getClass().getSimpleName() == "StreamingRelation"
                reads_files = is_old and leaf.sourceName().startswith(_FILES)
                found.append(StreamSource(reads_files, _options(frame, leaf) or {}))
    return found


def source_options(frame: DataFrame) -> list[dict[str, str]]:
    """Return the options of each source that a frame reads, where Spark's plan has them."""
    told = (_options(frame, leaf) for leaf in _leaves(frame))
    return [options for options in told if options is not None]


def _leaves(frame: DataFrame) -> list[Any]:
    leaves = frame._jdf.queryExecution().analyzed().collectLeaves()
    return [leaves.apply(position) for position in range(leaves.size())]


def _options(frame: DataFrame, leaf: Any) -> dict[str, str] | None:
    kind = leaf.getClass().getSimpleName()
    if kind == "StreamingRelation":
        return _as_dict(frame, leaf.dataSource().options())
    if kind in ("StreamingRelationV2", "DataSourceV2Relation"):
        options = leaf.extraOptions() if kind == "StreamingRelationV2" else leaf.options()
        return dict(options.asCaseSensitiveMap())
    if kind == "LogicalRelation" and "JDBCRelation" in leaf.relation().getClass().getName():
        return _as_dict(frame, leaf.relation().jdbcOptions().parameters())
    return None


def _as_dict(frame: DataFrame, scala_map: Any) -> dict[str, str]:
    jvm: Any = frame.sparkSession._jvm
    return dict(jvm.scala.collection.JavaConverters.mapAsJavaMap(scala_map))
