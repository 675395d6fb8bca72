"""What every policy promises: decisions that can be carried out, each with a reason."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elasticity.strategies import observations
from penstock.elasticity.decision import Decision, Policy
from penstock.elasticity.observation import Observation
from penstock.elasticity.static import Static

POLICIES: dict[str, Callable[[], Policy]] = {
    "Static()": Static,
    "Static(3)": lambda: Static(3),
}

every_policy = pytest.mark.parametrize("make", POLICIES.values(), ids=POLICIES.keys())
histories = st.lists(observations(), min_size=1, max_size=5)


@every_policy
def test_it_is_a_policy(make: Callable[[], Policy]) -> None:
    assert isinstance(make(), Policy)


@every_policy
@given(history=histories)
def test_every_decision_can_be_carried_out(
    make: Callable[[], Policy], history: list[Observation]
) -> None:
    policy = make()
    for observation in history:
        decision = policy.decide(observation)
        assert isinstance(decision, Decision)
        counts = [decision.slots, *decision.tasks.values()]
        assert all(type(count) is int and count >= 1 for count in counts)
        assert len(decision.reason.split()) > 1
        assert decision.reason.isprintable()


@every_policy
@given(history=histories)
def test_the_same_history_gives_the_same_decisions(
    make: Callable[[], Policy], history: list[Observation]
) -> None:
    one, other = make(), make()
    assert [one.decide(each) for each in history] == [other.decide(each) for each in history]


@every_policy
@given(observation=observations())
def test_it_leaves_the_observation_as_it_was(
    make: Callable[[], Policy], observation: Observation
) -> None:
    before = deepcopy(observation)
    make().decide(observation)
    assert observation == before


@every_policy
def test_it_decides_before_the_first_batch_too(make: Callable[[], Policy]) -> None:
    start = Observation(
        batch_id=-1, at_seconds=0.0, batch_seconds=0.0, trigger_seconds=None, slots=2
    )
    assert make().decide(start).slots >= 1
