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

# How long a batch takes, how many rows arrive meanwhile, and which share of what is there it takes.
BATCHES = st.lists(
    st.tuples(st.floats(0.1, 5.0), st.integers(0, 500), st.floats(0.0, 1.0)),
    min_size=2,
    max_size=30,
)


def recorded(steps: list[tuple[float, int, float]]) -> Recording:
    """Batches end to end, of a source that hands out rows in the order of their arrival."""
    batches, at, there = [], 100.0, 0
    for seconds, arrived, share in steps:
        there += arrived
        rows = round(there * share)
        there -= rows
        batches.append(RecordedBatch(at, seconds, rows, seconds, there))
        at += seconds
    return Recording("t", "r", tuple(batches))


@given(BATCHES)
def test_it_is_the_reading_of_replay(steps: list[tuple[float, int, float]]) -> None:
    recording = recorded(steps)
    arrivals, kept, done = arrivals_of(recording), RowLatency(), 0
    for number, batch in enumerate(recording.batches):
        found = kept.after(
            batch.started_seconds, batch.ended_seconds, batch.rows, batch.waiting_rows
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
    assert kept.after(2.0, 3.0, 10, None) == pytest.approx(2.0)
    assert isnan(kept.after(3.0, 4.0, 0, None))
