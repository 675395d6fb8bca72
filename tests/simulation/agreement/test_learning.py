from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.elasticity.replica_pool import ReplicaPool
from penstock.errors import ConfigurationError
from penstock.simulation.agreement.learning import learn
from simulation.agreement.recorded_runs import (
    COSTS,
    PARSE_SECONDS,
    SCORE_SECONDS,
    SELECTIVITY,
    recorded,
)


def test_costs_without_noise_are_found_exactly() -> None:
    learnt = learn("known", recorded())

    operators = {each.name: each for each in learnt.topology.operators}
    assert operators["parse"].law.mean_seconds() == pytest.approx(PARSE_SECONDS)
    assert operators["score"].law.mean_seconds() == pytest.approx(SCORE_SECONDS)
    assert operators["parse"].selectivity == pytest.approx(SELECTIVITY, rel=1e-3)
    assert operators["score"].inputs == {"parse": 1.0}
    assert learnt.costs.fixed_seconds == pytest.approx(COSTS.fixed_seconds, rel=0.01)
    assert learnt.costs.imbalance == pytest.approx(COSTS.imbalance, rel=0.01)


def test_wild_batches_change_little() -> None:
    learnt = learn("known", recorded(seconds=100, noise=0.05, wild=10))

    assert learnt.topology.seconds_per_row() == pytest.approx(
        PARSE_SECONDS + SELECTIVITY * SCORE_SECONDS, rel=0.05
    )
    assert learnt.costs.fixed_seconds == pytest.approx(COSTS.fixed_seconds, rel=0.2)
    assert learnt.costs.imbalance == pytest.approx(COSTS.imbalance, rel=0.15)


def test_costs_are_found_while_slots_change() -> None:
    policy = ReplicaPool(interval="2 seconds", max_slots=8, start_slots=2)
    learnt = learn("known", recorded(policy=policy))

    assert learnt.costs.fixed_seconds == pytest.approx(COSTS.fixed_seconds, rel=0.05)


def test_batches_that_are_all_alike_show_their_imbalance_in_their_tasks() -> None:
    one = recorded()[10]
    learnt = learn("known", [one] * 20)

    assert learnt.costs.imbalance == pytest.approx(COSTS.imbalance)
    assert learnt.costs.fixed_seconds == pytest.approx(COSTS.fixed_seconds, rel=0.01)


def test_waiting_of_estimated_operators_for_shared_cores_is_no_cost_of_rows() -> None:
    busy = [
        replace(
            each,
            cores=2,
            operators=tuple(
                replace(op, busy_seconds=0.01 * op.rows_in, cpu_seconds=0.0, estimated=True)
                if op.name == "rows"
                else op
                for op in each.operators
            ),
        )
        for each in recorded()
    ]
    learnt = learn("known", busy)

    reading = next(each for each in learnt.topology.operators if each.name == "rows (read)")
    assert reading.law.mean_seconds() == 0.0


def test_a_query_that_does_not_tell_its_sources_is_refused() -> None:
    untold = [replace(each, sources=()) for each in recorded()]

    with pytest.raises(ConfigurationError, match=r"which source.*ps\.run"):
        learn("known", untold)
