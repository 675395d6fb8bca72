"""One step up, one step down."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.elasticity.incremental import Incremental
from penstock.elasticity.observation import Observation, OperatorObservation
from penstock.elasticity.rails.guard_rails import GuardRails
from penstock.errors import ConfigurationError

FREE = GuardRails(
    scale_in_after=1, scale_in_cool_down=0, scale_out_cool_down=0, turns=None, useless_hold=0
)


def plans(policy: Incremental, batches: list[float], slots: int = 4) -> list[int]:
    """Return what is planned after batches of such lengths, with a trigger of a second."""
    planned = []
    for number, seconds in enumerate(batches):
        seen = Observation(number, 50.0 * number, seconds, 1.0, slots, most_slots=9)
        planned.append(policy.decide(seen).slots)
        slots = planned[-1]
    return planned


@pytest.mark.parametrize(
    ("seconds", "then"),
    [(0.3, 3), (0.49, 3), (0.5, 4), (0.7, 4), (0.8, 4), (0.81, 5), (30.0, 5)],
)
def test_thresholds(seconds: float, then: int) -> None:
    assert plans(Incremental(interval=1, rails=FREE), [0.6, seconds])[-1] == then


def test_it_walks_one_step_at_a_time_within_its_bounds() -> None:
    policy = Incremental(interval=1, rails=FREE)
    assert plans(policy, [0.6, *[2.0] * 7, *[0.1] * 3]) == [4, 5, 6, 7, 8, 9, 9, 9, 8, 7, 6]
    assert plans(Incremental(interval=1, rails=FREE, step=3), [0.6, *[0.1] * 3]) == [4, 1, 1, 1]
    assert plans(Incremental(interval=1, rails=FREE, step=3), [0.6, 2.0, 2.0]) == [4, 7, 9]


def test_the_mean_of_the_interval_counts() -> None:
    policy = Incremental(interval=4, rails=FREE)
    # Asked after the first batch that tells something (0.6), then after 4 more: a mean of 0.85.
    assert plans(policy, [0.6, 0.6, 0.4, 1.0, 1.0, 1.0]) == [4, 4, 4, 4, 4, 5]


def test_it_waits_for_slots_that_are_still_to_come() -> None:
    policy = Incremental(interval=1, rails=FREE)
    seen = [Observation(n, 10.0 * n, 2.0, 1.0, 4, most_slots=9) for n in range(4)]
    assert [policy.decide(each).slots for each in seen] == [4, 5, 5, 5]


def test_without_a_trigger_busy_time_counts() -> None:
    policy = Incremental(interval=1, rails=FREE)
    busy = OperatorObservation("parse", 10, 10, 36.0, 4, 9.0, 9.0)  # of 4 slots and 10 s
    seen = [Observation(n, 10.0 * n, 9.0, None, 4, (busy,), most_slots=9) for n in range(2)]
    decision = [policy.decide(each) for each in seen][-1]
    assert decision.reason == "slots are needed 90 % of the time, more than 80 %; asking for 5"
    assert decision.demand_slots == pytest.approx(3.6)


@pytest.mark.parametrize(
    "settings", [{"low": 0.9}, {"low": 0}, {"high": 0.5}, {"step": 0}, {"step": 1.5}]
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="Incremental"):
        Incremental(**settings)
