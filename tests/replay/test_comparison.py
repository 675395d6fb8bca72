"""Which policy a replay recommends, and why."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.elasticity.decision import Decision, Policy
from penstock.elasticity.observation import Observation
from penstock.elasticity.static import Static
from penstock.replay.batches import Replayed, ReplayedBatch
from penstock.replay.comparison import Comparison, Given, Outcome, compare, recommend, try_policy
from penstock.replay.reading import read_recordings
from penstock.replay.recording import Recording
from replay.loads import as_lines, burst, conditions


class ByRate:
    """As many slots as the rows of the last trigger took, and two more."""

    def decide(self, observation: Observation) -> Decision:
        return Decision(round(observation.rows_in * 0.02 / 9) + 2, "by the last rate")


@pytest.fixture
def logged(tmp_path: Path) -> Recording:
    path = tmp_path / "log"
    path.write_text(as_lines(burst()))
    return read_recordings(path)[0]


def compared(logged: Recording, given: Given, **policies: Policy) -> Comparison:
    outcomes = [
        try_policy(logged, name.replace("_", ":"), policy, given)
        for name, policy in policies.items()
    ]
    return compare(logged, outcomes, given)


def test_the_cheapest_that_keeps_up_is_recommended(logged: Recording) -> None:
    found = compared(
        logged, Given(slots_then=4), static_4=Static(4), static_8=Static(8), by=ByRate()
    )
    hours = {each.policy: each.slot_hours for each in found.outcomes}
    behind = {each.policy: each.replayed.behind_seconds for each in found.outcomes}
    assert behind["static:4"] > 60
    assert behind["static:8"] == 0
    assert hours["static:8"] == pytest.approx(2 * hours["static:4"], rel=0.1)
    assert hours["by"] < hours["static:8"]
    # Following the load it is behind while its slots come, so it can't be recommended here.
    assert found.recommendation.policy == "static:8"
    reason = found.recommendation.reason
    assert f"{hours['static:8']:.2f} slot-hours" in reason
    assert f"more than the {hours['static:4']:.2f} of static:4, as it was" in reason
    assert f"behind for 0 s instead of {behind['static:4']:.0f} s" in reason


def test_slots_that_come_at_once_let_a_policy_follow(logged: Recording) -> None:
    given = Given(slots_then=4, executor_seconds=0.0)
    found = compared(logged, given, static_8=Static(8), by=ByRate())
    slow = compared(logged, Given(slots_then=4, executor_seconds=60.0), by=ByRate())
    quick_behind = found.outcomes[1].replayed.behind_seconds
    assert quick_behind < slow.outcomes[0].replayed.behind_seconds


def test_where_nothing_is_better_it_stays_as_it_was(logged: Recording) -> None:
    found = compared(logged, Given(slots_then=4, most_slots=4), static_4=Static(4), s=Static(2))
    assert found.recommendation.policy == "static:4"
    assert "as it was, and none of the others keeps up with fewer" in found.recommendation.reason


def test_the_log_is_met_again_by_the_slots_it_had(logged: Recording) -> None:
    found = compared(logged, Given(slots_then=4), static_4=Static(4))
    assert found.work.fixed_seconds == pytest.approx(1.0)
    assert found.work.slot_seconds_per_row == pytest.approx(0.02)
    again = found.outcomes[0].replayed
    assert again.rows == logged.rows
    assert again.behind_seconds == pytest.approx(logged.behind_seconds, rel=0.1)
    assert not found.slots_assumed


def test_slots_that_nobody_told_are_assumed(logged: Recording) -> None:
    found = compared(logged, Given(), static_4=Static(4))
    assert (found.slots_then, found.slots_assumed, found.conditions.most_slots) == (4, True, 8)


def test_what_the_user_says_goes_before_the_log(logged: Recording) -> None:
    given = Given(slots_then=3, least_slots=2, most_slots=5, trigger_seconds=20.0)
    found = compared(logged, given, static_3=Static(3)).conditions
    assert (found.least_slots, found.most_slots, found.start_slots) == (2, 5, 3)
    assert (found.trigger_seconds, found.limit_seconds) == (20.0, 20.0)


def outcome(policy: str, slot_seconds: float, behind_seconds: float) -> Outcome:
    ran = ReplayedBatch(0.0, 1_000.0, 1, 1, 0)
    return Outcome(policy, Replayed((ran,), ((0.0, 1),), slot_seconds, behind_seconds, 1, 2, 0, ()))


@pytest.mark.parametrize(
    ("tried", "best"),
    [
        ([("a", 5_000, 0), ("b", 4_000, 10), ("c", 3_000, 11)], "b"),  # 1 % of 1,000 s is 10 s
        ([("a", 5_000, 9), ("b", 5_050, 2), ("c", 5_200, 0)], "b"),  # 2 % more is about the same
        ([("a", 5_000, 900), ("b", 9_000, 890)], "a"),
    ],
)
def test_who_is_recommended(tried: list[tuple[str, float, float]], best: str) -> None:
    found = recommend([outcome(*each) for each in tried], conditions(), "static:1")
    assert found.policy == best
    assert "the least of those that keep up" in found.reason
