"""An engine like Storm, tuple by tuple: every operator with its replicas and their queues."""

from penstock.simulation.replicas.engine import ReplicaEngine
from penstock.simulation.replicas.groupings import (
    ByChance,
    Grouping,
    InTurn,
    LeastLoaded,
    Posg,
    SharedQueue,
)
from penstock.simulation.replicas.mechanisms import Mechanism, Pool, Restart
from penstock.simulation.replicas.policy import FixedReplicas, PerOperator, ReplicaPolicy
from penstock.simulation.replicas.simulator import simulate

__all__ = [
    "ByChance",
    "FixedReplicas",
    "Grouping",
    "InTurn",
    "LeastLoaded",
    "Mechanism",
    "PerOperator",
    "Pool",
    "Posg",
    "ReplicaEngine",
    "ReplicaPolicy",
    "Restart",
    "SharedQueue",
    "simulate",
]
