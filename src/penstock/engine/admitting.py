"""After each micro-batch: how many rows the next one may take, and telling the sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.elasticity.admission import Admission, AdmissionControl, Limit
from penstock.elasticity.observation import Observation
from penstock.elasticity.shed_rows import NO_ROWS_SHED, ShedRows
from penstock.engine.read_limits import ReadLimits, shares
from penstock.journal.events import FaultSeen, KnownEvent, LimitSet
from penstock.secrets import logger

_TOLD_FROM = 0.05  # a smaller change of the limit is not worth a line in the journal
_FAULT = "no read limit"

_log = logger("penstock.engine")


class Admitting:
    """Keeps the limit of a query's micro-batches; does nothing without settings.

    ``query`` is set when the query has started. The batch that Spark planned before has the limit
    that its sources declare.
    """

    def __init__(
        self,
        spark: SparkSession,
        settings: Admission | None,
        trigger_seconds: float | None,
        learnt: Mapping[str, Any],
    ) -> None:
        self._spark = spark
        self.query: StreamingQuery | None = None
        self._control: AdmissionControl | None = None
        self._limits: ReadLimits | None = None
        self._in_force: tuple[int, ...] | None = None
        self._told: int | None = None
        self._is_obeyed = True
        if settings is not None:
            goal = settings.goal_seconds(trigger_seconds)
            self._control = AdmissionControl(settings, goal)
            _load(self._control, learnt)

    def learnt(self) -> dict[str, Any]:
        """Return what the next run should know, as plain JSON values."""
        return self._control.save() if self._control else {}

    def after_batch(self, seen: Observation, shed: Mapping[str, ShedRows]) -> Iterator[KnownEvent]:
        """Limit the next batch by what this one showed; yield what the journal keeps.

        ``shed`` is what each source gave and the batch did not process. Whatever goes wrong here
        ends the limits, not the query: the journal is told once.
        """
        if self._control is None or self.query is None:
            return
        try:
            limit = self._control.after_batch(
                seen.rows_in, seen.batch_seconds, seen.waiting_rows, _sum(shed.values())
            )
            if self._limits is None:
                self._limits = ReadLimits(self._spark, self.query)
                yield from self._unlimited(seen.batch_id)
            if limit is not None and self._limits.are_honoured:
                yield from self._apply(self._limits, limit, seen, shed)
        except Exception as error:
            self._control = None
            _log.warning("admission is off: %s", error)
            detail = f"limits can't be changed, and admission is off: {error}"
            yield FaultSeen(seen.batch_id, _FAULT, detail)

    def _apply(
        self, limits: ReadLimits, limit: Limit, seen: Observation, shed: Mapping[str, ShedRows]
    ) -> Iterator[KnownEvent]:
        taken = [each.rows + shed.get(each.name, NO_ROWS_SHED).rows for each in seen.sources]
        if self._in_force is not None and sum(taken) > sum(self._in_force) + len(limits.streams):
            yield from self._disobeyed(limits, seen.batch_id, sum(taken), sum(self._in_force))
        waiting = [each.waiting_rows or 0 for each in seen.sources]
        given = [rows + more for rows, more in zip(taken, waiting, strict=True)]
        if len(given) != len(limits.streams):  # a source of several streams: nobody knows whose
            given = [0] * len(limits.streams)
        wanted = tuple(shares(limit.rows, limits.streams, given))
        if wanted != self._in_force:
            limits.set(wanted)
            self._in_force = wanted
        if self._told is None or abs(limit.rows - self._told) > _TOLD_FROM * self._told:
            self._told = limit.rows
            yield LimitSet(seen.batch_id, limit.rows, limit.reason)

    def _unlimited(self, batch_id: int) -> Iterator[KnownEvent]:
        """Say once which sources take no limit in rows."""
        assert self._limits is not None
        kinds = [stream.kind for stream in self._limits.streams if stream.most_rows is None]
        if kinds:
            detail = (
                f"{', '.join(kinds)}: takes no limit in rows, and its batches stay as they are. "
                "Limit it by its own options, such as maxFilesPerTrigger."
            )
            _log.warning("admission: %s", detail)
            yield FaultSeen(batch_id, _FAULT, detail)

    def _disobeyed(
        self, limits: ReadLimits, batch_id: int, rows: int, allowed: int
    ) -> Iterator[KnownEvent]:
        """Say once that a source that seemed to take limits does not."""
        if self._is_obeyed and all(stream.most_rows is not None for stream in limits.streams):
            self._is_obeyed = False
            kinds = ", ".join(stream.kind for stream in limits.streams)
            yield FaultSeen(
                batch_id, _FAULT, f"{kinds}: {rows} rows came where {allowed} were allowed"
            )


def _sum(shed: Iterable[ShedRows]) -> ShedRows:
    each = list(shed)
    return ShedRows(sum(one.too_old for one in each), sum(one.too_many for one in each))


def _load(control: AdmissionControl, learnt: Mapping[str, Any]) -> None:
    """Take up what an earlier run learnt; what is no such thing is learnt anew."""
    if learnt:
        try:
            control.load(learnt)
        except ValueError as error:
            _log.warning("what admission learnt can't be read: %s", error)
