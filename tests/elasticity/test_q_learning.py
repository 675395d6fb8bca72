"""What was best for a rate before: the table, and how it is trained."""

from __future__ import annotations

from math import ceil
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticity.fluid import Fluid, changes
from penstock.elasticity.observation import Observation, SourceObservation
from penstock.elasticity.q_learning import QLearning, RateSample
from penstock.elasticity.static import Static
from penstock.errors import ConfigurationError

RATES = (10.0, 50.0, 120.0, 300.0, 700.0, 1_100.0)


def trained(seed: int = 0) -> QLearning:
    """A row takes 10 ms of slot time, and everything was seen with 4 slots."""
    policy = QLearning(interval=1, max_slots=12)
    policy.train([(rate, 4, rate * 0.01 / 4) for rate in RATES], seed=seed)
    return policy


@pytest.mark.parametrize("rate", RATES)
def test_the_fewest_slots_that_keep_up_are_best(rate: float) -> None:
    assert trained().best(rate) == min(12, ceil(rate * 0.01 / 0.8 - 1e-9))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_any_seed_finds_them(seed: int) -> None:
    best = [trained(seed).best(rate) for rate in RATES]
    assert best == [1, 1, 2, 4, 9, 12]


@pytest.mark.parametrize("most", [16, 64, 200, 1_000])
def test_many_slots_to_choose_from_are_no_trouble(most: int) -> None:
    policy = QLearning(max_slots=most, interval=1)
    policy.train([(400.0, 4, 0.8)], rounds=1)
    assert policy.best(400.0) == 4


def test_one_slot_was_best() -> None:
    steps = Fluid().run(trained(), lambda second: 10.0, 5.0)
    assert "rows/s 1 slot was best; asking for 1" in steps[-1].decision.reason


def test_where_nothing_keeps_up_the_most_is_best() -> None:
    policy = QLearning(max_slots=4)
    policy.train([(1_000.0, 4, 9.0)])
    assert policy.best(1_000.0) == 4


def test_the_same_seed_learns_the_same() -> None:
    assert trained(7).save() == trained(7).save()


def test_a_rate_never_seen_goes_by_the_nearest() -> None:
    policy = trained()
    assert policy.best(0.0) == policy.best(10.0)
    assert policy.best(130.0) == policy.best(120.0)
    assert policy.best(1e9) == policy.best(1_100.0)


def test_of_two_equally_near_the_higher_rate_counts() -> None:
    policy = QLearning(bucket=2.0, max_slots=8)
    policy.train([(1.0, 1, 0.5), (16.0, 4, 0.75)])
    assert policy.best(4.0) == policy.best(16.0) == 4


def test_it_learns_from_what_a_query_did() -> None:
    def steps(second: float) -> float:
        return 100.0 * (1 + second // 30)

    fluid = Fluid(fixed_seconds=0.0)
    log = [step.seen for step in fluid.run(Static(10), steps, 240.0, slots=10)]
    policy = QLearning(max_slots=16, interval="5 seconds")
    policy.train(log)
    assert policy.best(100.0) == 2  # 0.01 s a row, 80 % utilised: 1.25 slots
    assert policy.best(800.0) == 10
    run = fluid.run(policy, steps, 240.0)
    assert changes(run)[-1] == 10
    assert "rows/s 10 slots were best; asking for 10" in run[-1].decision.reason


def test_untrained_it_changes_nothing_and_says_so() -> None:
    policy = QLearning(interval=1)
    assert policy.best(100.0) is None
    for batch in range(4):
        source = SourceObservation("clicks", 500, 0)
        seen = Observation(batch, 10.0 * batch, 5.0, 1.0, 4, sources=(source,), most_slots=9)
        decision = policy.decide(seen)
    assert decision.slots == 4
    assert decision.reason == (
        "50 rows/s come, and no rate was trained: call train() first; asking for 4"
    )


@pytest.mark.parametrize(
    ("samples", "says"),
    [
        ([], "got no sample"),
        ([Observation(0, 0.0, 1.0, 1.0, slots=2)], "got no sample"),
        ([(100.0, 0, 0.5)], "can't learn from RateSample"),
        ([RateSample(float("nan"), 2, 0.5)], "can't learn from RateSample"),
        ([(100.0, 2, -0.5)], "can't learn from RateSample"),
    ],
)
def test_what_nothing_can_be_learnt_from_is_refused(samples: Any, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        QLearning().train(samples)


@pytest.mark.parametrize("settings", [{"utilisation": 0}, {"utilisation": 1.1}, {"bucket": 1}])
def test_settings_that_cannot_work_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="QLearning"):
        QLearning(**settings)
