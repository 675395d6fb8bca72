"""All rails together: their settings, their order, and what they say."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.elasticity.rails.bounds import Bounds
from penstock.elasticity.rails.chain import Passed, RailChain
from penstock.elasticity.rails.guard_rails import GuardRails
from penstock.elasticity.rails.rail import Situation
from penstock.errors import ConfigurationError

ANY = Bounds(1, 16)


def at(second: float, planned: int = 6, behind: bool = False) -> Situation:
    return Situation(second, second, 10.0, planned, planned, behind)


def test_every_rail_is_on_unless_said_otherwise() -> None:
    state = RailChain(GuardRails()).save()
    assert list(state) == [
        "excluded period",
        "scale-out does not help",
        "rows wait",
        "scale-in patience",
        "oscillation",
        "cool-down",
    ]
    assert "cost ceiling" in RailChain(GuardRails(slot_seconds_per_hour=9_000)).save()


def test_a_rail_can_be_switched_off() -> None:
    off = GuardRails(scale_in_after=1, scale_in_while_behind=True, turns=None)
    assert RailChain(off).passes(2, at(0.0, behind=True), ANY) == Passed(2)


def test_those_that_acted_are_named_in_their_order() -> None:
    rails = GuardRails(slot_seconds_per_hour=6_595, scale_in_after=1)
    chain = RailChain(rails)
    chain.decided(6, at(0.0))
    passed = chain.passes(3, at(595.0, behind=True), ANY)
    # 3570 slot-seconds are spent, and 2995 for one slot up to the end of the hour: 30 are left.
    assert passed.slots == 3
    assert passed.held_by == ("rows wait", "cost ceiling")
    assert passed.why == ("rows wait", "6595 slot-seconds an hour leave 3 slots")


def test_bounds_have_the_last_word() -> None:
    chain = RailChain(GuardRails())
    passed = chain.passes(2, at(0.0, planned=9, behind=True), Bounds(1, 4))
    assert passed.slots == 4
    assert passed.held_by == ("rows wait", "bounds")


def test_rows_that_wait_keep_patience_from_counting() -> None:
    chain = RailChain(GuardRails(scale_in_after=2))
    assert chain.passes(2, at(0.0), ANY).slots == 6
    assert chain.passes(2, at(10.0, behind=True), ANY).slots == 6
    assert chain.passes(2, at(20.0), ANY).slots == 6
    assert chain.passes(2, at(30.0), ANY).slots == 2


def test_a_chain_goes_on_from_what_it_saved_where_a_rail_is_new() -> None:
    old, new = RailChain(GuardRails()), RailChain(GuardRails(slot_seconds_per_hour=7_200))
    old.decided(8, at(0.0))
    new.load(old.save())
    assert new.save()["cool-down"] == old.save()["cool-down"] != {"changed_seconds": None}


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"min_slots": 0}, r"GuardRails\(min_slots=0\) can't work. Write a whole number"),
        ({"max_slots": 2.5}, r"GuardRails\(max_slots=2.5\) can't work"),
        ({"min_slots": 3, "max_slots": 2}, "leaves no number of slots. Write max_slots of 3"),
        ({"slot_seconds_per_hour": 0}, "slot_seconds_per_hour=0.*Write a number above 0"),
        ({"slot_seconds_per_hour": float("nan")}, "slot_seconds_per_hour=nan"),
        ({"scale_in_cool_down": "a while"}, "scale_in_cool_down='a while'.*not a length of time"),
        ({"scale_in_after": 0}, "scale_in_after=0"),
        ({"turns": 0}, "turns=0"),
        ({"max_latency": "0 seconds"}, "max_latency='0 seconds'"),
        ({"excluded": ("all day",)}, "excluded period 'all day' can't be read"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        GuardRails(**settings)


def test_one_period_needs_no_tuple() -> None:
    assert GuardRails(excluded="02:00-03:30") == GuardRails(excluded=("02:00-03:30",))  # type: ignore[arg-type]
