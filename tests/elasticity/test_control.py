"""What a control makes of a policy's decision, over all that can be asked for."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.elasticity.control import Control, before_control, carried_out
from penstock.elasticity.decision import Decision
from penstock.errors import ConfigurationError

WANTED = Decision(
    6, "demand 5.4 slots; asking for 6", {"parse": 6, "score": 2}, held_by=("bounds",)
)
FOUR = Decision(4, "four before")

slots = st.integers(1, 40)


@st.composite
def controls(draw: st.DrawFn) -> Control:
    least, most = sorted((draw(slots), draw(slots)))
    min_slots = draw(st.sampled_from([None, least]))
    max_slots = draw(st.sampled_from([None, most]))
    forced = draw(st.none() | st.integers(min_slots or 1, max_slots or 40))
    return Control(draw(st.booleans()) and forced is None, min_slots, max_slots, forced)


@st.composite
def decisions(draw: st.DrawFn) -> Decision:
    count = draw(slots)
    tasks = st.dictionaries(st.sampled_from("abc"), st.integers(1, count))
    return Decision(count, "as the policy has it", draw(tasks), demand_slots=draw(st.floats(0, 50)))


@given(control=controls(), wanted=decisions(), in_force=st.none() | decisions(), most=slots)
def test_what_is_carried_out_keeps_to_what_is_asked_for(
    control: Control, wanted: Decision, in_force: Decision | None, most: int
) -> None:
    found = carried_out(control, wanted, in_force, most)
    assert found.slots >= min(control.min_slots or 1, most)
    assert found.slots <= (control.max_slots or 40)
    if control.forced_slots is not None:
        assert found.slots == min(control.forced_slots, most)
    if found == wanted:
        assert not control.paused
        assert control.forced_slots is None
    else:
        assert found.slots <= most
        assert found.held_by == (*wanted.held_by, "control")
        assert found.reason.startswith(f"{wanted.reason}; by control {control.describe()}")
    # Nothing but the number, who decided it and why is changed: the forecast is the policy's.
    assert found.demand_slots == wanted.demand_slots
    assert set(found.tasks) == set(wanted.tasks)
    assert all(1 <= count <= found.slots for count in found.tasks.values())


@given(wanted=decisions(), in_force=st.none() | decisions(), most=st.none() | slots)
def test_a_control_that_asks_for_nothing_changes_nothing(
    wanted: Decision, in_force: Decision | None, most: int | None
) -> None:
    assert carried_out(Control(), wanted, in_force, most) is wanted


@given(control=controls(), wanted=decisions(), in_force=decisions())
def test_a_pause_keeps_the_slots_in_force_within_the_limits(
    control: Control, wanted: Decision, in_force: Decision
) -> None:
    if control.paused:
        least, most = control.min_slots or 1, control.max_slots or 40
        expected = max(least, min(in_force.slots, most))
        assert carried_out(control, wanted, in_force).slots == expected


@pytest.mark.parametrize(
    ("control", "found", "tasks", "said"),
    [
        (Control(paused=True), 4, {"parse": 4, "score": 2}, "scaling is paused: so 4"),
        (
            Control(paused=True, max_slots=3),
            3,
            {"parse": 3, "score": 2},
            "scaling is paused; at most 3 slots: so 3",
        ),
        (Control(max_slots=4), 4, {"parse": 4, "score": 2}, "at most 4 slots: so 4"),
        (Control(min_slots=7), 7, {"parse": 7, "score": 3}, "at least 7 slots: so 7"),
        (Control(forced_slots=1), 1, {"parse": 1, "score": 1}, "1 slot forced: so 1"),
        (
            Control(forced_slots=20),
            12,
            {"parse": 12, "score": 4},
            "20 slots forced, of which there can be 12: so 12",
        ),
    ],
)
def test_the_reason_names_the_control(
    control: Control, found: int, tasks: dict[str, int], said: str
) -> None:
    decision = carried_out(control, WANTED, FOUR, most_slots=12)
    assert (decision.slots, decision.tasks) == (found, tasks)
    assert decision.reason == f"demand 5.4 slots; asking for 6; by control {said}"
    assert decision.held_by == ("bounds", "control")


def test_limits_that_the_policy_keeps_to_leave_its_decision_alone() -> None:
    assert carried_out(Control(min_slots=2, max_slots=8), WANTED, FOUR, most_slots=4) is WANTED


def test_a_pause_before_anything_is_in_force_keeps_what_is_wanted() -> None:
    assert carried_out(Control(paused=True), WANTED).slots == 6


def test_what_an_earlier_control_said_is_not_said_again() -> None:
    before = carried_out(Control(forced_slots=4), WANTED)
    again = carried_out(Control(forced_slots=4), before_control(before), before)
    assert again.reason == "demand 5.4 slots; asking for 6; by control 4 slots forced: so 4"
    assert again.held_by == ("bounds", "control")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"paused": 1}, "Write True or False"),
        ({"min_slots": 0}, "Write a whole number from 1 to 1,000,000, or None"),
        ({"max_slots": True}, "Write a whole number"),
        ({"forced_slots": 2.0}, "Write a whole number"),
        ({"forced_slots": 10**9}, "Write a whole number"),
        ({"min_slots": 3, "max_slots": 2}, "Write max_slots of 3 or more"),
        ({"paused": True, "forced_slots": 2}, "Write one of the two"),
        ({"min_slots": 3, "forced_slots": 2}, "outside of the limits"),
        ({"max_slots": 3, "forced_slots": 4}, "outside of the limits"),
    ],
)
def test_what_can_not_be_carried_out_is_refused(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        Control(**asked)
