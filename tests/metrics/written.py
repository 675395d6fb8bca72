"""Journals written by hand, and what is exported of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from penstock.elasticity.observation import Observation, OperatorObservation, SourceObservation
from penstock.journal import BatchFinished, Event, QueryStarted, to_json
from penstock.journal.segments import segment_numbers, segment_path
from penstock.metrics.collector import JournalCollector
from penstock.metrics.exposition import as_text

BEGAN = 1_700_000_000.0

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def write(directory: Path, bodies: Iterable[Any], *, first_seq: int | None = None) -> Path:
    """Write events, a second apart, into a new segment of a journal."""
    directory.mkdir(parents=True, exist_ok=True)
    numbers = segment_numbers(directory)
    if first_seq is None:
        before = [segment_path(directory, n).read_text().count("\n") for n in numbers]
        first_seq = 1 + sum(before)
    lines = [
        to_json(Event(seq, BEGAN + seq, body)) + "\n" for seq, body in enumerate(bodies, first_seq)
    ]
    segment_path(directory, max(numbers, default=0) + 1).write_text("".join(lines))
    return directory


def started(name: str = "clicks", query_id: str = "q-1", slots: int = 4) -> QueryStarted:
    return QueryStarted(query_id, name, "clicks -> parse", "0.1.0", "4.3.0", slots)


def operator(name: str = "parse", **fields: Any) -> OperatorObservation:
    usual: dict[str, Any] = {
        "rows_in": 100,
        "rows_out": 90,
        "busy_seconds": 1.5,
        "tasks": 4,
        "slowest_task_seconds": 0.6,
        "mean_task_seconds": 0.4,
        "failed_rows": 10,
    }
    return OperatorObservation(name, **{**usual, **fields})


def batch(
    batch_id: int = 0,
    *,
    at: float = BEGAN,
    seconds: float = 0.75,
    rows: int = 100,
    waiting: int | None = 25,
    operators: tuple[OperatorObservation, ...] = (operator(),),
    watermark: float | None = None,
    query: str | None = None,
    **fields: Any,
) -> BatchFinished:
    seen = Observation(
        batch_id,
        at_seconds=at,
        batch_seconds=seconds,
        trigger_seconds=fields.pop("trigger", 5.0),
        slots=fields.pop("slots", 4),
        operators=operators,
        sources=(SourceObservation("clicks", rows, waiting),),
        **fields,
    )
    return BatchFinished(seen, watermark, at, query)


def exported(*journals: Path) -> Samples:
    """Return what Prometheus would read, as it would read it."""
    return parsed(as_text(JournalCollector(journals)))


def parsed(text: str) -> Samples:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(samples: Samples, name: str, **labels: str) -> float | None:
    """Return one number; of the query clicks unless said."""
    wanted = labels if "journal" in labels else {"query": "clicks", **labels}
    return samples.get((name, tuple(sorted(wanted.items()))))
