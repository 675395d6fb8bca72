"""The fusion benchmark: that it compares what it says, on a few rows."""

from __future__ import annotations

from pathlib import Path

import fusion
import fusion_fast
import pytest
from fusion_rows import batch_seconds, read, write_batches
from pyspark.sql import SparkSession

import penstock as ps
from penstock.branch import build_topology
from penstock.topology.components import Components


@pytest.mark.parametrize(("fused", "components"), [(0, 4), (2, 3), (3, 2), (4, 1)])
def test_the_fast_job_has_as_many_components_as_it_says(
    spark: SparkSession, tmp_path: Path, fused: int, components: int
) -> None:
    write_batches(tmp_path / "in", [10], 5, files=1, event_seconds=1.0)
    job = fusion_fast.job(read(spark, tmp_path / "in", 1), fused)
    found = Components(build_topology([job.to(ps.sinks.memory())]))
    python = [component for component in found if component.runs_python]
    assert len(python) == components
    assert sum(len(component.operators) for component in python) == 4
    assert all(component.by == ("key",) for component in python)


def test_every_way_of_it_counts_the_same(spark: SparkSession, tmp_path: Path) -> None:
    write_batches(tmp_path / "in", [200, 200], 5, files=2, event_seconds=60.0)
    rows = {}
    for fused in (0, 4):
        sink = ps.sinks.memory()
        query = ps.run(
            fusion_fast.job(read(spark, tmp_path / "in", 2), fused).to(sink),
            checkpoint=tmp_path / str(fused),
            available_now=True,
        )
        query.await_termination()
        assert len(batch_seconds(query)) == 2
        rows[fused] = sorted(sink.rows())
    assert rows[0] == rows[4]
    assert len(rows[0]) == 400


def test_a_choice_is_right_where_it_is_hardly_slower() -> None:
    results = [
        {"is_right": True, "is_faster": True, "is_adopted_right": False},
        {"is_right": True, "is_faster": False, "is_adopted_right": False},
        {"is_right": False, "is_faster": False, "is_adopted_right": True},
        {"is_right": True, "is_faster": True, "is_adopted_right": False},
    ]
    assert fusion.summary("grid", results) == {
        "right_within_5_percent": 0.75,
        "right_strictly": 0.5,
        "adopted_right_within_5_percent": 0.25,
    }
