"""What rows, tasks and batches cost, and how many slots that takes."""

from penstock.elasticity.capacity.capacity import Capacity
from penstock.elasticity.capacity.demand import Demand
from penstock.elasticity.capacity.fixed_cost import FixedCost
from penstock.elasticity.capacity.parallelism import (
    capacity,
    ideal_capacity,
    ideal_parallelism,
    least_parallelism,
    parallelism,
    replica_utilisation,
    replicas,
    reserved_capacity,
    saved_resources,
    working_interval,
)
from penstock.elasticity.capacity.row_cost import RowCost
from penstock.elasticity.capacity.usable_cpu import ThreadCpu, operator_usable_cpu, usable_cpu

__all__ = [
    "Capacity",
    "Demand",
    "FixedCost",
    "RowCost",
    "ThreadCpu",
    "capacity",
    "ideal_capacity",
    "ideal_parallelism",
    "least_parallelism",
    "operator_usable_cpu",
    "parallelism",
    "replica_utilisation",
    "replicas",
    "reserved_capacity",
    "saved_resources",
    "usable_cpu",
    "working_interval",
]
