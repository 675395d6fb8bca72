"""How fast topologies are simulated: from four operators to thousands, on ten thousand slots.

``tweets`` are the four operators of PSPS with one load and several policies, in micro-batches and
with replicas. ``large`` is a drawn topology: every operator reads one or two of the forty before
it. Times are of the processor, so that whoever else uses the machine counts little.

    python benchmarks/simulated_topologies.py             # a table, about three minutes
    python benchmarks/simulated_topologies.py --operators 500 --slots 1000 --batches 200 --json
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Sequence
from math import sin
from typing import Any

import numpy as np
from measuring import show

from penstock.elasticity.policy_names import policy_named
from penstock.simulation.batch_costs import BatchCosts
from penstock.simulation.laws import Constant
from penstock.simulation.load import Load
from penstock.simulation.micro_batch import MicroBatch
from penstock.simulation.published.psps import PublishedPsps
from penstock.simulation.replicas.engine import ReplicaEngine
from penstock.simulation.replicas.simulator import simulate as simulate_replicas
from penstock.simulation.run import SimulatedRun
from penstock.simulation.topology import SimulatedOperator, SimulatedSource, SimulatedTopology
from penstock.simulation.topology_file import read_topology
from penstock.sources.trace import trace_of_counts

POLICIES = ("static", "replica-pool", "auto-scale-plus")
ROW_SECONDS = 0.001


def drawn_topology(operators: int, seed: int = 0) -> SimulatedTopology:
    """Draw a topology in which an operator reads one or two of the forty before it."""
    rng = np.random.default_rng(seed)
    names, made = ["source"], []
    for number in range(operators):
        near = names[-40:]
        parents = rng.choice(near, size=min(len(near), int(rng.integers(1, 3))), replace=False)
        inputs = dict.fromkeys(parents.tolist(), 1.0)
        # Halved at every join, or rows would double along the way.
        made.append(
            SimulatedOperator(f"op{number}", inputs, Constant(ROW_SECONDS), 1 / len(inputs))
        )
        names.append(f"op{number}")
    return SimulatedTopology("large", (SimulatedSource("source"),), tuple(made))


def waves(topology: SimulatedTopology, slots: int, seconds: int) -> Load:
    """Make a load that needs a quarter to three quarters of the slots."""
    middle = slots / 2 / topology.seconds_per_row()
    return Load(trace_of_counts([middle * (1 + sin(second / 50) / 2) for second in range(seconds)]))


def measured(
    case: str, mechanism: str, policy: str, call: Callable[[], SimulatedRun], operators: int
) -> dict[str, Any]:
    began = time.process_time()
    run = call()
    seconds = time.process_time() - began
    steps = len(run.batches) or len(run.timeline.slots)
    return {
        "case": case,
        "mechanism": mechanism,
        "policy": policy,
        "operators": operators,
        "steps": steps,
        "cpu_seconds": round(seconds, 2),
        "steps_a_second": round(steps / seconds, 1),
        "rows_a_second": round(run.rows / seconds),
        "saved": round(run.saved(float(np.max(run.timeline.slots))), 3),
        "peak_memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def in_micro_batches(
    case: str, topology: SimulatedTopology, load: Load, spark: MicroBatch
) -> list[dict[str, Any]]:
    most = spark.most_slots
    return [
        measured(
            case,
            "micro-batch",
            name,
            lambda name=name: spark.run(topology, load, policy_named(name, 1, most)),
            len(topology.operators),
        )
        for name in POLICIES
    ]


def of_tweets(seconds: int, slots: int) -> list[dict[str, Any]]:
    topology = read_topology("tweets")
    spark = MicroBatch(most_slots=slots, executor_seconds=5.0)
    return in_micro_batches("tweets", topology, waves(topology, slots, seconds), spark)


def of_tweets_in_a_pool(seconds: int, slots: int) -> list[dict[str, Any]]:
    topology = read_topology("tweets")
    load = waves(topology, slots, seconds)
    pool = ReplicaEngine(interval_seconds=10.0, most_replicas=slots)
    short = Load(trace_of_counts(load.trace.counts[:5]))
    simulate_replicas(topology, short, PublishedPsps.knowing(topology), pool)  # compiles

    def run() -> SimulatedRun:
        return simulate_replicas(topology, load, PublishedPsps.knowing(topology), pool)

    return [measured("tweets", "pool", "psps", run, len(topology.operators))]


def of_large(operators: int, slots: int, batches: int) -> list[dict[str, Any]]:
    topology = drawn_topology(operators)
    load = waves(topology, slots, batches)
    # So many stages, one after the other, would take longer than a trigger of a second.
    costs = BatchCosts(task_seconds=0.0001)
    spark = MicroBatch(most_slots=slots, executor_seconds=5.0, costs=costs, trigger_seconds=None)
    return in_micro_batches("large", topology, load, spark)


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--operators", type=int, default=2_000)
    parser.add_argument("--slots", type=int, default=10_000)
    parser.add_argument("--batches", type=int, default=1_000, help="seconds of the load of large")
    parser.add_argument("--seconds", type=int, default=1_200, help="of the load of tweets")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    options = parsed(arguments)
    rows = of_tweets(options.seconds, 32)
    rows += of_large(options.operators, options.slots, options.batches)
    # Last, as it holds every row, and a process's peak memory never goes down.
    rows += of_tweets_in_a_pool(options.seconds, 32)
    show(rows, "simulated topologies", options.json)


if __name__ == "__main__":
    main()
