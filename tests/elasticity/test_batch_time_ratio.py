"""The peer's rule: slots in proportion to batch time over trigger."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.elasticity.batch_time_ratio import BatchTimeRatio, slots_for_ratio
from penstock.elasticity.observation import Observation
from penstock.elasticity.rails.guard_rails import GuardRails
from penstock.errors import ConfigurationError

FREE = GuardRails(scale_in_after=1, scale_in_cool_down=0, scale_out_cool_down=0, turns=None)


def took(batch: int, seconds: float, slots: int = 4, trigger: float | None = 1.0) -> Observation:
    return Observation(batch, 10.0 * batch, seconds, trigger, slots, most_slots=20)


@pytest.mark.parametrize(
    ("ratio", "now", "then"),
    [
        (0.8, 2, 2), (1.2, 2, 3), (2.2, 2, 5), (2.2, 8, 10),
        (0.6, 3, 2), (0.9, 12, 12), (1.1, 12, 10), (0.5, 1, 2),
    ],
)  # fmt: skip
def test_the_peers_own_table(ratio: float, now: int, then: int) -> None:
    assert slots_for_ratio(ratio, now, least=2, most=10) == then


def test_of_the_old_mean_six_tenths_count() -> None:
    policy = BatchTimeRatio(rails=FREE)
    for batch, seconds in enumerate((9.0, 0.9, 1.9)):  # a first batch tells nothing
        decision = policy.decide(took(batch, seconds))
    assert decision.reason == (
        "batches take 1.3 of their trigger, outside 0.75 to 1; asking for 6"
    )  # 0.6 x 0.9 + 0.4 x 1.9
    assert decision.slots == 6


def test_without_a_trigger_nothing_changes() -> None:
    policy = BatchTimeRatio(rails=FREE)
    assert {policy.decide(took(n, 30.0, trigger=None)).slots for n in range(9)} == {4}
    assert policy.decide(took(9, 30.0, trigger=None)).reason == (
        "BatchTimeRatio compares batches with their trigger, and this query has none: "
        "give it one, or take another policy; asking for 4"
    )


def test_it_waits_for_slots_that_are_still_to_come() -> None:
    policy = BatchTimeRatio(rails=FREE)
    decisions = [policy.decide(took(n, 2.0)) for n in range(3)]
    assert [each.slots for each in decisions] == [4, 8, 8]
    assert decisions[-1].reason.endswith("; 4 of 8 slots are still to come; asking for 8")


@pytest.mark.parametrize(
    "settings", [{"low": 1.0}, {"low": 0}, {"high": -1}, {"decay": 1.0}, {"decay": "0.6"}]
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="BatchTimeRatio"):
        BatchTimeRatio(**settings)
