"""Monitoring that is off while a system settles."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.elasticity.incremental import Incremental
from penstock.elasticity.observation import Observation, OperatorObservation
from penstock.elasticity.rails.guard_rails import GuardRails
from penstock.simulation.published.settling import Settling, WhileSettled
from penstock.simulation.replicas.policy import PerOperator


def second(at: float, tasks: int = 1, busy_seconds: float = 1.0) -> Observation:
    score = OperatorObservation("score", 10, 10, busy_seconds, tasks, 0.0, 0.0)
    return Observation(int(at), at, 1.0, None, tasks, (score,))


class Asked:
    """Wants two replicas once it has seen enough, and keeps what it was shown."""

    def __init__(self, enough: int) -> None:
        self.seen: list[Observation] = []
        self._enough = enough

    def plan(self, seen: Observation) -> Mapping[str, int]:
        self.seen.append(seen)
        return {"score": 2} if len(self.seen) >= self._enough else {}


def test_the_clock_stands_still_while_nobody_is_asked() -> None:
    settling = Settling(3.0)
    times = []
    for at in (1.0, 2.0, 8.0, 9.0):  # from 2 to 7 the engine was down, and asked nobody
        seen = settling.monitored(second(at))
        assert seen is not None
        times.append(seen.at_seconds)
    assert times == [1.0, 2.0, 3.0, 4.0]


def test_after_a_change_nothing_is_shown_until_the_system_has_settled() -> None:
    policy = Asked(enough=3)
    law = WhileSettled(policy, settling_seconds=2.0)
    plans = [law.plan(second(float(at), tasks=1 if at <= 3 else 2)) for at in range(1, 8)]
    #   second   1  2  3  4  5  6  7
    #   shown    x  x  x        x  x      asked for two after the third
    assert plans == [{}, {}, {"score": 2}, {"score": 2}, {"score": 2}, {"score": 2}, {"score": 2}]
    assert [each.batch_id for each in policy.seen] == [1, 2, 3, 6, 7]
    assert [each.at_seconds for each in policy.seen] == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_a_plan_that_changes_nothing_needs_no_settling() -> None:
    policy = Asked(enough=1)
    law = WhileSettled(policy, settling_seconds=5.0)
    for at in (1.0, 2.0, 3.0):
        law.plan(second(at, tasks=2))
    assert len(policy.seen) == 3


def test_an_idle_time_of_the_engine_does_not_look_like_idle_replicas() -> None:
    """Replicas are busy whenever somebody looks; without the clock they would seem idle."""
    rails = GuardRails(scale_out_cool_down=0, useless_hold=0)
    law = WhileSettled(PerOperator(lambda: Incremental(interval=4.0, rails=rails), 8), 0.0)
    tasks, steps = 1, []
    for round_ in range(4):
        for at in range(5):
            seen = second(50.0 * round_ + at, tasks, busy_seconds=float(tasks))
            tasks = law.plan(seen)["score"]
        steps.append(tasks)
    assert steps == sorted(steps)
    assert steps[-1] >= 4
