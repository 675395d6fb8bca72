"""How many rows wait at a source, from the offsets of a progress report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

# What an offset of a stream made by penstock.sources has in its field "source".
SOURCE_MARK = "penstock"


def rows_behind(source: Mapping[str, Any]) -> int | None:
    """Count the rows that a source had and the query left, from the source's part of a report.

    None where the source's offsets are not in rows: it is known for Kafka and for the streams of
    ``penstock.sources``.

    >>> kafka = {"description": "KafkaV2[Subscribe[clicks]]", "endOffset": {"clicks": {"0": 10}}}
    >>> rows_behind({**kafka, "latestOffset": {"clicks": {"0": 14}}}), rows_behind(kafka)
    (4, None)
    """
    end, latest = parsed_offset(source.get("endOffset")), parsed_offset(source.get("latestOffset"))
    if not isinstance(end, Mapping) or not isinstance(latest, Mapping):
        return None
    if str(source.get("description", "")).startswith("Kafka"):
        try:
            return kafka_lag(end, latest)
        except (AttributeError, TypeError, ValueError):
            return None
    return waiting_rows(end, latest)


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


def waiting_rows(
    end_offset: Mapping[str, Any] | str | None, latest_offset: Mapping[str, Any] | str | None
) -> int | None:
    """Count the rows that are due and not read yet, from the offsets of a query's progress.

    Both may be the JSON text that a progress holds. None where either is not of a stream of
    ``penstock.sources``.

    >>> read, due = {"source": "penstock", "row": 100}, {"source": "penstock", "row": 250}
    >>> waiting_rows(read, due), waiting_rows({"0": 7}, {"0": 9}), waiting_rows(read, None)
    (150, None, None)
    """
    end_row, latest_row = _row_of(end_offset), _row_of(latest_offset)
    if end_row is None or latest_row is None:
        return None
    return max(0, latest_row - end_row)


def parsed_offset(value: Any) -> Any:
    """Return an offset as Python has it: some sources give JSON, some the text of it."""
    if isinstance(value, str):
        try:
            return json.loads(value)
        except ValueError:
            return None
    return value


def _row_of(offset: Mapping[str, Any] | str | None) -> int | None:
    offset = parsed_offset(offset)
    if not isinstance(offset, Mapping) or offset.get("source") != SOURCE_MARK:
        return None
    row = offset.get("row")
    return int(row) if isinstance(row, int) else None
