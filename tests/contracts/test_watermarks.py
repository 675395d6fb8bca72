"""What every watermark promises: it never goes back, and never runs ahead of the rows."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.windows.watermark import FixedDelay, Watermark

WATERMARKS: dict[str, Callable[[], Watermark]] = {
    "FixedDelay(0)": lambda: FixedDelay(0),
    "FixedDelay of 10 seconds": lambda: FixedDelay.of("10 seconds"),
}

every_watermark = pytest.mark.parametrize("make", WATERMARKS.values(), ids=WATERMARKS.keys())
times = st.integers(-(10**15), 4 * 10**15)
batches = st.lists(st.none() | times, max_size=12)


def run(rule: Watermark, newest: list[int | None], start: int | None = None) -> list[int | None]:
    """Return where the watermark stood at the start and after every batch."""
    marks = [start]
    for each in newest:
        marks.append(rule.advance(marks[-1], each))
    return marks


@every_watermark
def test_it_is_a_watermark(make: Callable[[], Watermark]) -> None:
    assert isinstance(make(), Watermark)


@every_watermark
@given(newest=batches, start=st.none() | times)
def test_it_never_goes_back(
    make: Callable[[], Watermark], newest: list[int | None], start: int | None
) -> None:
    for before, after in pairwise(run(make(), newest, start)):
        if before is not None:
            assert after is not None
            assert after >= before


@every_watermark
@given(newest=batches)
def test_it_is_never_ahead_of_the_newest_row(
    make: Callable[[], Watermark], newest: list[int | None]
) -> None:
    marks = run(make(), newest)[1:]
    for number, mark in enumerate(marks, start=1):
        seen = [each for each in newest[:number] if each is not None]
        assert mark is None if not seen else mark is None or mark <= max(seen)


@every_watermark
@given(start=st.none() | times)
def test_a_batch_without_rows_leaves_it_where_it_is(
    make: Callable[[], Watermark], start: int | None
) -> None:
    assert make().advance(start, None) == start


@every_watermark
@given(newest=batches)
def test_the_same_rows_give_the_same_watermarks(
    make: Callable[[], Watermark], newest: list[int | None]
) -> None:
    assert run(make(), newest) == run(make(), newest)


@every_watermark
@given(first=times, step=st.integers(10**8, 10**12))
def test_it_moves_on_with_the_rows(make: Callable[[], Watermark], first: int, step: int) -> None:
    marks = [
        mark for mark in run(make(), [first + n * step for n in range(50)]) if mark is not None
    ]
    assert marks[-1] > marks[0]


@every_watermark
def test_it_says_its_rule_in_a_few_words(make: Callable[[], Watermark]) -> None:
    assert 1 < len(make().describe().split()) < 20
