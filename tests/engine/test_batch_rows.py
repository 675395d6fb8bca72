"""What Spark's offset log tells of a batch's rows, and what it does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.engine.batch_rows import BatchRows
from penstock.sinks.filesystem import HadoopFiles
from penstock.sources.offset import ReplayOffset
from penstock.topology.operators import Source


def row(number: int) -> str:
    return json.dumps(ReplayOffset(number, 0, "like").as_dict())


@pytest.fixture
def batch_rows(spark: SparkSession, tmp_path: Path) -> BatchRows:
    df = ps.sources.generate(ps.sources.Steady(50), duration_seconds=4, spark=spark)
    source: Any = ps.Stream.read(df)._operator
    assert isinstance(source, Source)
    (tmp_path / "offsets").mkdir()
    return BatchRows(HadoopFiles(spark), str(tmp_path), [source])


@pytest.mark.parametrize(
    ("start", "end", "rows"),
    [
        (row(30), row(70), 40),
        ("-", row(70), None),
        (row(30), "-", None),
        (row(30), "", None),
        (row(30), '{"row": 70', None),
        (row(30), "7", None),
        (row(30), '{"source": "penstock"}', None),
        (row(30), '{"source": "another", "row": 70}', None),
        (None, row(70), None),
    ],
)
def test_what_can_not_be_read_is_unknown(
    batch_rows: BatchRows, tmp_path: Path, start: str | None, end: str, rows: int | None
) -> None:
    for number, offset in ((4, start), (5, end)):
        if offset is not None:
            (tmp_path / "offsets" / str(number)).write_text("\n".join(["v1", "{}", offset]))
    assert batch_rows.at_most("source", 5) == rows
