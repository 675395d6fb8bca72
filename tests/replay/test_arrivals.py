"""When rows arrived, as the batches that took them tell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.replay.arrivals import Arrivals, Piece, arrivals_of
from replay.loads import batch, recording


def test_rows_came_while_the_batch_before_them_ran() -> None:
    found = arrivals_of(recording(batch(0, 4.0, 10), batch(4.0, 5.0, 40), batch(9.0, 1.0, 50)))
    assert found == Arrivals((0, 4.0, 9.0), (10, 50, 100))
    assert (found.until(-1), found.until(0), found.until(2), found.until(99)) == (0, 10, 30, 100)


def test_after_a_pause_rows_came_within_the_last_trigger() -> None:
    logged = recording(batch(0, 1.0, 10), batch(30.0, 1.0, 40), trigger=10.0)
    assert arrivals_of(logged) == Arrivals((0, 20.0, 30.0), (10, 10, 50))


def test_after_a_pause_without_a_trigger_rows_came_all_at_once() -> None:
    found = arrivals_of(recording(batch(0, 1.0, 10), batch(30.0, 1.0, 40)))
    assert (found.until(29.9), found.until(30.0), found.when(11)) == (10, 50, 30.0)


def test_rows_left_behind_had_arrived() -> None:
    logged = recording(
        batch(0, 5.0, 10, waiting_rows=5),
        batch(5.0, 5.0, 10, waiting_rows=25),
        batch(10.0, 5.0, 30, waiting_rows=0),
    )
    assert arrivals_of(logged).totals == (15, 45, 50)


def test_rows_that_all_arrived_at_once_have_one_time() -> None:
    found = Arrivals((0.0, 0.0, 10.0), (0, 20, 120))
    assert list(found.pieces(5, 70)) == [Piece(0.0, 0.0, 15), Piece(0.0, 5.0, 50)]


def test_rows_there_at_the_start_arrived_then() -> None:
    assert list(Arrivals((3.0, 9.0), (4, 10)).pieces(0, 7)) == [
        Piece(3.0, 3.0, 4),
        Piece(3.0, 6.0, 3),
    ]


@given(st.data(), st.lists(st.tuples(st.floats(0, 50), st.integers(0, 99)), min_size=1))
def test_pieces_are_all_rows_in_order(data: st.DataObject, steps: list[tuple[float, int]]) -> None:
    times, totals = [0.0], [0]
    for gap, rows in steps:
        times.append(times[-1] + gap)
        totals.append(totals[-1] + rows)
    found = Arrivals(tuple(times), tuple(totals))
    first = data.draw(st.integers(0, found.rows))
    last = data.draw(st.integers(first, found.rows))
    pieces = list(found.pieces(first, last))
    assert sum(piece.rows for piece in pieces) == last - first
    edges = [t for piece in pieces for t in (piece.since_seconds, piece.until_seconds)]
    assert edges == pytest.approx(sorted(edges))
    if last > first:
        assert pieces[-1].until_seconds == pytest.approx(found.when(last))
