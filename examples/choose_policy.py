"""Which policy fits your load? Simulate them on your own trace, before anything is switched on.

    python examples/choose_policy.py                  # a made-up day: quiet, a rush, quiet
    python examples/choose_policy.py rates.csv        # your own: a count of rows on each line

The topology is what this script knows of the job: which operators there are, and what a row costs
each of them. Yours are in the journal of a run: busy seconds over rows.
"""

from __future__ import annotations

import sys

import penstock as ps
from penstock.simulation.batch_costs import BatchCosts
from penstock.simulation.laws import Constant, LogNormal
from penstock.simulation.micro_batch import MicroBatch
from penstock.simulation.topology import SimulatedOperator, SimulatedSource, SimulatedTopology

MOST_SLOTS = 16

ORDERS = SimulatedTopology(
    "orders",
    sources=(SimulatedSource("orders"),),
    operators=(
        SimulatedOperator("parse", {"orders": 1.0}, Constant(0.0005), selectivity=0.9),
        SimulatedOperator("look_up", {"parse": 1.0}, LogNormal(mean=0.006, variation=1.0)),
        SimulatedOperator("score", {"look_up": 0.4}, Constant(0.004)),
    ),
)

# What a micro-batch costs besides its rows, and how long an executor takes to come.
CLUSTER = MicroBatch(
    trigger_seconds=2.0,
    most_slots=MOST_SLOTS,
    executor_seconds=20.0,
    costs=BatchCosts(fixed_seconds=0.3, imbalance=1.2),
)

POLICIES = [
    f"static:{MOST_SLOTS}",
    f"static:{MOST_SLOTS // 2}",
    "incremental",
    "replica-pool:utilisation=0.8",
    "auto-scale-plus:horizon=40s",
]


def main() -> None:
    trace = sys.argv[1] if len(sys.argv) > 1 else "progressive:low=100,high=1200,seconds=1800"
    found = ps.simulate(trace, ORDERS, POLICIES, cluster=CLUSTER)
    print(f"{found.load.rows:,} rows in {found.load.duration_seconds:,.0f} s")
    for each in found.outcomes:
        it = each.measures
        print(
            f"{each.label:30} {it.slot_hours:6.2f} slot-hours, {it.saved:4.0%} saved, "
            f"99 % of rows within {it.p99_latency_seconds:5.1f} s"
        )
    print(found.advice)


if __name__ == "__main__":
    main()
