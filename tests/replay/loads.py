"""Recorded loads with known answers, and a log as Spark would have written it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from penstock.replay.batches import Conditions
from penstock.replay.recording import RecordedBatch, Recording

ORIGIN = 1_767_225_600.0


def batch(start: float, seconds: float, rows: int, **fields: Any) -> RecordedBatch:
    return RecordedBatch(start, seconds, rows, fields.pop("busy", seconds), **fields)


def recording(*batches: RecordedBatch, trigger: float | None = None) -> Recording:
    return Recording("clicks", "run", batches, trigger)


def conditions(**changes: Any) -> Conditions:
    usual = {
        "least_slots": 1,
        "most_slots": 8,
        "start_slots": 2,
        "trigger_seconds": 10.0,
        "limit_seconds": 10.0,
        "ended_seconds": 0.0,
        "executor_seconds": 0.0,
    }
    return Conditions(**{**usual, **changes})


def progress(
    number: int, start: float, seconds: float, rows: int, *, run: str = "r1", query: str = "q1"
) -> dict[str, Any]:
    when = datetime.fromtimestamp(ORIGIN + start, UTC).isoformat(timespec="milliseconds")
    return {
        "id": query,
        "runId": run,
        "name": f"name of {query}",
        "timestamp": when.replace("+00:00", "Z"),
        "batchId": number,
        "numInputRows": rows,
        "inputRowsPerSecond": "NaN",
        "durationMs": {"triggerExecution": 1_000 * seconds, "addBatch": 900 * seconds},
        "sources": [{"description": "KafkaV2[Subscribe[clicks]]", "numInputRows": rows}],
        "sink": {"description": "MemorySink", "numOutputRows": -1},
    }


def burst(batches: int = 40, **whose: str) -> list[dict[str, Any]]:
    """Write a log of a query on 4 slots, triggered every 10 s, that has a burst in its middle.

    A batch takes 1 s and 0.02 s of a slot for each row; the burst is more than 4 slots can do.
    """
    reports, start, taken = [], 0.0, 0.0
    for number in range(batches):
        rows = round(sum(_rate(second) for second in range(int(taken), int(start))))
        seconds = 1 + rows * 0.02 / 4
        reports.append(progress(number, start, seconds, rows, **whose))
        taken = start
        start = start + seconds if seconds > 10 else (start // 10 + 1) * 10
    return reports


def _rate(second: int) -> float:
    return 250.0 if 120 <= second < 180 else 50.0


def as_lines(reports: Sequence[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(report)}\n" for report in reports)
