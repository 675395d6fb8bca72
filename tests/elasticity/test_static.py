"""The policy that never changes its mind."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elasticity.strategies import observations
from penstock.elasticity.decision import Decision
from penstock.elasticity.observation import Observation
from penstock.elasticity.static import Static
from penstock.errors import ConfigurationError


@given(st.integers(1, 1_000), observations())
def test_uses_as_many_slots_as_it_was_told(slots: int, observation: Observation) -> None:
    told = Static(slots).decide(observation)
    assert told == Decision(slots, "1 slot, always" if slots == 1 else f"{slots} slots, always")


@given(observations())
def test_uses_all_there_are_unless_told(observation: Observation) -> None:
    decision = Static().decide(observation)
    every = observation.slots or 1  # where all are lost, one is asked for
    said = "1 slot" if every == 1 else f"{every} slots"
    assert decision == Decision(every, f"all there are: {said}")


@pytest.mark.parametrize("slots", [0, -1, 2.5, True, "3"])
def test_what_is_no_number_of_slots_is_refused(slots: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"is no number of slots. Write Static\(1\)"):
        Static(slots)
