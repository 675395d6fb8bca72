"""What every policy promises: decisions that can be carried out, each with a reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from math import isfinite
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticity.strategies import histories, observations
from penstock.elasticity.adapting import Adapting
from penstock.elasticity.autoscale_plus import AutoScalePlus
from penstock.elasticity.batch_time_ratio import BatchTimeRatio
from penstock.elasticity.decision import Decision, Policy, StatefulPolicy
from penstock.elasticity.fuzzy import Fuzzy
from penstock.elasticity.incremental import Incremental
from penstock.elasticity.observation import Observation, OperatorObservation, SourceObservation
from penstock.elasticity.q_learning import QLearning
from penstock.elasticity.rails.guard_rails import GuardRails
from penstock.elasticity.replica_pool import ReplicaPool
from penstock.elasticity.static import Static
from penstock.errors import ConfigurationError


def trained() -> QLearning:
    policy = QLearning(interval=1, max_slots=20)
    policy.train([(rate, 4, rate / 400) for rate in (10.0, 100.0, 400.0, 2_000.0)], rounds=10)
    return policy


# Rails that let much through, so that what the policies say themselves is seen.
LOOSE = GuardRails(
    scale_in_after=1, scale_in_while_behind=True, turns=None, scale_out_cool_down=0,
    scale_in_cool_down=0, useless_hold=0,
)  # fmt: skip
STRICT = GuardRails(
    min_slots=2, max_slots=20, slot_seconds_per_hour=20_000, turns=1, max_latency="20 seconds",
    excluded=("02:00-03:30",),
)  # fmt: skip

ADAPTING: dict[str, Callable[[], Adapting]] = {
    "AutoScalePlus": lambda: AutoScalePlus(interval=1),
    "AutoScalePlus, strict": lambda: AutoScalePlus(rails=STRICT, combine="min", settling=0),
    "ReplicaPool": lambda: ReplicaPool(interval=1, rails=LOOSE),
    "ReplicaPool, strict": lambda: ReplicaPool(interval=2, rails=STRICT),
    "Incremental": lambda: Incremental(interval=1, rails=LOOSE),
    "QLearning": trained,
    "QLearning, untrained": lambda: QLearning(interval=1, rails=LOOSE),
    "Fuzzy": lambda: Fuzzy(interval=1, rails=LOOSE),
    "Fuzzy, named": lambda: Fuzzy(first=("parse",), second=("enrich", "score"), rails=STRICT),
    "BatchTimeRatio": lambda: BatchTimeRatio(rails=LOOSE),
}
POLICIES: dict[str, Callable[[], Policy]] = {
    "Static()": Static,
    "Static(3)": lambda: Static(3),
    **ADAPTING,
}

every_policy = pytest.mark.parametrize("make", POLICIES.values(), ids=POLICIES.keys())
every_adapting = pytest.mark.parametrize("make", ADAPTING.values(), ids=ADAPTING.keys())
any_history = st.lists(observations(), min_size=1, max_size=5) | histories()
few = settings(max_examples=15, deadline=None)


@every_policy
def test_it_is_a_policy(make: Callable[[], Policy]) -> None:
    assert isinstance(make(), Policy)


@every_policy
@few
@given(history=any_history)
def test_every_decision_can_be_carried_out(
    make: Callable[[], Policy], history: list[Observation]
) -> None:
    policy = make()
    before = deepcopy(history)
    for observation in history:
        decision = policy.decide(observation)
        assert isinstance(decision, Decision)
        counts = [decision.slots, *decision.tasks.values()]
        assert all(type(count) is int and count >= 1 for count in counts)
        assert all(count <= decision.slots for count in decision.tasks.values())
        assert len(decision.reason.split()) > 1
        assert decision.reason.isprintable()
        if isinstance(policy, Adapting):
            assert_bounded(decision, policy, observation)
    assert history == before, "an observation was changed"


def assert_bounded(decision: Decision, policy: Adapting, observation: Observation) -> None:
    told = [n for n in (policy.rails.max_slots, observation.most_slots) if n is not None]
    slots = max(1, observation.slots)  # where all are lost, a plan needs one all the same
    most = min(told, default=slots)
    assert min(policy.rails.min_slots, most) <= decision.slots <= most
    there = min(decision.slots, slots)
    assert all(count <= there for count in decision.tasks.values())
    assert set(decision.tasks) == {each.name for each in observation.operators}
    expected = decision.expected_rows
    for band in (decision.low_rows, decision.high_rows):
        assert set(band) in (set(), set(expected))
    assert all(rows <= expected[name] for name, rows in decision.low_rows.items())
    assert all(rows >= expected[name] for name, rows in decision.high_rows.items())
    numbers = [*expected.values(), *decision.high_rows.values(), decision.demand_slots or 0.0]
    assert all(isfinite(number) and number >= 0 for number in numbers)
    assert any(letter.isdigit() for letter in decision.reason)
    assert not {"nan", "inf"} & set(decision.reason.split())


@every_adapting
@few
@given(history=any_history, cut=st.integers(0, 4))
def test_one_that_was_saved_goes_on_as_if_nothing_had_happened(
    make: Callable[[], Adapting], history: list[Observation], cut: int
) -> None:
    # With nothing to save yet: the same history gives the same decisions.
    one, other = make(), make()
    for each in history[:cut]:
        one.decide(each)
    other.load(json.loads(json.dumps(one.save(), allow_nan=False)))
    assert other.save() == one.save()
    after = history[cut:]
    assert [other.decide(each) for each in after] == [one.decide(each) for each in after]


@every_adapting
def test_a_state_of_another_kind_is_refused(make: Callable[[], Adapting]) -> None:
    policy = make()
    policy.decide(Observation(-1, 0.0, 0.0, None, slots=2))
    before = policy.save()
    damaged = {key: value for key, value in before["memory"].items() if key != "planned"}
    wrong: list[Any] = [
        {},
        None,
        before | {"policy": "Static"},
        before | {"version": 99},
        before | {"memory": damaged},
        before | {"memory": 3},
    ]
    for state in wrong:
        with pytest.raises(ValueError, match="state"):
            policy.load(state)
    assert policy.save() == before


@every_adapting
def test_it_is_a_stateful_policy_that_can_be_copied(make: Callable[[], Adapting]) -> None:
    policy = make()
    assert isinstance(policy, StatefulPolicy)
    policy.decide(Observation(-1, 0.0, 0.0, 1.0, slots=4))
    before, copy = policy.save(), deepcopy(policy)
    source = SourceObservation("clicks", 1_000, 0)
    work = OperatorObservation("parse", 1_000, 10, 3.0, 4, 0.8, 0.75)
    for batch in range(3):
        at = 10.0 * (batch + 1)
        copy.decide(Observation(batch, at, 1.2, 1.0, 4, (work,), (source,)))
    assert copy.save() != before == policy.save()


@every_policy
def test_it_decides_before_the_first_batch_too(make: Callable[[], Policy]) -> None:
    start = Observation(
        batch_id=-1, at_seconds=0.0, batch_seconds=0.0, trigger_seconds=None, slots=2
    )
    assert make().decide(start).slots >= 1


@every_adapting
def test_its_settings_are_frozen_and_shown(make: Callable[[], Adapting]) -> None:
    policy = make()
    assert repr(policy).startswith(type(policy).__name__ + "(interval=")
    with pytest.raises(AttributeError):
        policy.interval = 3  # type: ignore[misc]


@pytest.mark.parametrize("kind", [AutoScalePlus, ReplicaPool, Incremental, QLearning, Fuzzy])
@pytest.mark.parametrize("interval", [0, -1, True, "soon", "0 seconds", -0.5])
def test_an_interval_that_is_none_is_refused(kind: type[Adapting], interval: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"{kind.__name__}.*interval"):
        kind(interval=interval)
