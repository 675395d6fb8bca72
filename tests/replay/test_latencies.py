"""How long rows waited, by what is known of pieces of them."""

from __future__ import annotations

import pytest

from penstock.replay.arrivals import Piece
from penstock.replay.latencies import Latencies


def test_a_share_of_the_rows_was_done_within() -> None:
    latencies = Latencies()
    latencies.add(Piece(0.0, 10.0, 100), done_seconds=10.0)
    latencies.add(Piece(10.0, 20.0, 300), done_seconds=40.0)
    assert latencies.mean_seconds == 20.0
    assert latencies.quantile_seconds(0.25) == pytest.approx(10.0, abs=1e-5)
    assert latencies.quantile_seconds(0.5) == pytest.approx(20 + 10 / 3, abs=1e-5)


def test_latencies_without_end_have_an_end() -> None:
    # Numbers of this size lie further apart than a microsecond.
    latencies = Latencies()
    latencies.add(Piece(0.0, 1.0, 100), done_seconds=1e15)
    latencies.add(Piece(1.0, 2.0, 100), done_seconds=3e15)
    assert latencies.quantile_seconds(0.95) == pytest.approx(3e15)
