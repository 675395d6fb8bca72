"""How many rows a micro-batch can bring at most, told by Spark's offset log before any is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.elasticity.lag import SOURCE_MARK, kafka_lag, parsed_offset
from penstock.engine.schemas import node_names
from penstock.errors import CheckpointError
from penstock.sinks.filesystem import HadoopFiles
from penstock.sources.offset import ReplayOffset
from penstock.topology.operators import Source

_RELATION = "StreamingRelationV2"
# What may stand between a source and its rows without making more of them.
_KEEPS_OR_DROPS = {_RELATION, "Project", "Filter", "SubqueryAlias", "EventTimeWatermark"}


class BatchRows:
    """Knows what the offsets of a batch say of its rows, for the sources whose offsets count them.

    Those are the built-in ones and Kafka.
    """

    def __init__(self, files: HadoopFiles, spark_path: str, sources: Sequence[Source]) -> None:
        self._files = files
        self._path = f"{spark_path}/offsets"
        self._sources = {source.name: source for source in sources}
        self._kinds: dict[str, str | None] = {}

    def at_most(self, source: str, batch_id: int) -> int | None:
        """Return a number that the rows of a source in a batch don't exceed, None if unknown."""
        if source not in self._kinds:
            self._kinds[source] = _kind(self._sources[source])
        kind = self._kinds[source]
        if kind is None:
            return None
        end = self._offset(source, batch_id)
        start = self._offset(source, batch_id - 1) if batch_id else None
        if end is None or (start is None and (batch_id or kind != SOURCE_MARK)):
            return None
        try:
            if kind == SOURCE_MARK:
                first = ReplayOffset.from_dict(start).row if start else 0
                return ReplayOffset.from_dict(end).row - first
            return kafka_lag(start or {}, end)
        except (AttributeError, KeyError, TypeError, ValueError, CheckpointError):
            return None  # an offset of another form: rows can still be counted

    def _offset(self, source: str, batch_id: int) -> dict[str, Any] | None:
        text = self._files.read(f"{self._path}/{batch_id}")
        version, *lines = (text or "").split("\n")
        offsets = lines[1:]  # the line before is of the query itself
        if version != "v1" or len(offsets) != len(self._sources):
            return None  # another format, or a source that is made of several
        found = parsed_offset(offsets[list(self._sources).index(source)])
        return found if isinstance(found, dict) else None  # "-" of a source that has none yet


def _kind(source: Source) -> str | None:
    """Return the format of a source whose offsets count rows and whose plan makes no more."""
    plan: Any = source.data._jdf.queryExecution().analyzed()
    nodes = node_names(plan)
    if nodes.count(_RELATION) != 1 or not _KEEPS_OR_DROPS.issuperset(nodes):
        return None
    name = str(plan.collectLeaves().head().sourceName())
    return name if name in (SOURCE_MARK, "kafka") else None
