"""What Spark reports of any streaming query, as a policy sees it.

A ``StreamingQueryProgress`` comes from a listener, or from a log that somebody kept. Reports of
older Spark versions lack fields, idle ones have no batch in them, and rates may be ``"NaN"``:
nothing is taken from a report but what is a number there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise
from statistics import median_low
from typing import Any

from penstock.elasticity.lag import rows_behind
from penstock.elasticity.observation import Observation, OperatorObservation, SourceObservation

LEAST_PAUSES = 3
_TOLERANCE = 0.05
_SCHEDULING_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class QueryProgress:
    """One report of a query; ``started_seconds`` is when its micro-batch began (epoch).

    ``rows_out`` and ``state_rows`` (rows that stateful operators keep) are None where the report
    does not say. ``durations_seconds`` is by the name that Spark gives each step.
    """

    query_id: str
    run_id: str
    name: str | None
    batch_id: int
    started_seconds: float
    batch_seconds: float
    sources: tuple[SourceObservation, ...] = ()
    rows_out: int | None = None
    state_rows: int | None = None
    durations_seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """What people call the query: its name, or the beginning of its id."""
        return self.name or self.query_id[:8] or "query"

    @property
    def rows_in(self) -> int:
        """Rows that all sources together gave."""
        return sum(source.rows for source in self.sources)

    @property
    def ran_batch(self) -> bool:
        """Whether there was a micro-batch: a query without new rows reports now and then too."""
        return "addBatch" in self.durations_seconds or self.rows_in > 0

    @property
    def busy_wall_seconds(self) -> float:
        """How long the query's own work took by the wall clock; the rest is bookkeeping."""
        return min(self.batch_seconds, self.durations_seconds.get("addBatch", self.batch_seconds))

    def idle_at(self, at_seconds: float) -> QueryProgress:
        """Return what the query reports at a later time when nothing has come since."""
        sources = tuple(
            SourceObservation(s.name, 0, None if s.waiting_rows is None else 0)
            for s in self.sources
        )
        return replace(
            self,
            started_seconds=at_seconds,
            batch_seconds=0.0,
            sources=sources,
            rows_out=0,
            durations_seconds={},
        )


@dataclass(frozen=True, slots=True)
class TaskTimes:
    """What the tasks of one micro-batch took, where Spark's bookkeeping could be asked."""

    busy_seconds: float
    tasks: int
    slowest_task_seconds: float
    jobs: int


def parse_query_progress(report: str | Mapping[str, Any]) -> QueryProgress:
    """Read a report as Spark writes it; ValueError says why it is none.

    >>> read = parse_query_progress(
    ...     '{"id": "5c1", "runId": "9e0", "name": "clicks", "batchId": 7,'
    ...     ' "timestamp": "2026-01-01T00:00:10.000Z", "numInputRows": 90,'
    ...     ' "inputRowsPerSecond": "NaN", "durationMs": {"triggerExecution": 500}}'
    ... )
    >>> read.batch_id, read.rows_in, read.batch_seconds, read.started_seconds
    (7, 90, 0.5, 1767225610.0)
    """
    raw = json.loads(report) if isinstance(report, str) else report
    if not isinstance(raw, Mapping) or "batchId" not in raw or "timestamp" not in raw:
        raise ValueError("it has no batchId and timestamp, so it is no progress of a query")
    rows = _whole(raw.get("numInputRows")) or 0
    durations = _durations(raw.get("durationMs"))
    sink = raw.get("sink")
    return QueryProgress(
        query_id=str(raw.get("id") or ""),
        run_id=str(raw.get("runId") or ""),
        name=str(raw["name"]) if raw.get("name") else None,
        batch_id=_whole(raw["batchId"]) or 0,
        started_seconds=_epoch_seconds(raw["timestamp"]),
        batch_seconds=_batch_seconds(raw, durations, rows),
        sources=_sources(raw.get("sources"), rows),
        rows_out=_whole(sink.get("numOutputRows")) if isinstance(sink, Mapping) else None,
        state_rows=_state_rows(raw.get("stateOperators")),
        durations_seconds=durations,
    )


def observe(
    progress: QueryProgress,
    *,
    slots: int,
    used_slots: int | None = None,
    most_slots: int | None = None,
    cores: int | None = None,
    trigger_seconds: float | None = None,
    times: TaskTimes | None = None,
) -> Observation:
    """Turn a report into what a policy sees: an operator for each source, and one for the query.

    Where nobody measured the tasks, the query is taken to have kept every slot that it used busy
    for as long as its own work took, which is the most it can have been.

    >>> progress = QueryProgress("5c1", "9e0", "clicks", 7, 10.0, 0.5, durations_seconds={
    ...     "addBatch": 0.25}, sources=(SourceObservation("kafka", 90, 4),))
    >>> seen = observe(progress, slots=4)
    >>> seen.at_seconds, seen.rows_in, seen.waiting_rows, seen.operators[-1].busy_seconds
    (10.5, 90, 4, 1.0)
    """
    used = slots if used_slots is None else used_slots
    if times is None:
        wall = progress.busy_wall_seconds if progress.ran_batch else 0.0
        times = TaskTimes(wall * used, used if progress.ran_batch else 0, wall, 0)
    taken = [
        OperatorObservation(source.name, source.rows, source.rows, 0.0, 0, 0.0, 0.0, estimated=True)
        for source in progress.sources
    ]
    work = OperatorObservation(
        name=_apart(progress.title, [source.name for source in progress.sources]),
        rows_in=progress.rows_in,
        rows_out=progress.rows_in if progress.rows_out is None else progress.rows_out,
        busy_seconds=times.busy_seconds,
        tasks=times.tasks,
        slowest_task_seconds=times.slowest_task_seconds,
        mean_task_seconds=times.busy_seconds / times.tasks if times.tasks else 0.0,
        estimated=True,
        inputs=tuple(source.name for source in progress.sources),
    )
    return Observation(
        batch_id=progress.batch_id,
        at_seconds=progress.started_seconds + progress.batch_seconds,
        batch_seconds=progress.batch_seconds,
        trigger_seconds=trigger_seconds,
        slots=slots,
        operators=(*taken, work),
        sources=progress.sources,
        jobs=times.jobs,
        used_slots=used_slots,
        most_slots=most_slots,
        cores=cores,
    )


def inferred_trigger_seconds(reports: Iterable[QueryProgress]) -> float | None:
    """Guess how often a query is triggered from when its micro-batches began; None: no pattern.

    Only a batch that was waited after says something: one that took longer than the trigger is
    followed at once by the next.

    >>> def batch(start, seconds):
    ...     return QueryProgress("q", "r", None, 0, start, seconds)
    >>> inferred_trigger_seconds(batch(10.0 * n + n % 2 / 100, 3.0) for n in range(6))
    10.0
    >>> inferred_trigger_seconds(batch(3.02 * n, 3.0) for n in range(6)) is None
    True
    """
    pauses = []
    for one, following in pairwise(reports):
        apart = following.started_seconds - one.started_seconds
        waited = apart - one.batch_seconds
        if one.run_id == following.run_id and waited > max(_SCHEDULING_SECONDS, _TOLERANCE * apart):
            pauses.append(apart)
    if len(pauses) < LEAST_PAUSES:
        return None
    guess = median_low(pauses)
    near = [apart for apart in pauses if abs(apart - guess) <= max(0.05, _TOLERANCE * guess)]
    if len(near) < 0.6 * len(pauses):
        return None
    return round(sum(near) / len(near), 1 if guess >= 1 else 2)


def _sources(parts: Any, rows: int) -> tuple[SourceObservation, ...]:
    found: list[SourceObservation] = []
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, Mapping):
            name = _apart(str(part.get("description") or "source"), [each.name for each in found])
            taken = _whole(part.get("numInputRows")) or 0
            found.append(SourceObservation(name, taken, rows_behind(part)))
    # Where a plan is not simple, Spark knows the rows of the query and not of each source.
    if found and not any(source.rows for source in found) and rows:
        found[0] = replace(found[0], rows=rows)
    return tuple(found) or (SourceObservation("source", rows),)


def _apart(name: str, taken: list[str]) -> str:
    """Return the name, with a number where it is taken."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name} {number}"
    return free


def _batch_seconds(raw: Mapping[str, Any], durations: Mapping[str, float], rows: int) -> float:
    if "triggerExecution" in durations:
        return durations["triggerExecution"]
    millis = _number(raw.get("batchDuration"))
    if millis is not None:
        return millis / 1_000
    if durations:
        return sum(durations.values())
    speed = _number(raw.get("processedRowsPerSecond"))
    return rows / speed if speed else 0.0


def _durations(millis: Any) -> dict[str, float]:
    if not isinstance(millis, Mapping):
        return {}
    numbers = {str(name): _number(value) for name, value in millis.items()}
    return {name: value / 1_000 for name, value in numbers.items() if value is not None}


def _state_rows(operators: Any) -> int | None:
    if not isinstance(operators, list) or not operators:
        return None
    return sum(_whole(op.get("numRowsTotal")) or 0 for op in operators if isinstance(op, Mapping))


def _epoch_seconds(timestamp: Any) -> float:
    try:
        when = datetime.fromisoformat(str(timestamp))
    except ValueError:
        raise ValueError(f"its timestamp is {timestamp!r:.80}") from None
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


def _whole(value: Any) -> int | None:
    number = _number(value)
    return None if number is None else int(number)


def _number(value: Any) -> float | None:
    """Return a number of 0 or more; Spark writes NaN as text, and -1 for what it does not know."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if math.isfinite(value) and value >= 0 else None
