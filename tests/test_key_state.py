"""The state of one key, as a user's function sees it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import KeyState
from penstock.key_state import micros_of, moment_of

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_columns_that_are_not_given_stay_or_are_null() -> None:
    state = KeyState(columns=("a", "b"))
    assert state.value is None
    state.update(a=1)
    assert state.value == {"a": 1, "b": None}
    state.update({"b": 2})
    assert state.value == {"a": 1, "b": 2}


def test_a_change_to_the_value_itself_is_no_update() -> None:
    given = {"a": [1]}
    state = KeyState(given)
    assert state.value is not None
    state.value["a"] = [2]
    assert not state.is_changed
    assert given == {"a": [1]}


def test_clearing_takes_the_timer_too() -> None:
    state = KeyState({"a": 1}, NOON)
    state.clear()
    assert (state.value, state.timer, state.is_changed) == (None, None, True)


def test_a_timer_is_after_the_watermark() -> None:
    state = KeyState(watermark=NOON)
    with pytest.raises(ValueError, match=r"is not after the watermark.*max\(when"):
        state.set_timer(NOON)
    state.set_timer(NOON + timedelta(microseconds=1))
    assert state.timer == NOON + timedelta(microseconds=1)
    state.clear_timer()
    assert state.timer is None


def test_a_timer_of_another_zone_is_the_same_moment() -> None:
    state = KeyState()
    state.set_timer(NOON.astimezone(timezone(timedelta(hours=5))))
    assert state.timer == NOON
    assert state.timer.tzinfo is UTC


@pytest.mark.parametrize("when", [None, 5, datetime(2026, 1, 1), "2026-01-01"])
def test_a_timer_is_a_moment(when: object) -> None:
    with pytest.raises(ValueError, match="a datetime with a time zone"):
        KeyState().set_timer(when)  # type: ignore[arg-type]


@given(st.datetimes(timezones=st.just(UTC)))
def test_moments_keep_every_microsecond(moment: datetime) -> None:
    assert moment_of(micros_of(moment)) == moment


def test_moments_that_python_cannot_hold_become_the_nearest() -> None:
    assert moment_of(2**62).year == 9999
    assert moment_of(-(2**62)).year == 1


def test_only_what_is_handed_to_update_is_kept() -> None:
    state = KeyState({"n": 1, "seen": [1]})
    assert state.value is not None
    state.value["n"] = 5
    state.value["seen"].append(9)
    assert state.kept == {"n": 1, "seen": [1]}
    state.update(n=2)
    assert state.kept == state.value == {"n": 2, "seen": [1]}
    given = [3]
    state.update(seen=given)
    given.append(4)
    assert state.kept == {"n": 2, "seen": [3]}
