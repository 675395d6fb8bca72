"""Which time a page looks at."""

from __future__ import annotations

import pytest

from penstock.dashboard.sections import Shown, range_of
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
    since, until = range_of(ran(100.0, 200.0), "", now_seconds=9_000.0)
    assert until == 200.0
    assert since < 100.0


def test_all_of_it_is_what_was_told_before_the_first_batch_too() -> None:
    for times in ((100.0, 200.0), ()):
        since, _ = range_of(ran(*times), "all", now_seconds=9_000.0)
        assert since < -1e9


@pytest.mark.parametrize(("chosen", "width"), [("", 3_600.0), ("6h", 21_600.0)])
def test_of_a_long_run_the_last_hour_is_looked_at_unless_somebody_chose(
    chosen: str, width: float
) -> None:
    assert range_of(ran(100.0, 7_301.0), chosen, now_seconds=9_000.0) == (7_301.0 - width, 7_301.0)


@pytest.mark.parametrize(
    ("last", "chosen", "is_long"),
    [(7_300.0, "all", False), (7_301.0, "all", True), (9_000.0, "1h", False),
     (90_000.0, "24h", True), (200.0, "24h", False)],
)  # fmt: skip
def test_what_takes_long_to_draw_is_long(last: float, chosen: str, is_long: bool) -> None:
    query = ran(100.0, last)
    shown = Shown(query, "run", *range_of(query, chosen, last), last)
    assert shown.is_long == is_long


def test_a_live_one_up_to_now() -> None:
    assert range_of(ran(100.0, 200.0), "5m", now_seconds=210.0) == (-90.0, 210.0)
