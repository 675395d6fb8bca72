"""What waits at a source, as its offsets tell."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.elasticity.lag import rows_behind

KAFKA = "KafkaV2[Subscribe[clicks]]"


@pytest.mark.parametrize(
    ("description", "end", "latest", "rows"),
    [
        (KAFKA, {"clicks": {"0": 10, "1": 5}}, {"clicks": {"0": 12, "1": 5}}, 2),
        (KAFKA, {"clicks": {"0": 10}}, {"clicks": {"0": 9}}, 0),
        (KAFKA, {"clicks": {"0": 10}}, {"clicks": {"0": 10, "1": 3}, "views": {"0": 4}}, 7),
        (KAFKA, {"clicks": 3}, {"clicks": 5}, None),
        (KAFKA, {"clicks": {"0": None}}, {"clicks": {"0": 5}}, None),
        (KAFKA, {"clicks": {"0": 10}}, None, None),
        ("FileStreamSource[file:/in]", {"logOffset": 3}, None, None),
        ("RateStreamV2[rowsPerSecond=5", 3, 5, None),
        ("penstock", {"source": "penstock", "row": 3}, {"source": "penstock", "row": 9}, 6),
        ("penstock", {"source": "penstock"}, {"source": "penstock", "row": 9}, None),
        ("another", "no JSON", "no JSON", None),
    ],
)
def test_what_waits(description: str, end: Any, latest: Any, rows: int | None) -> None:
    part = {"description": description, "endOffset": end, "latestOffset": latest}
    assert rows_behind(part) == rows
    as_text = {
        key: json.dumps(value) if isinstance(value, dict) else value for key, value in part.items()
    }
    assert rows_behind(as_text) == rows


def test_a_part_without_anything_tells_nothing() -> None:
    assert rows_behind({}) is None
