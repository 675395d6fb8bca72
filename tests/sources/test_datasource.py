"""The reader by itself, with a clock that the tests set."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxFiles,
    ReadMaxRows,
    ReadMinRows,
)

from penstock.errors import CheckpointError, ConfigurationError
from penstock.sources import KeyCost, NoDelay, Trace, UniformKeys
from penstock.sources.datasource import ReplayReader, ReplaySource
from penstock.sources.options import ReplayOptions

START = 1_767_225_600.0


@dataclass
class Clock:
    now: float = START

    def __call__(self) -> float:
        return self.now


def reader(clock: Clock, **changes: Any) -> ReplayReader:
    options: dict[str, Any] = {
        "trace": Trace((1_000_000,) * 10, (100,) * 10),
        "speedup": 1.0,
        "loop": False,
        "max_rows_per_batch": None,
        "keys": UniformKeys(10),
        "delays": NoDelay(),
        "cost": KeyCost(1, 64),
        "partitions": 2,
        "seed": 0,
        "origin": None,
    }
    return ReplayReader(ReplayOptions(**(options | changes)).as_options(), clock)


def rows_read(some_reader: ReplayReader, start: dict[str, Any], end: dict[str, Any]) -> pa.Table:
    ranges = some_reader.partitions(start, end)
    return pa.concat_tables(
        pa.Table.from_batches(some_reader.read(pickle.loads(pickle.dumps(piece))))
        for piece in ranges
    )


def test_rows_come_due_at_the_pace_of_the_trace() -> None:
    clock = Clock()
    ours = reader(clock)
    start = ours.initialOffset()
    assert (start["row"], start["origin_ms"]) == (0, 1_767_225_600_000)
    due = []
    for clock.now in (START, START + 0.5, START + 2, START + 10, START + 99):
        due.append(ours.latestOffset(start, ReadAllAvailable())["row"])
    assert due == [0, 50, 200, 1_000, 1_000]


def test_speedup_and_loop() -> None:
    clock = Clock()
    ours = reader(clock, speedup=60.0, loop=True)
    start = ours.initialOffset()
    clock.now += 1.0
    assert ours.latestOffset(start, ReadAllAvailable())["row"] == 6_000


def test_a_restart_goes_on_with_the_same_schedule_and_finds_the_backlog() -> None:
    clock = Clock()
    first_run = reader(clock, max_rows_per_batch=150)
    start = first_run.initialOffset()
    clock.now += 2
    stored = first_run.latestOffset(start, first_run.getDefaultReadLimit())
    clock.now += 5
    second_run = reader(clock, max_rows_per_batch=150)
    end = second_run.latestOffset(stored, second_run.getDefaultReadLimit())
    latest = second_run.reportLatestOffset()
    assert latest is not None
    assert (stored["row"], end["row"], latest["row"]) == (150, 300, 700)
    assert start["origin_ms"] == stored["origin_ms"] == end["origin_ms"] == latest["origin_ms"]


def test_a_first_batch_done_again_has_the_event_times_of_its_first_try() -> None:
    """The first try's start is not in the checkpoint, so a later start offset comes with it."""
    clock = Clock()
    first_run = reader(clock)
    start = first_run.initialOffset()
    clock.now += 3
    end = first_run.latestOffset(start, ReadAllAvailable())
    first_try = rows_read(first_run, start, end)
    clock.now += 1_000
    second_run = reader(clock)
    second_try = rows_read(second_run, second_run.initialOffset(), end)
    assert first_try.num_rows == 300
    assert second_try.equals(first_try)
    latest = second_run.reportLatestOffset()
    assert latest == end | {"row": 1_000}


def test_a_fixed_origin_sets_event_times_and_not_the_pace() -> None:
    clock = Clock()
    ours = reader(clock, origin="2001-01-01T00:00:00Z")
    start = ours.initialOffset()
    clock.now += 1
    rows = rows_read(ours, start, ours.latestOffset(start, ReadAllAvailable()))
    assert rows.num_rows == 100
    assert rows["ts"][0].as_py().isoformat() == "2001-01-01T00:00:00+00:00"
    assert rows["ts"][99].as_py().isoformat() == "2001-01-01T00:00:00.990000+00:00"


def test_available_now_has_the_whole_trace_whatever_the_time() -> None:
    ours = reader(Clock(), max_rows_per_batch=400)
    ours.prepareForTriggerAvailableNow()
    offset, rows = ours.initialOffset(), []
    while True:
        end = ours.latestOffset(offset, ours.getDefaultReadLimit())
        if end == offset:
            break
        rows.append(end["row"])
        offset = end
    assert rows == [400, 800, 1_000]


@pytest.mark.parametrize(("row", "end"), [(0, 1_000), (999, 1_000), (1_000, 1_000), (1_001, 2_000)])
def test_available_now_in_a_loop_ends_with_the_pass(row: int, end: int) -> None:
    ours = reader(Clock(), loop=True)
    ours.prepareForTriggerAvailableNow()
    start = ours.initialOffset() | {"row": row}
    assert ours.latestOffset(start, ReadAllAvailable())["row"] == end
    latest = ours.reportLatestOffset()
    assert latest is not None
    assert latest["row"] == end


def test_a_clock_set_back_takes_no_rows_back() -> None:
    clock = Clock()
    ours = reader(clock)
    start = ours.initialOffset() | {"row": 500}
    clock.now -= 3_600
    assert ours.latestOffset(start, ReadAllAvailable()) == start
    assert ours.latestOffset(start, ReadMaxRows(10)) == start


@pytest.mark.parametrize(
    ("limit", "elapsed", "row"),
    [
        (ReadAllAvailable(), 5, 500),
        (ReadMaxRows(1), 5, 101),
        (ReadMaxRows(400), 5, 500),
        (ReadMaxRows(401), 5, 500),
        (ReadMinRows(400), 5, 500),
        (ReadMinRows(401), 5, 100),
        (ReadMinRows(5_000), 9.99, 100),
        (ReadMinRows(5_000), 10, 1_000),  # nothing more will come, so there is nothing to wait for
    ],
)
def test_read_limits(limit: ReadLimit, elapsed: float, row: int) -> None:
    clock = Clock()
    ours = reader(clock)
    start = ours.initialOffset() | {"row": 100}
    clock.now += elapsed
    assert ours.latestOffset(start, limit)["row"] == row


def test_a_minimum_does_not_hold_up_available_now() -> None:
    ours = reader(Clock())
    ours.prepareForTriggerAvailableNow()
    assert ours.latestOffset(ours.initialOffset(), ReadMinRows(5_000))["row"] == 1_000


@pytest.mark.parametrize("limit", [ReadMaxBytes(10), ReadMaxFiles(1)])
def test_limits_that_mean_nothing_here_are_refused(limit: ReadLimit) -> None:
    ours = reader(Clock())
    with pytest.raises(ConfigurationError, match=f"{type(limit).__name__}; limit its rows with"):
        ours.latestOffset(ours.initialOffset(), limit)


@given(first=st.integers(0, 500), rows=st.integers(0, 500), pieces=st.integers(1, 40))
def test_partitions_follow_each_other_and_none_is_empty(first: int, rows: int, pieces: int) -> None:
    ours = reader(Clock(), partitions=pieces)
    start = ours.initialOffset() | {"row": first}
    ranges = ours.partitions(start, start | {"row": first + rows})
    assert [row for piece in ranges for row in range(piece.first, piece.end)] == list(
        range(first, first + rows)
    )
    assert len(ranges) == min(pieces, rows)
    sizes = {piece.end - piece.first for piece in ranges}
    assert not sizes or max(sizes) - min(sizes) <= 1


def test_nothing_is_reported_before_the_query_has_an_offset() -> None:
    assert reader(Clock()).reportLatestOffset() is None


def test_a_checkpoint_of_other_rows_is_refused() -> None:
    stored = reader(Clock()).initialOffset()
    with pytest.raises(CheckpointError, match="another trace, keys, delays, cost, seed or origin"):
        reader(Clock(), seed=1).latestOffset(stored, ReadAllAvailable())
    with pytest.raises(CheckpointError, match="another trace"):
        reader(Clock(), seed=1).partitions(stored, stored)


def test_a_pickled_reader_is_small_and_reads_the_same() -> None:
    """Every task gets a copy, so a long trace must not travel unpacked."""
    ours = reader(Clock(), trace=Trace((1_000_000,) * 86_400, (100,) * 86_400))
    pickled = pickle.dumps(ours)
    assert len(pickled) < 5_000
    start = ours.initialOffset()
    end = start | {"row": 1_000}
    assert rows_read(pickle.loads(pickled), start, end).equals(rows_read(ours, start, end))


def test_bad_options_fail_before_the_query_runs() -> None:
    with pytest.raises(ConfigurationError, match="misses its option"):
        ReplaySource({}).streamReader(None)  # type: ignore[arg-type]
