"""What is said of a run so long that its older batches are no longer kept one by one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC

from penstock.history.growing_table import GrowingTable
from penstock.history.query_history import BATCH_COLUMNS, QueryHistory
from penstock.history.quick_lines import BatchNumbers, ObservedNumbers, SourceNumbers
from penstock.report.chapters.load import batch_time_chapter, slots_chapter, waiting_chapter
from penstock.report.gaps import gaps_of
from penstock.report.headline import headline_of
from penstock.report.turning_points import moments_of

from .journals import NOON

BATCHES = 2_000


def ran(
    seconds: Callable[[int], float] = lambda number: 0.5,
    *,
    waiting: Callable[[int], int] = lambda number: 0,
    used: Callable[[int], int] = lambda number: 2,
    at: Callable[[int], float] = float,
    kept: int = 32,
) -> QueryHistory:
    """A batch a second, of which a table of so many rows is kept."""
    query = QueryHistory()
    query.batches = GrowingTable(BATCH_COLUMNS, kept)
    for number in range(1, BATCHES + 1):
        ended = NOON + at(number)
        seen = ObservedNumbers(
            number, 8, ended, seconds(number), 1.0, [],
            [SourceNumbers("clicks", 100, waiting(number))], 1, used(number), 8,
        )  # fmt: skip
        query.finish_batch(ended, BatchNumbers(seen))
        query.last_at_seconds = ended
    return query


def test_every_other_batch_over_its_trigger_is_half_of_them() -> None:
    query = ran(lambda number: 1.3 if number % 2 else 0.6)
    assert (
        "It fell behind: 50 % of its batches took longer than their trigger of 1 s, the longest "
        "1.3 s."
    ) in headline_of(query, UTC)
    found = batch_time_chapter(query, UTC)
    assert found is not None
    assert "; 50 % took longer than their trigger." in found.said


def test_it_began_with_its_first_batch() -> None:
    assert headline_of(ran(), UTC)[0].startswith(
        "It ran from 17 November 2026, 12:00:00 UTC for 33"
    )


def test_a_single_batch_over_its_trigger_long_ago_is_told() -> None:
    query = ran(lambda number: 1.3 if number == 20 else 0.5)
    assert "its batches, which took longer than their trigger of 1 s; the longest took 1.3 s" in (
        " ".join(headline_of(query, UTC))
    )
    kinds = [each.kind for each in moments_of(query, UTC)]
    assert kinds == ["behind", "kept up"]
    assert "A batch took 1.3 s, longer than" in moments_of(query, UTC)[0].what


def test_the_most_that_waited_long_ago_is_told() -> None:
    query = ran(waiting=lambda number: 900 if number == 20 else 1)
    assert "At most 900 rows waited" in " ".join(headline_of(query, UTC))
    found = waiting_chapter(query, UTC)
    assert found is not None
    assert found.said.startswith("After a batch 900 rows waited at most")
    assert "900 rows waited, more than at any other time." in [
        each.what for each in moments_of(query, UTC)
    ]


def test_the_fewest_and_the_most_slots_are_those_of_batches() -> None:
    found = slots_chapter(ran(used=lambda number: {20: 8, 21: 1}.get(number, 4)), UTC)
    assert found is not None
    assert found.said.startswith("Batches used from 1 to 8 slots")


def test_half_of_the_batches_counts_all_of_them() -> None:
    found = batch_time_chapter(ran(lambda number: 0.2 if number < 1_975 else 0.9), UTC)
    assert found is not None
    assert found.said.startswith("Half of the batches took 200 ms or less")


def test_where_batches_were_put_together_the_time_that_they_take_is_no_gap() -> None:
    assert gaps_of(ran(kept=128)) == ()
    paused = ran(kept=128, at=lambda number: number + (3_600 if number > 1_995 else 0))
    assert gaps_of(paused) == ((NOON + 1_995, NOON + 1_996 + 3_600),)
