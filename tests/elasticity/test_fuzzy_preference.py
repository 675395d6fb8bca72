"""The fuzzy controller on preference queries, whose stages tell how utilised they are."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.elasticity.decision import Decision
from penstock.elasticity.fuzzy import Fuzzy
from penstock.elasticity.observation import Observation, OperatorObservation, SourceObservation
from penstock.elasticity.rails.guard_rails import GuardRails

AT_ONCE = GuardRails(scale_in_after=1)


class TestPreferenceQueries:
    """Both stages measured by their own tasks, one after the other on the same slots."""

    def seen(
        self,
        batch: int,
        rhos: tuple[float, float],
        *,
        sigma: float = 1.0,
        slots: int = 8,
        most: int = 16,
    ) -> Observation:
        panes = OperatorObservation(
            "best_partials", 500, 50, 2.0, slots, 0.3, 0.3,
            utilisation=rhos[0], parts_per_pane=sigma,
        )  # fmt: skip
        windows = OperatorObservation(
            "best", 50, 5, 2.0, slots, 0.3, 0.3, inputs=("best_partials",), utilisation=rhos[1]
        )
        source = SourceObservation("players", 500, waiting_rows=0)
        return Observation(
            batch, float(batch), 0.8, 1.0, slots, (panes, windows), (source,), most_slots=most
        )

    def decided(self, policy: Fuzzy, *rhos: tuple[float, float], **more: Any) -> Decision:
        """Decide after batches, the first of which is cold and counts for nothing."""
        policy.decide(Observation(-1, -1.0, 0.0, 1.0, more.get("slots", 8), most_slots=16))
        policy.decide(self.seen(0, (200.0, 200.0), **more))
        for batch, each in enumerate(rhos, start=1):
            decision = policy.decide(self.seen(batch, each, **more))
        return decision

    @pytest.mark.parametrize(
        ("rhos", "sigma", "tasks"),
        [
            ((0.9, 0.9), 1.0, (8, 8)),
            ((0.3, 0.3), 1.0, (4, 4)),
            ((1.5, 0.9), 1.0, (12, 10)),
            ((0.9, 0.9), 6.0, (10, 8)),  # much split: more tasks split less
            ((0.3, 1.5), 1.0, (4, 12)),
        ],
    )
    def test_rules_go_by_what_the_stages_measured(
        self, rhos: tuple[float, float], sigma: float, tasks: tuple[int, int]
    ) -> None:
        policy = Fuzzy(interval=1, rails=AT_ONCE)
        decision = self.decided(policy, rhos, sigma=sigma)
        assert decision.slots == max(tasks)
        then = policy.decide(self.seen(2, (0.9, 0.9), slots=max(tasks)))
        assert (then.tasks["best_partials"], then.tasks["best"]) == tasks

    def test_the_mean_of_the_interval_counts(self) -> None:
        policy = Fuzzy(interval=4)
        self.decided(policy, (0.9, 0.9))
        for batch, rho in enumerate((0.1, 2.0, 0.6, 0.9), start=2):  # 0.9 on average
            decision = policy.decide(self.seen(batch, (rho, 0.9)))
        assert decision.slots == 8
        assert "utilised 0.9 and 0.9 with 8 and 8 tasks" in decision.reason

    def test_a_guard_rail_that_holds_slots_holds_tasks(self) -> None:
        policy = Fuzzy(interval=1)
        held = self.decided(policy, (0.3, 0.3))
        assert held.slots == 8
        assert held.tasks == {"best_partials": 8, "best": 8}

    def test_an_interval_without_rows_needs_few(self) -> None:
        policy = Fuzzy(interval=1, rails=AT_ONCE)
        self.decided(policy, (0.9, 0.9))
        idle = self.seen(1, (0.9, 0.9)).idle_at(60.0, slots=8)
        assert policy.decide(idle).slots == 4

    def test_tasks_stay_within_the_slots_there_are(self) -> None:
        decision = self.decided(Fuzzy(interval=1), (5.0, 5.0), slots=2, most=2)
        assert decision.slots == 2
        assert decision.tasks == {"best_partials": 2, "best": 2}

    def test_another_run_goes_on_with_them(self) -> None:
        policy, again = Fuzzy(interval=1), Fuzzy(interval=1)
        self.decided(policy, (0.3, 1.5))
        again.load(json.loads(json.dumps(policy.save())))
        seen = self.seen(2, (0.9, 0.9), slots=12)
        assert again.decide(seen) == policy.decide(seen)
