"""PSPS: replicas from what came and what waits."""

from __future__ import annotations

import re
from typing import Any

import pytest

from elasticity.fluid import Fluid
from penstock.elasticity.capacity import replicas
from penstock.elasticity.observation import Observation, OperatorObservation, SourceObservation
from penstock.elasticity.propagation import Node, replica_inputs
from penstock.elasticity.replica_pool import ReplicaPool
from penstock.errors import ConfigurationError

# Table II: seconds a row, rows in and rows out of each operator in an interval of a second.
TABLE_2 = {"1": (0.0166, 140, 117), "2": (0.025, 120, 90), "3": (0.1, 90, 90)}


def test_table_2_operator_by_operator() -> None:
    nodes = [Node("1"), Node("2", {"1": 117 / 140}), Node("3", {"2": 90 / 120})]
    rows = replica_inputs(nodes, 100, {"2": 7, "3": 20})
    assert rows == {"1": 100, "2": 91, "3": 83}
    assert [replicas(rows[name], TABLE_2[name][0], 1.0) for name in rows] == [2, 3, 9]


def interval(number: int, waiting: int = 0) -> Observation:
    """One interval of Table II as a micro-batch of a query with the same three operators."""
    operators = [OperatorObservation("tweets", 100, 100, 0.0, 0, 0.0, 0.0)]
    before = "tweets"
    for name, (seconds, rows_in, rows_out) in TABLE_2.items():
        busy = seconds * rows_in
        operators.append(
            OperatorObservation(
                name, rows_in, rows_out, busy, 8, busy / 8, busy / 8, inputs=(before,)
            )
        )
        before = name
    source = SourceObservation("tweets", 100, waiting)
    return Observation(
        number, float(number), 0.9, 1.0, 16, tuple(operators), (source,), most_slots=32
    )


def replicas_of(reason: str) -> dict[str, float]:
    found = re.findall(r"(\w+) (\d+\.\d+)", reason.split("replicas:")[1])
    return {name: float(each) for name, each in found}


class TestPolicy:
    def test_its_replicas_are_those_of_equation_1(self) -> None:
        policy = ReplicaPool(interval=1, utilisation=1.0)
        for number in range(8):
            decision = policy.decide(interval(number))
        # 100 rows a second, 83.6 and 62.7 of which get to the second and to the third.
        r = replicas_of(decision.reason)
        assert r["1"] == pytest.approx(100 * 0.0166, rel=0.02)
        assert r["2"] == pytest.approx(100 * 117 / 140 * 0.025, rel=0.02)
        assert r["3"] == pytest.approx(100 * 117 / 140 * 90 / 120 * 0.1, rel=0.02)
        assert decision.expected_rows == pytest.approx(
            {"tweets": 100.0, "1": 100.0, "2": 100 * 117 / 140, "3": 100 * 117 / 140 * 0.75}
        )

    def test_rows_that_wait_are_to_be_done_in_the_next_interval(self) -> None:
        policy = ReplicaPool(interval=1, utilisation=1.0)
        for number in range(8):
            decision = policy.decide(interval(number, waiting=100))
        assert "100 rows/s came and 100 rows wait" in decision.reason
        assert replicas_of(decision.reason)["1"] == pytest.approx(200 * 0.0166, rel=0.02)

    def test_the_fractions_add_up_before_they_are_rounded(self) -> None:
        # 100 rows/s: parse keeps 0.2 slots busy, score 0.8; fixed costs take 0.1 of a second.
        fluid = Fluid(fixed_seconds=0.1)
        steps = fluid.run(ReplicaPool(utilisation=1.0), lambda second: 100.0, 60.0, slots=8)
        assert steps[-1].decision.slots == 2
        assert steps[-1].decision.demand_slots == pytest.approx(1.0 / 0.9, rel=0.1)

    def test_a_lower_utilisation_takes_more_slots(self) -> None:
        fluid = Fluid(fixed_seconds=0.0, trigger_seconds=20.0)
        for utilisation in (1.0, 0.5):
            policy = ReplicaPool(utilisation=utilisation)
            steps = fluid.run(policy, lambda second: 400.0, 400.0, slots=16)
            demand = steps[-1].decision.demand_slots or 0.0
            assert demand == pytest.approx(4.0 / utilisation, rel=0.05)

    @pytest.mark.parametrize("utilisation", [0, 1.01, -1, float("nan"), "0.8", True])
    def test_settings_that_cannot_work_are_refused(self, utilisation: Any) -> None:
        with pytest.raises(ConfigurationError, match=r"ReplicaPool\(utilisation="):
            ReplicaPool(utilisation=utilisation)
