from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import DataFrame, SparkSession

import penstock as ps
from penstock import journal
from penstock.elasticity.observation import Observation, SourceObservation
from penstock.engine.admitting import Admitting
from penstock.engine.read_limits import LimitedStream, most_rows, shares
from penstock.journal.events import BatchFinished, FaultSeen, LimitSet

Events = Callable[..., DataFrame]
Finish = Callable[..., ps.Query]


def bodies(query: ps.Query, kind: type) -> list[Any]:
    return [event.body for event in journal.read(query.journal_dir) if isinstance(event.body, kind)]


def rows_of_batches(query: ps.Query) -> list[int]:
    return [body.observation.rows_in for body in bodies(query, BatchFinished)]


def test_a_limit_holds_from_the_batch_after_it_was_set(
    spark: SparkSession, finish: Finish, tmp_path: Path
) -> None:
    df = ps.sources.generate(
        ps.sources.Steady(50), duration_seconds=6, max_rows_per_batch=100, spark=spark
    )
    sink = ps.sinks.memory()
    query = finish(ps.Stream.read(df).to(sink), admission=ps.Admission(batch="1 hour", max_rows=50))
    # The first batch was planned by the source's own limit.
    assert rows_of_batches(query) == [100, 50, 50, 50, 50]
    assert sorted(row.id for row in sink.rows()) == list(range(300))
    (told,) = bodies(query, LimitSet)
    assert (told.batch_id, told.rows) == (0, 50)
    assert told.reason.startswith("100 rows took ")
    assert told.reason.endswith(" s, 3600 s is the aim")
    assert not bodies(query, FaultSeen)
    newest = tmp_path / "checkpoint" / "commits" / "000000000004.json"
    assert json.loads(newest.read_text())["admission"]["rate"] == 50 / 3600


def test_a_source_gets_no_more_than_it_allows_itself(spark: SparkSession, finish: Finish) -> None:
    df = ps.sources.generate(
        ps.sources.Steady(50), duration_seconds=4, max_rows_per_batch=100, spark=spark
    )
    query = finish(
        ps.Stream.read(df).to(ps.sinks.memory()),
        admission=ps.Admission(batch="1 hour", min_rows=150),
    )
    assert rows_of_batches(query) == [100, 100]


def test_a_source_that_takes_no_limit_in_rows_is_named_once(events: Events, finish: Finish) -> None:
    query = finish(
        ps.Stream.read(events(3, 10)).to(ps.sinks.memory()),
        admission=ps.Admission(batch="1 hour", max_rows=5),
    )
    assert rows_of_batches(query) == [10, 10, 10]
    (told,) = bodies(query, FaultSeen)
    assert told.what == "no read limit"
    assert "FileStreamSource: takes no limit in rows" in told.detail
    assert "maxFilesPerTrigger" in told.detail
    assert not bodies(query, LimitSet)


def wait(row: dict[str, Any]) -> dict[str, Any]:
    time.sleep(0.001 if row["id"] < 800 else 0.02)
    return {"id": row["id"]}


@pytest.mark.slow
def test_when_rows_cost_twenty_times_as_much_batches_become_small(
    spark: SparkSession, finish: Finish
) -> None:
    df = ps.sources.generate(
        ps.sources.Steady(100), duration_seconds=16, max_rows_per_batch=400, spark=spark
    )
    sink = ps.sinks.memory()
    query = finish(
        ps.Stream.read(df).map(wait, "id bigint").to(sink),
        admission=ps.Admission(batch="1 second"),
        slots=ps.LocalSlots(max=2),
    )
    rows = rows_of_batches(query)
    assert sorted(row.id for row in sink.rows()) == list(range(1_600))
    # Two tasks that wait 20 ms for a row do 100 rows a second at best.
    starts = [sum(rows[:number]) for number in range(len(rows))]
    slow = [start + count - max(start, 800) for start, count in zip(starts, rows, strict=True)]
    assert rows[0] == 400
    # How small at once depends on what else the machine does; smaller it is at once.
    assert all(rows[i + 1] < rows[i] for i in range(len(rows) - 1) if slow[i] >= 200), rows
    assert rows[-2] < 200
    limits = [told.rows for told in bodies(query, LimitSet)]
    assert 2 * min(limits) < max(limits)


def stream(most_rows: int | None) -> LimitedStream:
    return LimitedStream(None, None, "any", most_rows)


def test_a_limit_is_shared_out_by_what_sources_have_to_give() -> None:
    assert shares(100, [stream(10**6)], [7]) == [100]
    assert shares(100, [stream(10**6), stream(10**6)], [9, 89]) == [10, 90]
    # What came of a source without a limit is off; and nobody is shut out.
    assert shares(100, [stream(None), stream(10**6)], [60, 500]) == [0, 40]
    assert shares(100, [stream(None), stream(10**6)], [600, 500]) == [0, 1]
    assert shares(10, [stream(10**6), stream(10**6)], [0, 10**6]) == [1, 9]


def test_an_idle_source_keeps_a_tenth_of_an_equal_share() -> None:
    two = [stream(10**6), stream(10**6)]
    assert shares(1_000, two, [0, 10**6]) == [50, 950]
    assert shares(1_000, [*two, stream(None)], [0, 10**6, 400]) == [30, 570, 0]
    assert shares(1_000, [*two, *two], [0, 0, 99, 299]) == [25, 25, 237, 712]
    assert shares(1, two, [0, 0]) == [1, 1]


def test_shares_follow_sources_while_the_limit_stays(spark: SparkSession, finish: Finish) -> None:
    def source(seconds: int) -> DataFrame:
        return ps.sources.generate(
            ps.sources.Steady(10), duration_seconds=seconds, max_rows_per_batch=50, spark=spark
        )

    long, short = (
        ps.Stream.read(source(seconds), name=name) for seconds, name in ((18, "long"), (8, "short"))
    )
    sink = ps.sinks.memory()
    query = finish(
        long.union(short).to(sink), admission=ps.Admission(batch="1 hour", min_rows=60, max_rows=60)
    )
    rows = [
        {source.name: source.rows for source in body.observation.sources}
        for body in bodies(query, BatchFinished)
    ]
    assert rows[:2] == [{"long": 50, "short": 50}, {"long": 30, "short": 30}]
    # Nothing comes of the short one any more, and the long one has its share too.
    assert max(each["long"] for each in rows[2:]) == 50
    assert len(sink.rows()) == 260
    assert not bodies(query, FaultSeen)


def test_whatever_goes_wrong_ends_the_limits_and_is_told_once() -> None:
    nobody: Any = None
    admitting = Admitting(nobody, ps.Admission(batch="1 second"), None, {})
    admitting.query = nobody
    seen = Observation(4, 100.0, 0.5, 1.0, slots=2, sources=(SourceObservation("a", 10),))
    assert list(admitting.after_batch(seen, {})) == []  # the query has not started
    admitting.query = cast(Any, "no query of Spark's")
    (fault,) = admitting.after_batch(seen, {})
    assert isinstance(fault, FaultSeen)
    assert (fault.batch_id, fault.what) == (4, "no read limit")
    assert "admission is off" in fault.detail
    assert list(admitting.after_batch(seen, {})) == []


def test_what_a_source_declares_says_whether_it_takes_limits_in_rows(spark: SparkSession) -> None:
    limit: Any = spark._jvm.org.apache.spark.sql.connector.read.streaming.ReadLimit  # type: ignore[union-attr]
    assert most_rows("KafkaMicroBatchStream", limit.maxRows(500)) == 500
    assert most_rows("KafkaMicroBatchStream", limit.allAvailable()) > 10**18
    assert most_rows("RatePerMicroBatchStream", limit.maxRows(500)) is None
    assert most_rows("SomeOtherStream", limit.allAvailable()) is None
    assert most_rows("FileStreamSource", limit.maxFiles(3)) is None
    assert most_rows("KafkaMicroBatchStream", limit.minRows(5, 1_000)) is None
