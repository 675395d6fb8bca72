"""What Spark reports of a streaming query after each micro-batch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.sources import waiting_rows as own_waiting_rows


@dataclass(frozen=True, slots=True)
class Progress:
    """The part of Spark's progress report that Penstock uses; ``waiting`` is by source."""

    batch_id: int
    waiting: Mapping[str, int | None] = field(default_factory=dict)
    durations_seconds: Mapping[str, float] = field(default_factory=dict)


def parse_progress(text: str, sources: tuple[str, ...]) -> Progress:
    """Read a progress report; ``sources`` names the query's sources in their order.

    A source whose DataFrame was itself made of several streams is reported in several parts; with
    more than one source nobody can tell whose parts they are, and nothing is said.
    """
    report = json.loads(text)
    parts = report.get("sources", [])
    if len(parts) == len(sources):
        waiting = {name: _waiting(part) for name, part in zip(sources, parts, strict=True)}
    elif len(sources) == 1:
        told = [_waiting(part) for part in parts]
        known = [rows for rows in told if rows is not None]
        waiting = {sources[0]: sum(known) if known and len(known) == len(told) else None}
    else:
        waiting = dict.fromkeys(sources)
    durations = {name: millis / 1_000 for name, millis in report.get("durationMs", {}).items()}
    return Progress(int(report["batchId"]), waiting, durations)


def _waiting(part: Mapping[str, Any]) -> int | None:
    end, latest = _offset(part.get("endOffset")), _offset(part.get("latestOffset"))
    if not isinstance(end, dict) or not isinstance(latest, dict):
        return None
    if str(part.get("description", "")).startswith("Kafka"):
        return kafka_lag(end, latest)
    return own_waiting_rows(end, latest)


def _offset(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return json.loads(value)
        except ValueError:
            return None
    return value


def kafka_lag(end: Mapping[str, Any], latest: Mapping[str, Any]) -> int:
    """Count the records between two Kafka offsets, over all topics and partitions.

    >>> kafka_lag({"clicks": {"0": 10, "1": 5}}, {"clicks": {"0": 12, "1": 5, "2": 7}})
    9
    """
    return sum(
        max(0, int(newest) - int(end.get(topic, {}).get(partition, 0)))
        for topic, partitions in latest.items()
        for partition, newest in partitions.items()
    )
