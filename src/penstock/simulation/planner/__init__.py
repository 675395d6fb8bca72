"""A capacity planner: the cheapest policy, bounds and trigger for a trace and a target latency."""

from penstock.simulation.planner.plan import CapacityPlan, Tried, as_dict
from penstock.simulation.planner.search import plan_capacity

__all__ = ["CapacityPlan", "Tried", "as_dict", "plan_capacity"]
