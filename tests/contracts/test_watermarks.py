"""What every watermark promises: it never goes back, and never runs ahead of the rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.windows.kslack import KSlack
from penstock.windows.watermark import FixedDelay, Mark, Seen, Watermark

WATERMARKS: dict[str, Callable[[], Watermark]] = {
    "FixedDelay(0)": lambda: FixedDelay(0),
    "FixedDelay of 10 seconds": lambda: FixedDelay.of("10 seconds"),
    "KSlack()": KSlack,
    "KSlack within bounds": lambda: KSlack(at_least="1 second", at_most="1 minute"),
    "KSlack with a drop rate": lambda: KSlack(drop_rate=0.05),
    "KSlack with all gains": lambda: KSlack(drop_rate=0.2, at_most=60, kp=2.0, ki=0.5, kd=0.5),
}

every_watermark = pytest.mark.parametrize("make", WATERMARKS.values(), ids=WATERMARKS.keys())
times = st.integers(-(10**15), 4 * 10**15)


@st.composite
def seen_in_a_batch(draw: st.DrawFn) -> Seen:
    """Draw what a batch may show: no rows, rows without times, and rows that are late or not."""
    rows = draw(st.integers(0, 1_000))
    if rows == 0 or draw(st.booleans()):
        return Seen(rows, None, None)
    oldest, newest = sorted([draw(times), draw(times)])
    return Seen(rows, newest, oldest, draw(st.integers(0, rows)))


batches = st.lists(seen_in_a_batch(), max_size=12)


def run(rule: Watermark, batches: list[Seen], start: Mark = Mark()) -> list[Mark]:  # noqa: B008
    """Return the mark at the start and after every batch."""
    marks = [start]
    for seen in batches:
        marks.append(rule.advance(marks[-1], seen))
    return marks


@every_watermark
def test_it_is_a_watermark(make: Callable[[], Watermark]) -> None:
    assert isinstance(make(), Watermark)
    assert make().counts_late in (True, False)


@every_watermark
@given(batches=batches, other=batches)
def test_it_never_goes_back(
    make: Callable[[], Watermark], batches: list[Seen], other: list[Seen]
) -> None:
    """Nor does it after another rule, which it took the mark over from."""
    start = run(FixedDelay.of("1 second"), other)[-1]
    for marks in (run(make(), batches), run(make(), batches, start)):
        for before, after in pairwise(marks):
            if before.micros is not None:
                assert after.micros is not None
                assert after.micros >= before.micros


@every_watermark
@given(batches=batches)
def test_it_is_never_ahead_of_the_newest_row(
    make: Callable[[], Watermark], batches: list[Seen]
) -> None:
    for number, mark in enumerate(run(make(), batches)):
        newest = [each.newest_micros for each in batches[:number] if each.newest_micros is not None]
        assert mark.newest_micros == max(newest, default=None)
        if mark.micros is not None:
            assert mark.micros <= max(newest)


@every_watermark
@given(batches=batches)
def test_there_is_one_from_the_first_row_on(
    make: Callable[[], Watermark], batches: list[Seen]
) -> None:
    for number, mark in enumerate(run(make(), batches)):
        shown = any(each.newest_micros is not None for each in batches[:number])
        assert (mark.micros is not None) is shown


@every_watermark
@given(batches=batches)
def test_it_counts_in_whole_milliseconds(
    make: Callable[[], Watermark], batches: list[Seen]
) -> None:
    assert all(mark.micros % 1_000 == 0 for mark in run(make(), batches) if mark.micros is not None)


@every_watermark
@given(batches=batches, rows=st.integers(0, 5))
def test_a_batch_without_times_leaves_the_mark_as_it_is(
    make: Callable[[], Watermark], batches: list[Seen], rows: int
) -> None:
    mark = run(make(), batches)[-1]
    assert make().advance(mark, Seen(rows, None, None)) == mark


@every_watermark
@given(batches=batches)
def test_it_is_the_same_for_the_same_batches_and_leaves_marks_alone(
    make: Callable[[], Watermark], batches: list[Seen]
) -> None:
    rule, marks = make(), run(make(), batches)
    kept = deepcopy(marks)
    assert [rule.advance(m, s) for m, s in zip(marks, batches, strict=False)] == marks[1:]
    assert marks == kept


@every_watermark
@given(batches=batches, more=batches)
def test_it_goes_on_from_json_as_if_nothing_had_happened(
    make: Callable[[], Watermark], batches: list[Seen], more: list[Seen]
) -> None:
    mark = run(make(), batches)[-1]
    again = Mark.from_json(json.loads(json.dumps(mark.to_json(), allow_nan=False)))
    assert run(make(), more, again) == run(make(), more, mark)


@every_watermark
@given(batches=batches, at=st.floats(0, 1e9))
def test_it_leaves_alone_when_the_source_was_seen(
    make: Callable[[], Watermark], batches: list[Seen], at: float
) -> None:
    marks = run(make(), batches, Mark(seen_at_seconds=at))
    assert {mark.seen_at_seconds for mark in marks} == {at}


@every_watermark
@given(batches=batches)
def test_it_does_not_look_at_late_rows_that_it_does_not_ask_for(
    make: Callable[[], Watermark], batches: list[Seen]
) -> None:
    if not make().counts_late:
        uncounted = [Seen(each.rows, each.newest_micros, each.oldest_micros) for each in batches]
        assert run(make(), uncounted) == run(make(), batches)


@every_watermark
@given(first=times, step=st.integers(10**8, 10**12))
def test_it_moves_on_with_the_rows(make: Callable[[], Watermark], first: int, step: int) -> None:
    in_order = [Seen(1, first + n * step, first + n * step) for n in range(50)]
    marks = [mark.micros for mark in run(make(), in_order) if mark.micros is not None]
    assert marks[-1] > marks[0]


@every_watermark
def test_it_says_its_rule_in_a_few_words(make: Callable[[], Watermark]) -> None:
    assert 1 < len(make().describe().split()) < 20
