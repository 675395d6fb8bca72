"""Starts that a disk or Spark refuses: a sentence with the place, and no stack of theirs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame

import penstock as ps
from penstock import journal

Events = Callable[..., DataFrame]


def refused(rows: DataFrame, sink: ps.sinks.Sink, checkpoint: str) -> str:
    """Start a query that can't start; return the sentence."""
    with pytest.raises(ps.PenstockError) as told:
        ps.run(ps.Stream.read(rows).to(sink), checkpoint=checkpoint, available_now=True)
    said = str(told.value)
    assert len(said.splitlines()) == 1
    assert "java." not in said.partition(" (")[0]
    assert "\tat " not in said
    assert told.value.__cause__ is None
    return said


@pytest.mark.parametrize(
    ("inside", "why"),
    [("", "File exists"), (f"/{'deep/' * 30}inside", "Not a directory")],
)
def test_a_checkpoint_in_the_place_of_a_file(
    events: Events, tmp_path: Path, inside: str, why: str
) -> None:
    (tmp_path / "file").write_text("mine")
    said = refused(events(1, 3), ps.sinks.memory(), f"{tmp_path}/file{inside}")
    assert (
        said == f"'{tmp_path}/file{inside}' can't be used: {why}. Name another place, or mend that."
    )
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("place", ["nosuch://host/a", "s3a://bucket/a"])
def test_a_file_system_that_the_session_does_not_know(
    events: Events, tmp_path: Path, place: str
) -> None:
    at_checkpoint = refused(events(1, 3), ps.sinks.memory(), place)
    at_sink = refused(events(1, 3), ps.sinks.parquet(place), str(tmp_path / "checkpoint"))
    for said in (at_checkpoint, at_sink):
        assert said.startswith(f"'{place}' can't be used (")
        assert "spark.jars.packages" in said


def test_a_sink_that_can_not_be_made(events: Events, tmp_path: Path) -> None:
    checkpoint = str(tmp_path / "checkpoint")
    said = refused(events(1, 3), ps.sinks.parquet("/dev/null/inside"), checkpoint)
    assert said.startswith("parquet(/dev/null/inside) can't be opened: ")
    assert said.endswith("Name another place, or mend that.")
    ended = list(journal.read(f"{checkpoint}/journal"))[-1].body
    assert isinstance(ended, journal.QueryStopped)
    assert ended.error == said


def test_a_source_that_spark_does_not_start(events: Events, tmp_path: Path) -> None:
    counted = events(1, 3).groupBy("user").count()
    said = refused(counted, ps.sinks.memory(), str(tmp_path / "checkpoint"))
    assert said.startswith("Spark does not start the query: [STREAMING_OUTPUT_MODE")


def test_a_name_without_a_letter(events: Events, tmp_path: Path) -> None:
    outlet = ps.Stream.read(events(1, 3)).to(ps.sinks.memory())
    with pytest.raises(ps.ConfigurationError, match="name='' is no text"):
        ps.run(outlet, checkpoint=str(tmp_path / "checkpoint"), name="")
