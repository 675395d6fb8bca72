"""Static tables that streams are joined with: read once, or again every so often."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.classic_session import require_classic
from penstock.engine.known_secrets import learn_secrets
from penstock.topology.operators import Join

Clock = Callable[[], float]
_OURS = "_penstock_table"


@dataclass(frozen=True, slots=True)
class Table:
    """A table as read at one moment; ``kept`` is what Spark keeps of it until it is read again."""

    df: DataFrame
    kept: DataFrame
    is_small: bool
    read_at_seconds: float


class Tables:
    """Keeps the tables of a topology's joins; a table is the same for all of a micro-batch."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tables: dict[str, Table] = {}

    def current(self, join: Join) -> Table:
        """Return a join's table, read anew if its time has come."""
        known, now = self._tables.get(join.name), self._clock()
        if known is not None:
            age = now - known.read_at_seconds
            if join.refresh_seconds is None or age < join.refresh_seconds:
                return known
            known.kept.unpersist(blocking=False)
        self._tables[join.name] = table = _read(join, now)
        return table

    def release(self) -> None:
        """Free all tables."""
        for table in self._tables.values():
            table.kept.unpersist(blocking=False)
        self._tables.clear()


def table_frame(table: Any) -> DataFrame:
    """Return the DataFrame of what a user gave as a table."""
    frame = require_classic(table() if callable(table) else table)
    learn_secrets(frame.sparkSession, [frame])
    return frame


def _read(join: Join, now: float) -> Table:
    df = table_frame(join.table)
    java: Any = df._jdf
    # Spark lists a table's files once, when the DataFrame is made; look again for new ones.
    java.queryExecution().analyzed().refresh()
    # Spark caches by plan, and equal plans share a cache: another join or query that reads the same
    # table would free this one's. A column that nobody else has makes the plan our own.
    kept = df.select("*", F.lit(uuid.uuid4().hex).alias(_OURS)).persist()
    kept.count()
    return Table(kept.drop(_OURS), kept, _is_small(join, kept), now)


def _is_small(join: Join, df: DataFrame) -> bool:
    if join.broadcast is not None:
        return join.broadcast
    session: Any = df.sparkSession
    limit = session._jsparkSession.sessionState().conf().autoBroadcastJoinThreshold()
    java: Any = df._jdf
    size = java.queryExecution().optimizedPlan().stats().sizeInBytes()
    return int(str(size)) <= int(limit)
