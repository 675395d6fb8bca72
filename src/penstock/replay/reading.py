"""Reads what people log of a query: progress as JSON, Spark's own log, or a Penstock journal."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from penstock.elasticity.query_progress import (
    QueryProgress,
    inferred_trigger_seconds,
    parse_query_progress,
)
from penstock.errors import ConfigurationError
from penstock.journal.events import BatchFinished, QueryStarted
from penstock.journal.location import journal_of
from penstock.journal.reader import read as read_journal
from penstock.replay.recording import RecordedBatch, Recording

_LONGEST_REPORT_LINES = 20_000
_MOST_LINE_BYTES = 64 * 1024 * 1024
Told = Callable[[float], object]


def read_recordings(path: Path, on_read: Told = lambda share: None) -> list[Recording]:
    """Read all runs of all queries in a file, a journal or a checkpoint, each by itself.

    A file holds one JSON object on each line, or a list of them, or Spark's log with the progress
    in it; lines that are no progress are passed over. ``on_read`` is told the share read so far.
    """
    if path.is_dir():
        return _of_journal(journal_of(path), on_read)
    if not path.is_file():
        raise ConfigurationError(
            f"there is nothing at {path}. Name a file with the progress of a query as JSON lines, "
            "or the directory of a journal."
        )
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            first_line = file.readline(_MOST_LINE_BYTES)
    except OSError as error:
        raise ConfigurationError(
            f"{path} can't be read: {error.strerror}. Give yourself the right to, or copy it."
        ) from None
    if _is_journal(first_line):
        return _of_journal(path, on_read)
    reports = list(_reports(path, on_read))
    if not reports:
        raise ConfigurationError(
            f"{path} holds no progress of a streaming query. Each line should be the JSON that a "
            "StreamingQueryListener gets: event.progress.json."
        )
    return _runs(reports)


def _reports(path: Path, on_read: Told) -> Iterator[QueryProgress]:
    for found in _objects(path, on_read):
        # Spark's event log, and many people's own, have the progress inside of an event.
        inner = found.get("progress", found)
        try:
            yield parse_query_progress(inner)
        except (ValueError, TypeError):
            continue


def _objects(path: Path, on_read: Told) -> Iterator[Mapping[str, Any]]:
    whole = _as_list(path)
    if whole is not None:
        yield from (each for each in whole if isinstance(each, Mapping))
        return
    size, seen = max(1, path.stat().st_size), 0
    block: list[str] = []
    with path.open("rb") as file:
        # What has no end within this is no line of a log, and is looked at in pieces.
        for number, raw in enumerate(iter(lambda: file.readline(_MOST_LINE_BYTES), b"")):
            seen += len(raw)
            if number % 1_000 == 0:
                on_read(seen / size)
            found = _next_object(raw.decode(errors="replace"), block)
            if found is not None:
                yield found


def _next_object(line: str, block: list[str]) -> Mapping[str, Any] | None:
    """Return the object that ends on this line; one that goes on is kept in ``block``.

    Spark's log spreads a report over many lines, of which the last is a brace alone.
    """
    start = line.find("{")
    if start >= 0 and (not block or not line[0].isspace()):
        found = _parsed(line[start:])
        if found is not None:
            block.clear()
            return found
        if line.rstrip().endswith("{"):
            block[:] = [line[start:]]
            return None
    if not block:
        return None
    block.append(line)
    if line.startswith("}"):
        found = _parsed("".join(block))
        block.clear()
        return found
    if len(block) > _LONGEST_REPORT_LINES:
        block.clear()
    return None


def _parsed(text: str) -> Mapping[str, Any] | None:
    try:
        found, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, Mapping) else None


def _as_list(path: Path) -> list[Any] | None:
    with path.open("rb") as file:
        if not file.read(1_000).lstrip().startswith(b"["):
            return None
        file.seek(0)
        try:
            found = json.load(file)
        except (ValueError, RecursionError):  # a log whose lines begin with a bracket
            return None
    return found if isinstance(found, list) else None


def _runs(reports: Iterable[QueryProgress]) -> list[Recording]:
    by_run: dict[tuple[str, str], list[QueryProgress]] = {}
    for report in reports:
        by_run.setdefault((report.query_id, report.run_id), []).append(report)
    recordings = []
    for (_, run_id), said in by_run.items():
        ran = sorted((each for each in said if each.ran_batch), key=lambda r: r.started_seconds)
        if ran:
            batches = tuple(
                RecordedBatch(
                    started_seconds=each.started_seconds,
                    seconds=each.batch_seconds,
                    rows=each.rows_in,
                    busy_wall_seconds=each.busy_wall_seconds,
                    waiting_rows=_waiting(each),
                )
                for each in ran
            )
            trigger = inferred_trigger_seconds(ran)
            recordings.append(Recording(ran[0].title, run_id, batches, trigger))
    return recordings


def _waiting(report: QueryProgress) -> int | None:
    told = [s.waiting_rows for s in report.sources if s.waiting_rows is not None]
    return sum(told) if told and len(told) == len(report.sources) else None


def _is_journal(first_line: str) -> bool:
    found = _parsed(first_line)
    return found is not None and "kind" in found and "seq" in found


def _of_journal(path: Path, on_read: Told) -> list[Recording]:
    batches: dict[tuple[str, int], list[BatchFinished]] = {}
    run, names = 0, {}
    runs_of: Counter[str] = Counter()
    for event in read_journal(path, on_read):
        body = event.body
        if isinstance(body, QueryStarted):
            run += 1
            names[run] = body.name
            runs_of[body.name] += 1
        # A query without new rows is journaled too, and takes no time.
        elif isinstance(body, BatchFinished) and body.observation.batch_seconds > 0:
            # Where a journal is of several queries, the start of one ends no other's run.
            number = runs_of[body.query] if body.query else run
            batches.setdefault((body.query or "", number), []).append(body)
    if not batches:
        raise ConfigurationError(
            f"{path} is no journal with micro-batches in it. Name the journal of a query: it is in "
            "its checkpoint unless run(journal=...) said otherwise."
        )
    return [
        _journaled(query or names.get(number, path.name), number, found)
        for (query, number), found in batches.items()
    ]


def _journaled(title: str, run: int, finished: list[BatchFinished]) -> Recording:
    seen = [each.observation for each in finished]
    # What waits is told a batch late in a journal, so it would count as arriving too late.
    batches = tuple(
        RecordedBatch(
            started_seconds=each.started_seconds,
            seconds=each.batch_seconds,
            rows=each.rows_in,
            busy_wall_seconds=each.batch_seconds,
            slots=min(each.slots, each.used_slots or each.slots),
        )
        for each in seen
    )
    return Recording(title, str(run), batches, seen[-1].trigger_seconds)
