"""A sink whose other end is away is sent its batch again: rows, counts and watermark stay exact."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import penstock as ps
from penstock import journal
from penstock.engine.patient_sinks import FAULT
from penstock.journal import FaultSeen

Events = Callable[..., DataFrame]
Finish = Callable[..., ps.Query]
NEWEST = 1_700_000_000.0


class Away:
    """A sink that is not there for the first tries of every batch, each in the middle of a job."""

    retry_seconds = 0.01

    def __init__(self, tries: int, retries: int = 3) -> None:
        self.retries = retries
        self.tries_left: dict[int, int] = {}
        self.kept: dict[int, list[Any]] = {}
        self.opened = 0
        self._tries = tries

    def open(self, query_id: str) -> None:
        self.opened += 1
        if self.opened <= self._tries:
            raise ps.SinkUnavailable("the other end is away")

    def write(self, df: DataFrame, batch_id: int) -> None:
        left = self.tries_left.setdefault(batch_id, self._tries)
        if left:
            self.tries_left[batch_id] = left - 1
            with pytest.raises(Exception, match="half-way"):
                df.selectExpr("id", "raise_error('half-way')").collect()
            raise ps.SinkUnavailable("the other end is away")
        self.kept[batch_id] = [row.id for row in df.collect()]

    def describe(self) -> str:
        return "away()"


def faults(query: ps.Query) -> list[FaultSeen]:
    bodies = [event.body for event in journal.read(query.journal_dir)]
    return [body for body in bodies if isinstance(body, FaultSeen)]


def test_a_batch_is_sent_again_and_counts_once(
    spark: SparkSession, events: Events, finish: Finish
) -> None:
    calls = spark.sparkContext.accumulator(0)

    def counted(row: dict[str, Any]) -> dict[str, Any]:
        calls.add(1)
        return row

    sink = Away(tries=2)
    s = ps.Stream.read(events(2, 50), time="ts", watermark="0 seconds")
    query = finish(s.map(counted, "id bigint").to(sink))
    assert {n: sorted(ids) for n, ids in sink.kept.items()} == {
        0: list(range(50)),
        1: list(range(50, 100)),
    }
    assert calls.value == 100
    status = query.status()
    assert status.watermarks_seconds == {"source": NEWEST + 99}
    seen = {op.name: (op.rows_in, op.rows_out) for op in status.last.operators}
    assert seen["counted"] == (50, 50)
    told = faults(query)
    assert [(each.batch_id, each.what) for each in told] == [
        (batch, FAULT) for batch in (None, None, 0, 0, 1, 1)
    ]
    assert told[2].detail == "the other end is away. Try 1 of 4, the next in 0.01 s"
    assert told[3].detail.endswith("Try 2 of 4, the next in 0.02 s")


def test_the_query_stops_with_the_way_out_and_goes_on_later(events: Events, finish: Finish) -> None:
    df = events(1, 5)
    sink = Away(tries=3, retries=2)
    sink.opened = 3
    with pytest.raises(
        ps.SinkUnavailable, match=r"tried 3 times within 0\.03 s\. Batch 0 is not committed"
    ):
        finish(ps.Stream.read(df).to(sink))
    finish(ps.Stream.read(df).to(sink))
    assert sorted(sink.kept[0]) == list(range(5))


def test_other_errors_are_not_tried_again(events: Events, finish: Finish) -> None:
    tries: list[int] = []

    def refuse(df: DataFrame, batch_id: int) -> None:
        tries.append(batch_id)
        raise ps.SinkError("no such table")

    with pytest.raises(ps.SinkError, match="no such table"):
        finish(ps.Stream.read(events(1, 5)).to(refuse))
    assert tries == [0]


def test_stopping_does_not_wait_for_what_is_away(
    events: Events, finish: Finish, tmp_path: Path
) -> None:
    df = events(1, 5)
    sink = Away(tries=1)
    sink.opened, sink.retry_seconds = 1, 3_600.0
    query = ps.run(ps.Stream.read(df).to(sink), checkpoint=tmp_path / "checkpoint")
    while not sink.tries_left:
        assert not query.await_termination(0.05)
    query.stop(timeout=None)
    assert query.status().state == "stopped"
    assert sink.kept == {}
    finish(ps.Stream.read(df).to(sink))
    assert sorted(sink.kept[0]) == list(range(5))
