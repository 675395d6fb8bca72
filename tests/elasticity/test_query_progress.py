"""Reports of streaming queries as Spark writes them, and as it once wrote them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.elasticity.observation import Observation, SourceObservation
from penstock.elasticity.query_progress import (
    QueryProgress,
    TaskTimes,
    inferred_trigger_seconds,
    observe,
    parse_query_progress,
)

# Of PySpark 4.3: a stateful query on a rate source, a file source, a union of both.
REAL = Path(__file__).with_name("progress-4.3.jsonl").read_text().splitlines()
BASE = {"id": "5c1f", "runId": "9e0", "batchId": 7, "timestamp": "2026-01-01T00:00:10.000Z"}


def report(**fields: Any) -> QueryProgress:
    return parse_query_progress({**BASE, **fields})


def test_a_real_report_of_a_stateful_query() -> None:
    first, second = (parse_query_progress(line) for line in REAL[:2])
    assert (first.name, first.title, first.batch_id, second.batch_id) == ("agg", "agg", 0, 1)
    assert first.run_id == second.run_id
    assert second.started_seconds == 1794821730.835
    assert (second.rows_in, second.rows_out, second.state_rows) == (2400, 13, 13)
    assert (second.batch_seconds, second.busy_wall_seconds) == (5.534, 4.412)
    assert [source.waiting_rows for source in second.sources] == [None]


def test_real_reports_of_a_file_source_and_of_two_sources() -> None:
    files, both = (parse_query_progress(line) for line in REAL[2:4])
    assert files.title == files.query_id[:8]
    assert files.sources == (SourceObservation("FileStreamSource[file:/data/in/*]", 100, None),)
    assert [source.rows for source in both.sources] == [0, 100]
    assert both.state_rows is None


def test_kafka_tells_what_waits() -> None:
    kafka = {
        "description": "KafkaV2[Subscribe[clicks]]",
        "endOffset": {"clicks": {"0": 10}},
        "latestOffset": {"clicks": {"0": 25}},
        "numInputRows": 10,
        "inputRowsPerSecond": "NaN",
    }
    seen = observe(report(sources=[kafka], numInputRows=10), slots=2)
    assert (seen.rows_in, seen.waiting_rows) == (10, 15)


@pytest.mark.parametrize(
    ("fields", "seconds"),
    [
        ({"durationMs": {"triggerExecution": 500, "addBatch": 400}, "batchDuration": 9}, 0.5),
        ({"batchDuration": 700}, 0.7),
        ({"durationMs": {"addBatch": 400, "walCommit": 50}}, 0.45),
        ({"numInputRows": 100, "processedRowsPerSecond": 50.0}, 2.0),
        ({"numInputRows": 100, "processedRowsPerSecond": "NaN"}, 0.0),
        ({"numInputRows": 100, "processedRowsPerSecond": math.inf}, 0.0),
        ({"durationMs": {"triggerExecution": "NaN"}}, 0.0),
        ({"durationMs": None}, 0.0),
        ({}, 0.0),
    ],
)
def test_how_long_a_batch_took(fields: dict[str, Any], seconds: float) -> None:
    assert report(**fields).batch_seconds == pytest.approx(seconds)


def test_what_is_no_number_is_left_out() -> None:
    read = report(
        numInputRows="NaN",
        sources=[{"description": None, "numInputRows": None}, {"numInputRows": 5}, "text"],
        sink={"numOutputRows": -1},
        stateOperators=[{"numRowsTotal": "NaN"}, {"numRowsTotal": 4}, None],
    )
    assert read.sources == (SourceObservation("source", 0), SourceObservation("source 2", 5))
    assert (read.rows_out, read.state_rows) == (None, 4)


def test_rows_that_no_source_claims_are_the_first_ones() -> None:
    sources = [{"description": "a", "numInputRows": 0}, {"description": "b", "numInputRows": 0}]
    assert [s.rows for s in report(numInputRows=30, sources=sources).sources] == [30, 0]
    assert report(numInputRows=30).sources == (SourceObservation("source", 30),)


@pytest.mark.parametrize(
    "text",
    ["{}", "[]", "7", '{"batchId": 1}', '{"batchId": 1, "timestamp": "yesterday"}', "no JSON"],
)
def test_what_is_no_report_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"no batchId|its timestamp|Expecting"):
        parse_query_progress(text)


def test_a_query_without_new_rows_ran_no_batch() -> None:
    assert not report(
        numInputRows=0, durationMs={"latestOffset": 2, "triggerExecution": 3}
    ).ran_batch
    assert report(numInputRows=0, durationMs={"addBatch": 2}).ran_batch
    assert report(numInputRows=4).ran_batch


def test_an_idle_query_took_nothing_later() -> None:
    kafka = SourceObservation("kafka", 90, 4)
    before = QueryProgress("q", "r", None, 7, 10.0, 0.5, (kafka, SourceObservation("rate", 5)))
    seen = observe(before.idle_at(40.0), slots=4, trigger_seconds=1.0)
    assert (seen.batch_id, seen.at_seconds, seen.batch_seconds) == (7, 40.0, 0.0)
    assert seen.sources == (SourceObservation("kafka", 0, 0), SourceObservation("rate", 0, None))
    assert seen.operators[-1].busy_seconds == 0.0


def test_an_operator_for_each_source_and_one_for_the_query() -> None:
    clicks = QueryProgress(
        "q", "r", "clicks", 7, 10.0, 0.5,
        (SourceObservation("clicks", 60), SourceObservation("views", 30)),
        rows_out=45, durations_seconds={"addBatch": 0.4},
    )  # fmt: skip
    seen = observe(clicks, slots=4, used_slots=3, most_slots=9, trigger_seconds=2.0)
    assert [operator.name for operator in seen.operators] == ["clicks", "views", "clicks 2"]
    query = seen.operators[-1]
    assert (query.inputs, query.rows_in, query.rows_out) == (("clicks", "views"), 90, 45)
    assert (query.busy_seconds, query.tasks, query.estimated) == (pytest.approx(1.2), 3, True)
    assert (seen.slots, seen.used_slots, seen.most_slots, seen.trigger_seconds) == (4, 3, 9, 2.0)


def test_measured_tasks_are_taken_as_they_are() -> None:
    times = TaskTimes(busy_seconds=0.9, tasks=6, slowest_task_seconds=0.3, jobs=2)
    seen = observe(report(numInputRows=10), slots=4, times=times)
    query = seen.operators[-1]
    assert (query.busy_seconds, query.tasks, query.mean_task_seconds) == (0.9, 6, 0.15)
    assert (query.slowest_task_seconds, seen.jobs) == (0.3, 2)


def batches(*starts_and_seconds: tuple[float, float], run: str = "r") -> list[QueryProgress]:
    return [
        QueryProgress("q", run, None, number, start, seconds)
        for number, (start, seconds) in enumerate(starts_and_seconds)
    ]


class TestTrigger:
    def test_is_how_far_apart_batches_begin_that_were_waited_for(self) -> None:
        # The third batch takes 25 s: the next begins at once, and then the rhythm is back.
        starts = [(0.0, 3.0), (10.0, 3.0), (20.01, 25.0), (45.0, 3.0), (50.0, 4.0), (60.0, 3.0)]
        assert inferred_trigger_seconds(batches(*starts, (70.02, 1.0), (80.0, 1.0))) == 10.0

    def test_is_none_where_batches_follow_each_other(self) -> None:
        assert inferred_trigger_seconds(batches(*[(3.02 * n, 3.0) for n in range(20)])) is None

    def test_is_none_where_rows_come_now_and_then(self) -> None:
        starts = [0.0, 4.0, 19.0, 20.5, 41.0, 43.0, 90.0]
        assert inferred_trigger_seconds(batches(*[(at, 0.5) for at in starts])) is None

    def test_is_none_after_too_few_batches(self) -> None:
        assert inferred_trigger_seconds(batches((0.0, 1.0), (10.0, 1.0), (20.0, 1.0))) is None

    def test_does_not_look_across_runs(self) -> None:
        runs = [batches((100.0 * n, 1.0), run=str(n))[0] for n in range(9)]
        assert inferred_trigger_seconds(runs) is None

    def test_of_less_than_a_second(self) -> None:
        every = batches(*[(0.25 * n, 0.05) for n in range(9)])
        assert inferred_trigger_seconds(every) == 0.25


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
FIELDS = ["numInputRows", "durationMs", "sources", "sink", "stateOperators", "batchDuration"]


@given(st.dictionaries(st.sampled_from([*FIELDS, "batchId", "name", "id", "runId"]), anything))
def test_whatever_a_report_holds_a_policy_sees_numbers(fields: dict[str, Any]) -> None:
    progress = report(**fields)
    seen = observe(progress, slots=4)
    assert isinstance(seen, Observation)
    for operator in seen.operators:
        assert math.isfinite(operator.busy_seconds)
        assert operator.rows_in >= 0
    assert math.isfinite(seen.batch_seconds)
    assert seen.batch_seconds >= 0
    json.dumps(seen.waiting_rows, allow_nan=False)
