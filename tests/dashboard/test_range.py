"""Which time a page looks at."""

from __future__ import annotations

import pytest

from penstock.dashboard.sections import range_of
from penstock.history.query_history import QueryHistory
from penstock.history.quick_lines import BatchNumbers, ObservedNumbers


def ran(*times: float) -> QueryHistory:
    query = QueryHistory()
    for number, at in enumerate(times):
        query.finish_batch(at, BatchNumbers(ObservedNumbers(number, 4, at, 0.5, 1.0)))
        query.last_at_seconds = at
    return query


@pytest.mark.parametrize("chosen", ["", "5m", "all"])
def test_batches_before_a_clock_was_set_back_and_after_are_looked_at(chosen: str) -> None:
    query = ran(5_000.0, 5_001.0, 1_000.0, 1_001.0)
    since, until = range_of(query, chosen, now_seconds=1_001.5)
    assert len(query.batches.between(since, until)["at"]) == 4


def test_a_run_that_is_over_is_looked_at_up_to_its_last_word() -> None:
    assert range_of(ran(100.0, 200.0), "", now_seconds=9_000.0) == (99.0, 200.0)


def test_a_live_one_up_to_now() -> None:
    assert range_of(ran(100.0, 200.0), "5m", now_seconds=210.0) == (-90.0, 210.0)
