"""Latency kept up batch by batch: the reading that ``penstock replay`` has of the whole log."""

from __future__ import annotations

from math import isnan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.history.row_latency import RowLatency
from penstock.replay.arrivals import arrivals_of
from penstock.replay.latencies import Latencies
from penstock.replay.recording import RecordedBatch, Recording

# How long a batch takes, how long nothing happens before it, how many rows arrive meanwhile, and
# which share of what is there it takes.
BATCHES = st.lists(
    st.tuples(st.floats(0.1, 5.0), st.floats(0.0, 9.0), st.integers(0, 500), st.floats(0.0, 1.0)),
    min_size=2,
    max_size=30,
)


def recorded(steps: list[tuple[float, float, int, float]], trigger: float | None) -> Recording:
    """Batches of a source that hands out rows in the order of their arrival."""
    batches, at, there = [], 100.0, 0
    for seconds, pause, arrived, share in steps:
        at += pause
        there += arrived
        rows = round(there * share)
        there -= rows
        batches.append(RecordedBatch(at, seconds, rows, seconds, there))
        at += seconds
    return Recording("t", "r", tuple(batches), trigger_seconds=trigger)


@given(BATCHES, st.sampled_from([None, 1.0, 4.0]))
def test_it_is_the_reading_of_replay(
    steps: list[tuple[float, float, int, float]], trigger: float | None
) -> None:
    recording = recorded(steps, trigger)
    arrivals, kept, done = arrivals_of(recording), RowLatency(), 0
    for number, batch in enumerate(recording.batches):
        found = kept.after(
            batch.started_seconds, batch.ended_seconds, batch.rows, batch.waiting_rows, trigger
        )
        wanted = Latencies()
        for piece in arrivals.pieces(done, done + batch.rows):
            wanted.add(piece, batch.ended_seconds)
        done += batch.rows
        if number == 0 or not batch.rows:
            assert isnan(found)  # nobody knows how long the rows of a first batch had waited
        else:
            assert found == pytest.approx(wanted.mean_seconds, abs=1e-6)


def test_a_query_that_begins_anew_knows_nothing_of_the_time_before() -> None:
    kept = RowLatency()
    kept.after(0.0, 1.0, 10, 90)
    kept.begin_anew()
    assert isnan(kept.after(1_000.0, 1_001.0, 90, 0))
    assert kept.after(1_001.0, 1_002.0, 10, 0) == pytest.approx(1.5)


def test_a_source_that_does_not_tell_what_waits() -> None:
    kept = RowLatency()
    assert isnan(kept.after(0.0, 1.0, 10, None))
    assert kept.after(2.0, 3.0, 10, None, 2.0) == pytest.approx(2.0)
    assert isnan(kept.after(3.0, 4.0, 0, None))


def test_rows_that_end_a_silence_came_within_the_last_trigger() -> None:
    kept = RowLatency()
    kept.after(0.0, 0.5, 10, 0, 1.0)
    assert kept.after(60.0, 60.5, 10, 0, 1.0) == pytest.approx(1.0)
    assert kept.after(120.0, 120.5, 10, 0, None) == pytest.approx(0.5)


def test_a_clock_that_is_set_back_leaves_a_batch_unknown_and_the_next_right() -> None:
    kept = RowLatency()
    kept.after(100.0, 101.0, 10, 500)
    assert isnan(kept.after(50.0, 51.0, 10, 0))
    assert kept.after(51.0, 52.0, 10, 0) == pytest.approx(1.5)
