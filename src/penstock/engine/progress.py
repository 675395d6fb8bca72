"""What Spark reports of a streaming query after each micro-batch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.elasticity.lag import rows_behind


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
        waiting = {name: rows_behind(part) for name, part in zip(sources, parts, strict=True)}
    elif len(sources) == 1:
        told = [rows_behind(part) for part in parts]
        known = [rows for rows in told if rows is not None]
        waiting = {sources[0]: sum(known) if known and len(known) == len(told) else None}
    else:
        waiting = dict.fromkeys(sources)
    durations = {name: millis / 1_000 for name, millis in report.get("durationMs", {}).items()}
    return Progress(int(report["batchId"]), waiting, durations)
