"""A run in a few numbers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from penstock.history.growing_table import GrowingTable
from penstock.history.query_history import BATCH_COLUMNS, QueryHistory
from penstock.history.quick_lines import BatchNumbers, ObservedNumbers, SourceNumbers
from penstock.history.summary import summary_of


def ran(
    times: Sequence[float | None],
    most_rows: int = 100_000,
    *,
    rows: Sequence[int] = (100,),
    waiting: Sequence[int] = (0,),
) -> QueryHistory:
    """A batch a second, each of which took a time of its own; rows come and wait in turns."""
    query = QueryHistory()
    query.batches = GrowingTable(BATCH_COLUMNS, most_rows)
    for number, seconds in enumerate(times, start=1):
        source = SourceNumbers("clicks", rows[number % len(rows)], waiting[number % len(waiting)])
        seen = ObservedNumbers(number, 4, float(number), seconds, 1.0, [], [source], 1, 2, 8)
        query.finish_batch(float(number), BatchNumbers(seen))
    return query


def test_batches_that_were_put_together_count_as_many_as_they_were() -> None:
    # Eight slow ones, of which pairs are one row each, and four quick ones.
    found = summary_of(ran([2.0] * 8 + [0.5] * 4, most_rows=8))
    assert found.batches == 12
    assert found.mean_batch_seconds == pytest.approx(1.5)
    assert found.behind == pytest.approx(8 / 12)


def test_batches_over_their_trigger_are_counted_before_they_are_put_together() -> None:
    found = summary_of(ran([0.6, 1.3] * 40, most_rows=16))
    assert found.behind == 0.5
    assert found.mean_batch_seconds == pytest.approx(0.95)


def test_quantiles_count_batches_that_were_put_together_as_many_as_they_were() -> None:
    # Of the long ones there are fewer than a twentieth; of the rows that are kept there are more.
    found = summary_of(ran([0.1] * 100 + [1.0] * 4, most_rows=16))
    assert found.p95_batch_seconds == pytest.approx(0.1)
    # Of two that became one, the longer and the mean are known, and so both.
    assert summary_of(ran([0.2, 1.0] * 8, most_rows=12)).p95_batch_seconds == pytest.approx(1.0)


def test_what_waited_at_most_is_kept_of_batches_that_were_put_together() -> None:
    found = summary_of(ran([0.5] * 64, most_rows=8, waiting=(0, 900, *(0,) * 100)))
    assert found.most_waiting_rows == 900


def test_latency_is_of_rows_also_where_batches_were_put_together() -> None:
    rows, waiting = (1_000, 10, 10), (0, 5, 40)
    whole = summary_of(ran([0.5] * 60, rows=rows, waiting=waiting)).mean_latency_seconds
    thinned = summary_of(ran([0.5] * 60, 8, rows=rows, waiting=waiting)).mean_latency_seconds
    assert whole is not None
    assert thinned == pytest.approx(whole)


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
