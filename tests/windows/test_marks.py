"""The marks of several sources: the lowest, who is idle, and nothing goes back."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.windows.kslack import KSlack
from penstock.windows.marks import advance_all, is_idle, lowest, restarted
from penstock.windows.watermark import FixedDelay, Mark, Seen

SECOND = 1_000_000


def at(second: int) -> Seen:
    """Return what a batch with one row shows."""
    return Seen(rows=1, newest_micros=second * SECOND, oldest_micros=second * SECOND)


def mark(second: int | None, seen_at: float | None = 0.0) -> Mark:
    """Return a mark at a second of event time."""
    return Mark(micros=None if second is None else second * SECOND, seen_at_seconds=seen_at)


def test_every_source_has_its_own() -> None:
    rules = {"a": FixedDelay.of("1 second"), "b": KSlack()}
    marks = advance_all(rules, {}, {"a": at(10), "b": at(20)}, 0.0)
    marks = advance_all(rules, marks, {"a": at(12), "b": at(17)}, 1.0)
    assert [marks["a"].micros, marks["b"].micros] == [11 * SECOND, 20 * SECOND]
    assert [marks["a"].slack_micros, marks["b"].slack_micros] == [None, 3 * SECOND]


def test_when_a_source_was_seen() -> None:
    # clock     5            6            7            8
    # rows      a            -            b            a, without a time
    # seen at   a 5, b 5     a 5, b 5     a 5, b 7     a 8, b 7
    rules = {"a": FixedDelay(0), "b": FixedDelay(0)}
    no_time = Seen(rows=1, newest_micros=None, oldest_micros=None)
    marks: dict[str, Mark] = {}
    seen_at = []
    for clock, seen in ((5.0, {"a": at(1)}), (6.0, {}), (7.0, {"b": at(1)}), (8.0, {"a": no_time})):
        marks = advance_all(rules, marks, seen, clock)
        seen_at.append((marks["a"].seen_at_seconds, marks["b"].seen_at_seconds))
    assert seen_at == [(5.0, 5.0), (5.0, 5.0), (5.0, 7.0), (8.0, 7.0)]


def test_a_source_without_a_rule_has_no_mark() -> None:
    assert advance_all({}, {"gone": mark(1)}, {"gone": at(1)}, 0.0) == {}


class Backwards:
    """A rule that somebody got wrong."""

    counts_late = False

    def advance(self, mark: Mark, seen: Seen) -> Mark:
        """Forget everything, and go back."""
        return Mark(micros=seen.oldest_micros)

    def describe(self) -> str:
        """Say so."""
        return "the wrong way"


def test_a_rule_that_goes_back_is_held() -> None:
    rules = {"a": Backwards()}
    marks = advance_all(rules, {}, {"a": at(10)}, 3.0)
    marks = advance_all(rules, marks, {"a": at(4)}, 4.0)
    assert marks["a"] == mark(10, seen_at=4.0)
    assert advance_all(rules, marks, {}, 5.0)["a"] == mark(10, seen_at=4.0)


def test_the_lowest_counts() -> None:
    marks = {"a": mark(10), "b": mark(7), "c": mark(8)}
    assert lowest(marks, {}, 1e9, None) == 7 * SECOND


def test_a_source_without_a_row_yet_holds_the_watermark() -> None:
    marks = {"a": mark(10), "b": mark(None)}
    assert lowest(marks, {}, 1e9, None) is None
    assert lowest(marks, {"b": 30.0}, 29.0, None) is None
    assert lowest(marks, {"b": 30.0}, 30.0, None) == 10 * SECOND


def test_an_idle_source_does_not_hold_the_watermark_and_its_old_rows_are_late() -> None:
    # clock         0          10         40            50
    # a             100        110        140           150
    # b             100        -          - (idle)      111: awake again
    # together      100        100        140           140: 111 is late
    rules = {"a": FixedDelay(0), "b": FixedDelay(0)}
    idle_after = {"a": None, "b": 30.0}
    marks: dict[str, Mark] = {}
    floor, answers = None, []
    for clock, seen in (
        (0.0, {"a": at(100), "b": at(100)}),
        (10.0, {"a": at(110)}),
        (40.0, {"a": at(140)}),
        (50.0, {"a": at(150), "b": at(111)}),
    ):
        marks = advance_all(rules, marks, seen, clock)
        floor = lowest(marks, idle_after, clock, floor)
        answers.append(floor)
    assert answers == [100 * SECOND, 100 * SECOND, 140 * SECOND, 140 * SECOND]
    assert marks["b"].micros == 111 * SECOND


def test_all_idle_gives_the_highest_known() -> None:
    marks = {"a": mark(10), "b": mark(7), "c": mark(None)}
    idle_after = {"a": 5.0, "b": 5.0, "c": 5.0}
    assert lowest(marks, idle_after, 4.0, None) is None
    assert lowest(marks, idle_after, 5.0, None) == 10 * SECOND
    assert lowest({"c": mark(None)}, idle_after, 5.0, None) is None


def test_it_holds_the_floor() -> None:
    floor = 9 * SECOND
    assert lowest({"a": mark(7)}, {}, 0.0, floor) == floor
    assert lowest({"a": mark(10)}, {}, 0.0, floor) == 10 * SECOND
    assert lowest({"a": mark(10), "b": mark(None)}, {}, 0.0, floor) == floor
    assert lowest({"a": mark(7)}, {"a": 0.0}, 0.0, floor) == floor
    assert lowest({}, {}, 0.0, floor) == floor
    assert lowest({}, {}, 0.0, None) is None


@pytest.mark.parametrize(
    ("seen_at", "idle_after", "now", "idle"),
    [
        (10.0, 30.0, 39.9, False),
        (10.0, 30.0, 40.0, True),
        (10.0, None, 1e12, False),
        (None, 30.0, 1e12, False),
        (10.0, 30.0, -50.0, False),  # a clock that was set back
    ],
)
def test_who_is_idle(
    seen_at: float | None, idle_after: float | None, now: float, idle: bool
) -> None:
    assert is_idle(mark(1, seen_at), idle_after, now) is idle


def test_a_query_that_was_down_takes_no_source_for_idle() -> None:
    # Both were at 100 when the query stopped for the night; a is the first to show rows.
    rules = {"a": FixedDelay(0), "b": FixedDelay(0)}
    idle_after = {"a": 60.0, "b": 60.0}
    night = {"a": mark(100, seen_at=0.0), "b": mark(100, seen_at=0.0), "c": Mark()}
    morning = restarted(night, 30_000.0)
    assert morning["c"] == Mark()
    marks = advance_all(rules, morning, {"a": at(900)}, 30_005.0)
    assert lowest(marks, idle_after, 30_005.0, 100 * SECOND) == 100 * SECOND
    assert lowest(marks, idle_after, 30_060.0, 100 * SECOND) == 900 * SECOND


names = st.sampled_from("abc")
some_marks = st.dictionaries(
    names, st.builds(mark, st.none() | st.integers(-100, 100), st.none() | st.floats(0, 100))
)
some_idle = st.dictionaries(names, st.none() | st.floats(0, 100))


@given(some_marks, some_idle, st.floats(0, 200), st.none() | st.integers(-(10**8), 10**8))
def test_it_is_never_below_the_floor_nor_above_every_source(
    marks: dict[str, Mark], idle_after: dict[str, float | None], now: float, floor: int | None
) -> None:
    answer = lowest(marks, idle_after, now, floor)
    known = [each.micros for each in marks.values() if each.micros is not None]
    if floor is not None:
        assert answer is not None
        assert answer >= floor
    assert answer in (floor, *known)


@given(some_marks, some_idle, st.floats(0, 200), st.floats(0, 200))
def test_waiting_only_moves_it_on(
    marks: dict[str, Mark], idle_after: dict[str, float | None], now: float, more: float
) -> None:
    """The more sources are idle, the higher the lowest of the others."""
    sooner = lowest(marks, idle_after, now, None)
    later = lowest(marks, idle_after, now + more, None)
    assert sooner is None or (later is not None and later >= sooner)


@given(some_marks, st.floats(0, 200))
def test_nobody_is_idle_who_is_not_asked_to_be(marks: dict[str, Mark], now: float) -> None:
    ready = all(each.micros is not None for each in marks.values())
    known = [each.micros for each in marks.values() if each.micros is not None]
    expected = min(known) if known and ready else None
    assert lowest(marks, {}, now, None) == expected
    fresh = {name: replace(each, seen_at_seconds=now) for name, each in marks.items()}
    assert lowest(fresh, dict.fromkeys(marks, 1.0), now, None) == expected
