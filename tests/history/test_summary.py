"""A run in a few numbers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from penstock.history.growing_table import GrowingTable
from penstock.history.query_history import BATCH_COLUMNS, QueryHistory
from penstock.history.quick_lines import BatchNumbers, ObservedNumbers, SourceNumbers
from penstock.history.summary import summary_of


def ran(times: Sequence[float | None], most_rows: int = 100_000) -> QueryHistory:
    """A batch a second, each of which took a time of its own."""
    query = QueryHistory()
    query.batches = GrowingTable(BATCH_COLUMNS, most_rows)
    for number, seconds in enumerate(times, start=1):
        source = SourceNumbers("clicks", 100, 0)
        seen = ObservedNumbers(number, 4, float(number), seconds, 1.0, [], [source], 1, 2, 8)
        query.finish_batch(float(number), BatchNumbers(seen))
    return query


def test_batches_that_were_put_together_count_as_many_as_they_were() -> None:
    # Eight slow ones, of which pairs are one row each, and four quick ones.
    found = summary_of(ran([2.0] * 8 + [0.5] * 4, most_rows=8))
    assert found.batches == 12
    assert found.mean_batch_seconds == pytest.approx(1.5)
    assert found.behind == pytest.approx(8 / 12)


def test_without_a_batch_nothing_is_known() -> None:
    found = summary_of(QueryHistory())
    assert (found.batches, found.mean_batch_seconds, found.behind) == (0, None, None)
    assert found.p95_batch_seconds is None


def test_a_batch_whose_time_is_not_known_is_left_out_of_means_and_quantiles() -> None:
    found = summary_of(ran([None] * 6 + [2.0, 0.5]))
    assert found.batches == 8
    assert found.mean_batch_seconds == pytest.approx(1.25)
    assert found.p95_batch_seconds == pytest.approx(1.925)
    assert found.behind == pytest.approx(0.5)
    # It still took its place in time, and slots.
    assert found.seconds == 8.0
    assert found.slot_hours == pytest.approx(16 / 3600)


def test_where_no_batch_tells_its_time_nobody_knows_it() -> None:
    found = summary_of(ran([None] * 3))
    assert (found.mean_batch_seconds, found.p95_batch_seconds, found.behind) == (None, None, None)
    assert found.mean_latency_seconds is None


def test_slot_hours_are_against_the_most_there_may_be() -> None:
    found = summary_of(ran([0.5] * 3_600))
    assert found.slot_hours == pytest.approx(2.0)
    assert found.saved_slot_hours == pytest.approx(6.0)
    assert found.saved == pytest.approx(0.75)
    assert found.rows_per_second == pytest.approx(100.0)
