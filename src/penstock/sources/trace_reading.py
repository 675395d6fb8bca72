"""Reading a trace: from a file, from counts per second, or from (seconds, count) pairs."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from penstock.errors import ConfigurationError
from penstock.sources.text_file import text_of, why_unread
from penstock.sources.trace import Trace, trace_of_counts, trace_of_pairs

TraceLike = str | os.PathLike[str] | Sequence[float] | Sequence[tuple[float, float]]

MOST_BYTES = 64 * 1024 * 1024
"""A count for every second of a month is less than half of it."""


@dataclass(frozen=True, slots=True)
class _Line:
    place: str
    fields: list[str]


def read_trace(trace: TraceLike | Trace, rate_column: str | None = None) -> Trace:
    """Read a trace.

    ``trace`` is the path of a file, a sequence of counts per second, or of (seconds, count) pairs.
    A file has the time first, in seconds or ISO 8601 (UTC where no zone is written), then the
    count; ``rate_column`` names it where there are several columns. A file of one column has counts
    per second. Commas, semicolons, tabs or blanks separate; a header is optional.

    >>> read_trace([3, 4]).counts
    (3, 4)
    >>> read_trace([(0, 60), (1800, 90)]).step_micros
    (1800000000, 1800000000)
    """
    if isinstance(trace, Trace):
        return trace
    if isinstance(trace, str | os.PathLike):
        return _read_file(Path(trace), rate_column)
    if rate_column is not None:
        raise ConfigurationError(
            f"rate_column={rate_column!r} names a column of a file, but the trace is a sequence; "
            "leave rate_column out"
        )
    if not isinstance(trace, Iterable) or isinstance(trace, bytes):
        raise ConfigurationError(
            f"a {type(trace).__name__} is no trace; give the path of a file, or counts per second "
            "such as [120, 130]"
        )
    return _read_sequence(list(trace))


def _read_sequence(items: Sequence[object]) -> Trace:
    try:
        numbers = np.array(items, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        numbers = np.empty((0, 0, 0))
    if numbers.ndim == 1:
        return trace_of_counts(numbers.tolist())
    if numbers.ndim == 2 and numbers.shape[1] == 2:
        places = [f"trace[{index}]" for index in range(len(items))]
        return trace_of_pairs(places, numbers[:, 0].tolist(), numbers[:, 1].tolist())
    raise ConfigurationError(
        "a trace that is a sequence must be all counts, such as [120, 130], "
        "or all (seconds, count) pairs, such as [(0, 120), (60, 130)]"
    )


def _read_file(path: Path, rate_column: str | None) -> Trace:
    lines = _split_lines(path)
    if not lines:
        raise ConfigurationError(f"the trace {path} is empty; give at least one count")
    header = lines.pop(0) if _is_header(lines[0]) else None
    if not lines:
        raise ConfigurationError(f"the trace {path} has a header and no counts")
    width = len(header.fields if header else lines[0].fields)
    for line in lines:
        if len(line.fields) != width:
            raise ConfigurationError(f"{line.place}: {len(line.fields)} columns, not {width}")
    column = _column_of_rate(path, rate_column, header, width)
    counts = [_number(line, column) for line in lines]
    if width == 1:
        return trace_of_counts(counts)
    return trace_of_pairs(
        [line.place for line in lines], [_seconds(line) for line in lines], counts
    )


def _split_lines(path: Path) -> list[_Line]:
    try:
        text = text_of(path, MOST_BYTES, "utf-8-sig")
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"the trace {path} cannot be read: {why_unread(error)}; give the path of a CSV or "
            "text file"
        ) from error
    numbered = [
        (f"{path} line {number}", line.strip())
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not numbered:
        return []
    separator = next((mark for mark in ",;\t" if mark in numbered[0][1]), None)
    if separator is None:
        return [_Line(place, line.split()) for place, line in numbered]
    return [_Line(place, _cells(place, line, separator)) for place, line in numbered]


def _cells(place: str, line: str, separator: str) -> list[str]:
    try:
        # One line at a time: a quotation mark without its other half would take in those below.
        (cells,) = csv.reader([line], delimiter=separator, strict=True)
    except (csv.Error, ValueError) as error:
        raise ConfigurationError(
            f"{place} can't be read ({error}); write numbers, without quotation marks"
        ) from None
    return [cell.strip() for cell in cells]


def _column_of_rate(path: Path, rate_column: str | None, header: _Line | None, width: int) -> int:
    if rate_column is None:
        if width <= 2:
            return width - 1
        columns = f": {', '.join(header.fields[1:])}" if header else ", but no header to name them"
        raise ConfigurationError(
            f"the trace {path} has {width - 1} columns after the time{columns}; "
            "say which one holds the counts with rate_column"
        )
    if header is None:
        raise ConfigurationError(
            f"the trace {path} has no header, so no column {rate_column!r}; "
            "add a header, or leave rate_column out where the counts are the second column"
        )
    if rate_column not in header.fields:
        raise ConfigurationError(
            f"the trace {path} has no column {rate_column!r}; its columns are "
            f"{', '.join(header.fields)}"
        )
    return header.fields.index(rate_column)


def _is_header(line: _Line) -> bool:
    # One number or time is enough to make it data: a bad first line must not pass for a header.
    return not any(_is_number(field) or _moment(field) for field in line.fields)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _number(line: _Line, column: int) -> float:
    try:
        return float(line.fields[column])
    except ValueError:
        raise ConfigurationError(
            f"{line.place}: the count {line.fields[column]!r} is not a number"
        ) from None


def _seconds(line: _Line) -> float:
    text = line.fields[0]
    if _is_number(text):
        return float(text)
    moment = _moment(text)
    if moment is None:
        raise ConfigurationError(
            f"{line.place}: the time {text!r} is neither seconds nor ISO 8601, "
            "such as 12.5 or 2026-01-01T00:00:00"
        )
    return moment.timestamp()
