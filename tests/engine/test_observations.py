"""What was counted on the way, and reports of it that Spark loses."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.engine import observations
from penstock.engine.observations import Measures, counting
from penstock.engine.partials import PartialFrame
from penstock.engine.source_times import seen
from topology.builders import source

LOST = "Spark did not report how many rows.*the micro-batch is run once more"


def test_rows_that_were_written_are_never_taken_for_none(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark drops events when its listeners are too slow, as if the job had not been."""
    monkeypatch.setattr(observations, "_TOLD_WITHIN_SECONDS", 0.0)
    lost, df = Measures.on(spark.range(3), counting())
    for ask in (
        lambda: PartialFrame(df, (), lost).counts([]),
        lambda: seen(source("timed"), lost, []),
        lost.wait,
    ):
        with pytest.raises(ps.QueryError, match=LOST):
            ask()
    assert seen(source("plain", time=None), lost, []).rows == 0  # no watermark asks for its times
    df.write.parquet(str(tmp_path / "out"))
    monkeypatch.setattr(observations, "_TOLD_WITHIN_SECONDS", 60.0)
    assert lost.wait() == (3,)
    assert seen(source("timed"), lost, []).rows == 3


def test_rows_that_a_job_has_no_use_for_are_none(spark: SparkSession, tmp_path: Path) -> None:
    pruned, df = Measures.on(spark.range(3).filter("1 = 0"), counting())
    df.filter("1 = 0").write.parquet(str(tmp_path / "out"))
    assert pruned.wait() == (0,)
    assert seen(source("timed"), pruned, []).rows == 0
