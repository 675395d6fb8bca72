"""Rows are followed from their arrival to their batch: each once, in order, in little memory."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.elasticity.arrived_rows import Arrived, ArrivedRows

# How long a batch takes, how long nothing happens before it, and rows that it takes and leaves.
BATCHES = st.lists(
    st.tuples(st.floats(0.1, 5.0), st.floats(0.0, 9.0), st.integers(0, 500), st.integers(0, 500))
)


@given(BATCHES)
def test_every_row_is_taken_once_and_in_the_order_of_arrival(
    batches: list[tuple[float, float, int, int]],
) -> None:
    arrived, at, taken = ArrivedRows(), 100.0, list[Arrived]()
    for seconds, pause, rows, waiting in batches:
        at += pause
        pieces = arrived.take(at, at + seconds, rows, waiting, 1.0)
        assert sum(piece.rows for piece in pieces) == rows
        assert arrived.waiting_rows == waiting == sum(piece.rows for piece in arrived._waiting)
        assert all(piece.since_seconds <= piece.until_seconds <= at for piece in pieces)
        taken += pieces
        at += seconds
    for before, after in pairwise(taken):
        assert after.since_seconds >= before.until_seconds - 1e-6


def test_rows_that_were_shed_keep_no_others_waiting() -> None:
    arrived = ArrivedRows()
    arrived.take(0.0, 1.0, rows=100, waiting_rows=100)
    assert arrived.take(5.0, 6.0, rows=0, waiting_rows=0) == []
    assert arrived.take(10.0, 11.0, 100, 0, trigger_seconds=1.0) == [Arrived(9.0, 10.0, 100)]


def test_a_backlog_of_any_length_is_little_memory() -> None:
    arrived = ArrivedRows()
    for n in range(3_000):
        assert sum(piece.rows for piece in arrived.take(float(n), n + 0.5, 1, n)) == 1
    assert len(arrived._waiting) <= 1_000
    assert arrived.waiting_rows == sum(piece.rows for piece in arrived._waiting) == 2_999


@pytest.mark.parametrize("told", [None, 0])
def test_a_clock_that_is_set_back_begins_anew(told: int | None) -> None:
    arrived = ArrivedRows()
    arrived.take(100.0, 101.0, 10, 500)
    assert arrived.began_by(100.0)
    assert not arrived.began_by(50.0)
    assert arrived.take(50.0, 51.0, 10, told) == [Arrived(50.0, 50.0, 10)]
    assert arrived.take(51.0, 52.0, 10, told) == [Arrived(50.0, 51.0, 10)]
