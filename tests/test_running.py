from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import penstock as ps


@pytest.fixture
def ticks(spark: SparkSession) -> DataFrame:
    """A stream with the columns timestamp and value."""
    return spark.readStream.format("rate").load()


@pytest.fixture
def stream(ticks: DataFrame) -> ps.Stream:
    return ps.Stream.read(ticks, name="ticks")


def run(*outlets: ps.Outlet, checkpoint: Path, **options: Any) -> ps.Query:
    return ps.run(*outlets, checkpoint=str(checkpoint), **options)


def test_a_branch_without_a_sink_is_refused_unless_said(stream: ps.Stream, tmp_path: Path) -> None:
    end = stream.to(ps.sinks.memory())
    stream.filter("value > 1").select("value", name="forgotten")
    with pytest.raises(ps.TopologyError, match=r"'forgotten'.*leads to no sink.*\.to\(sink\)"):
        run(end, checkpoint=tmp_path)
    query = run(end, checkpoint=tmp_path, unused="ignore", available_now=True)
    assert query.await_termination(60)
    assert "forgotten" not in query.explain()


def test_two_operators_of_one_name_are_refused_and_unnamed_ones_are_numbered(
    stream: ps.Stream, tmp_path: Path
) -> None:
    twice = stream.filter("value > 1", name="big").filter("value > 2", name="big")
    with pytest.raises(ps.TopologyError, match=r"'big'.*same name.*big_2"):
        run(twice.to(ps.sinks.memory()), checkpoint=tmp_path)
    text = stream.filter("value > 3").filter("value > 4").filter("value > 5").explain()
    assert [name for name in ("filter:", "filter_2:", "filter_3:") if name in text] == [
        "filter:",
        "filter_2:",
        "filter_3:",
    ]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"trigger": "1 second", "available_now": True}, "exclude each other"),
        ({"trigger": 0}, "is no time"),
        ({"trigger": "2 moons"}, "is not a length of time"),
        ({"policy": 3}, r"policy is 3\. Give an object that decides, such as ps\.Static\(4\)"),
        ({"policy": 0}, "policy is 0"),
        ({"policy": ps.Static}, "policy is the class Static"),
        ({"slots": 4}, r"slots is 4\. Give .* ps\.LocalSlots\(max=4\)"),
        ({"placement": "x"}, r"placement is 'x'\. Give .* ps\.RoundRobin\(\)"),
        ({"unused": "x"}, r"unused='x'\. Write unused='error' or 'ignore'"),
        ({"checkpoint": ""}, "checkpoint='' is no directory"),
        ({"checkpoint": None}, "checkpoint=None is no directory"),
        ({"checkpoint": "\ud800"}, r"checkpoint='\\ud800' is no directory"),
        ({"journal": 3}, "journal=3 is no directory"),
        ({"journal": "\ud800"}, r"journal='\\ud800' is no directory"),
        ({"name": 3}, r"name=3 is no text\. Write for example name='clicks'"),
        ({"name": "\ud800"}, r"name='\\ud800' is no text"),
    ],
)
def test_run_refuses_settings_that_cannot_work(
    stream: ps.Stream, tmp_path: Path, options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ps.ConfigurationError, match=problem):
        ps.run(stream.to(ps.sinks.memory()), **{"checkpoint": str(tmp_path), **options})


def test_run_takes_paths(stream: ps.Stream, tmp_path: Path) -> None:
    query = ps.run(
        stream.to(ps.sinks.json(tmp_path / "out")),
        checkpoint=tmp_path / "checkpoint",
        journal=tmp_path / "journal",
        available_now=True,
    )
    assert query.await_termination(60)
    made = {path.name for path in tmp_path.iterdir()}
    assert {"checkpoint", "journal", "out"} <= made


def test_run_wants_branches_that_end_in_a_sink(stream: ps.Stream, tmp_path: Path) -> None:
    with pytest.raises(ps.ConfigurationError, match="nothing to run"):
        run(checkpoint=tmp_path)
    with pytest.raises(ps.ConfigurationError, match="not a Stream"):
        run(stream, checkpoint=tmp_path)  # type: ignore[arg-type]
    with pytest.raises(ps.ConfigurationError, match=r"Static\(0\)"):
        ps.Static(0)
    with pytest.raises(ps.ConfigurationError, match="leaves no slot"):
        ps.LocalSlots(max=0)


@pytest.mark.parametrize(
    "other",
    [
        lambda out: ps.sinks.parquet(f"{out}/"),
        lambda out: ps.sinks.parquet(f"file:{out}"),
        lambda out: ps.sinks.parquet(f"file://{out}"),
        lambda out: ps.sinks.parquet(os.path.relpath(out)),
        lambda out: ps.sinks.parquet(f"{out.parent}/elsewhere/../{out.name}"),
        lambda out: ps.sinks.parquet(out.parent / "link"),
        ps.sinks.json,
    ],
)
def test_two_sinks_of_one_query_may_not_write_the_same_place(
    stream: ps.Stream,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    other: Callable[[Path], ps.sinks.Sink],
) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "out")
    a = stream.to(ps.sinks.parquet(tmp_path / "out"), name="first")
    b = stream.select("value").to(other(tmp_path / "out"), name="second")
    # Relative paths start where Spark was started, wherever Python is now.
    deep = tmp_path / "a/b/c/d/e/f"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    with pytest.raises(ps.TopologyError, match=r"'second'.*'first' writes.*too"):
        run(a, b, checkpoint=tmp_path / "checkpoint")
    assert not (tmp_path / "checkpoint").exists()


@pytest.mark.parametrize(
    "make", [ps.sinks.memory, ps.sinks.console, lambda: ps.sinks.call(lambda df, batch_id: None)]
)
def test_one_sink_may_not_end_two_branches(
    stream: ps.Stream, tmp_path: Path, make: Callable[[], ps.sinks.Sink]
) -> None:
    sink = make()
    a, b = stream.to(sink, name="first"), stream.select("value").to(sink, name="second")
    with pytest.raises(ps.TopologyError, match=r"'second'.*'first' writes.*too"):
        run(a, b, checkpoint=tmp_path / "checkpoint")
    c, d = stream.to(make()), stream.select("value").to(make())
    query = run(c, d, checkpoint=tmp_path / "checkpoint", available_now=True)
    assert query.await_termination(60)


def test_of_several_sources_each_needs_a_name(ticks: DataFrame, tmp_path: Path) -> None:
    named, unnamed = ps.Stream.read(ticks, name="ticks"), ps.Stream.read(ticks)
    for one, two in ((named, unnamed), (unnamed, named), (unnamed, ps.Stream.read(ticks))):
        ends = [one.to(ps.sinks.memory()), two.to(ps.sinks.memory())]
        with pytest.raises(ps.TopologyError, match=r"'source'.*no name.*name='clicks'"):
            run(*ends, checkpoint=tmp_path / "checkpoint")
    unnamed.to(ps.sinks.memory()).explain()
    both = named.union(ps.Stream.read(ticks, name="tocks"))
    assert "tocks" in both.explain()


def test_a_sink_that_was_forgotten_is_refused_and_one_of_another_run_is_not(
    stream: ps.Stream, tmp_path: Path
) -> None:
    a = stream.to(ps.sinks.memory(), name="a")
    b = stream.select("value").filter("value > 1").to(ps.sinks.memory(), name="b")
    with pytest.raises(ps.TopologyError, match=r"'b'.*\(memory\(\)\) was not given to run.*ignore"):
        run(a, checkpoint=tmp_path / "one")
    alone = run(a, checkpoint=tmp_path / "one", unused="ignore", available_now=True)
    assert alone.await_termination(60)
    assert "b" not in alone.topology
    # The first was run, so that it is not forgotten now.
    rest = run(b, checkpoint=tmp_path / "two", available_now=True)
    assert rest.await_termination(60)
    again = run(a, checkpoint=tmp_path / "one", available_now=True)
    assert again.await_termination(60)


@pytest.mark.parametrize(
    ("setting", "remedy"),
    [
        ({"available_now": "yes"}, "Write True or False"),
        ({"on_step": 3}, "on_step=3 can't be called. Give a function"),
        ({"clock": 12.5}, r"clock=12\.5 can't be called. Give a function"),
    ],
)
def test_settings_of_a_wrong_type_are_told_before_anything_starts(
    ticks: DataFrame, tmp_path: Path, setting: dict[str, Any], remedy: str
) -> None:
    stream = ps.Stream.read(ticks)
    with pytest.raises(ps.ConfigurationError, match=remedy):
        ps.run(stream.to(ps.sinks.memory()), checkpoint=tmp_path / "checkpoint", **setting)
    assert not (tmp_path / "checkpoint").exists()
