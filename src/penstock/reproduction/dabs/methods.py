"""The four methods that DABS-Storm's paper compares, as it describes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from penstock.elasticity.decision import Decision
from penstock.elasticity.incremental import Incremental
from penstock.elasticity.observation import Observation
from penstock.elasticity.q_learning import QLearning
from penstock.elasticity.rails.guard_rails import GuardRails
from penstock.reproduction.dabs.setup import (
    BETA,
    MARGIN,
    MONITORING_SECONDS,
    WORKERS,
    Setup,
    Stream,
    TopologyName,
)
from penstock.simulation.published.autoscale_plus import PublishedAutoScalePlus
from penstock.simulation.published.settling import WhileSettled
from penstock.simulation.replicas import (
    FixedReplicas,
    PerOperator,
    ReplicaEngine,
    ReplicaPolicy,
    simulate,
)
from penstock.simulation.replicas.policy import project

Method = Literal["static", "incremental", "learning", "AutoScale+"]
METHODS: tuple[Method, ...] = ("static", "incremental", "learning", "AutoScale+")

# The paper's baselines have none of our guard rails: they do what they wish at once.
UNGUARDED = GuardRails(
    scale_out_cool_down=0,
    scale_in_cool_down=0,
    scale_in_after=1,
    scale_in_while_behind=True,
    turns=None,
    useless_hold=0,
)
TRAINING_REPLICAS = 30
"""Executors of every operator while rates are learnt: more than any rate takes."""


def method(
    name: Method, setup: Setup, topology: TopologyName, stream: Stream, seed: int
) -> ReplicaPolicy:
    """Return a method; one that learns has been trained with the very stream it will meet."""
    if name == "static":
        return FixedReplicas()
    if name == "incremental":
        step = partial(
            Incremental,
            interval=MONITORING_SECONDS,
            low=setup.low_cpu,
            high=setup.high_cpu,
            rails=UNGUARDED,
        )
        return WhileSettled(PerOperator(step, WORKERS), setup.settling_seconds)
    if name == "learning":
        return WhileSettled(_trained(setup, topology, stream, seed), setup.settling_seconds)
    return PublishedAutoScalePlus(
        iteration_seconds=MONITORING_SECONDS,
        beta=BETA,
        margin=MARGIN,
        settling_seconds=setup.settling_seconds,
        most=WORKERS,
    )


@dataclass(frozen=True, slots=True)
class Local:
    """Every operator has a policy of its own, which knows of no other."""

    policies: Mapping[str, PerOperator]

    def plan(self, seen: Observation) -> Mapping[str, int]:
        """Ask each about its operator."""
        return {
            each.name: self.policies[each.name].plan(replace(seen, operators=(each,)))[each.name]
            for each in seen.operators
        }


class _Observations:
    """Keeps what a recorder is told."""

    def __init__(self) -> None:
        self.seen: list[Observation] = []

    def batch(self, seen: Observation) -> None:
        """Keep it."""
        self.seen.append(seen)

    def decision(self, batch_id: int, decision: Decision, at_seconds: float) -> None:
        """Forget it."""


def _trained(setup: Setup, topology: TopologyName, stream: Stream, seed: int) -> Local:
    """Let the stream pass through executors enough, and learn what each rate takes of them."""
    enough = ReplicaEngine(interval_seconds=MONITORING_SECONDS, start_replicas=TRAINING_REPLICAS)
    what, told = setup.topology(topology), _Observations()
    simulate(what, setup.load(stream, seed), FixedReplicas(), enough, seed=seed, recorder=told)
    policies = {}
    for number, operator in enumerate(what.operators):
        policy = QLearning(interval=MONITORING_SECONDS, rails=UNGUARDED)
        policy.train([project(seen, seen.operators[number]) for seen in told.seen], seed=seed)
        policies[operator.name] = PerOperator(partial(_same, policy), WORKERS)
    return Local(policies)


def _same(policy: QLearning) -> QLearning:
    return policy
