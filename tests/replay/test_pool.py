"""Slots that take their time to come."""

from __future__ import annotations

import pytest

from penstock.errors import ConfigurationError
from penstock.replay.pool import ReplayedSlots


def pool(slots: int = 2, **changes: float) -> ReplayedSlots:
    return ReplayedSlots(slots, at_seconds=0.0, most=8, executor_seconds=changes.get("late", 10.0))


def test_slots_that_are_on_their_way_are_called_off_first() -> None:
    slots = pool()
    slots.ask(6, at_seconds=0.0)
    slots.ask(4, at_seconds=5.0)
    assert (slots.ready(9.9), slots.ready(10.0), slots.ready(99.0)) == (2, 4, 4)
    slots.ask(8, at_seconds=100.0)
    slots.ask(1, at_seconds=105.0)
    assert (slots.ready(105.0), slots.ready(200.0)) == (1, 1)


def test_asking_again_does_not_begin_the_wait_anew() -> None:
    slots = pool()
    slots.ask(4, at_seconds=0.0)
    slots.ask(4, at_seconds=9.0)
    slots.ask(5, at_seconds=9.0)
    assert (slots.ready(10.0), slots.ready(18.9), slots.ready(19.0)) == (4, 4, 5)
    assert slots.changes == 2


def test_every_slot_costs_for_as_long_as_it_is_there() -> None:
    slots = pool()
    slots.ask(4, at_seconds=5.0)  # 2 until 15, then 4
    slots.ask(1, at_seconds=20.0)
    slots.ready(30.0)
    assert slots.slot_seconds == 2 * 15 + 4 * 5 + 1 * 10
    assert slots.timeline == [(0.0, 2), (15.0, 4), (20.0, 1)]


def test_bounds_that_leave_nothing_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="a replay with 5 to 3 slots can't be"):
        ReplayedSlots(4, at_seconds=0.0, least=5, most=3, executor_seconds=0.0)
