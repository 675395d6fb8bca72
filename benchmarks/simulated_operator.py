"""The operator simulator: tuples a second, beside the plain Python reference of the same rules.

The stream is POSG's: 4,096 keys by Zipf's law, execution times of 1 to 64 ms, five instances that
can just manage. POSG is the paper's text, and as it gives the paper's numbers (a correction every
1,024 tuples). The reference plays a shorter stream of the same kind, on which both must agree.
Times are of the processor, so that other work does not count; ``wall`` is by the clock.

    python benchmarks/simulated_operator.py            # a table
    python benchmarks/simulated_operator.py --json
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from measuring import peak_memory_mb, show

from penstock.simulation.operator.groupings import FullKnowledge, Grouping, Posg, RoundRobin
from penstock.simulation.operator.simulating import simulate
from penstock.simulation.operator.tuples import Tuples, evenly_spaced
from penstock.sources.keys import ZipfKeys

sys.path.append(str(Path(__file__).parent.parent / "tests" / "simulation"))
from operator_reference import simulated  # type: ignore[import-not-found]

INSTANCES, KEYS = 5, 4_096
GROUPINGS: dict[str, Grouping] = {
    "round robin": RoundRobin(),
    "full knowledge": FullKnowledge(),
    "POSG as written": Posg(),
    "POSG": Posg(mu=inf, idle_counts=True, resync_tuples=1_024),
}


def stream(count: int, seed: int) -> Tuples:
    rng = np.random.default_rng(seed)
    keys = ZipfKeys(KEYS).draw(rng.random(count))
    return evenly_spaced(keys, (rng.integers(1, 65, KEYS) / 1e3)[keys], INSTANCES)


def seconds_of(call: Callable[[], Any], rounds: int) -> tuple[float, float]:
    """Return the least seconds of the processor, and by the clock."""
    of_processor, of_clock = [], []
    for _ in range(rounds):
        begun, clock = time.process_time(), time.perf_counter()
        call()
        of_processor.append(time.process_time() - begun)
        of_clock.append(time.perf_counter() - clock)
    return min(of_processor), min(of_clock)


def measure(count: int, plain: int, rounds: int, seed: int) -> list[dict[str, Any]]:
    tuples, few = stream(count, seed), stream(plain, seed)
    results = []
    for name, grouping in GROUPINGS.items():
        simulate(few, INSTANCES, grouping)  # compiled, or loaded
        fast, wall = seconds_of(lambda how=grouping: simulate(tuples, INSTANCES, how), rounds)
        slow, _ = seconds_of(lambda how=grouping: simulated(few, INSTANCES, how, 0.0), 1)
        same = simulated(few, INSTANCES, grouping, 0.0).instances
        results.append(
            {
                "grouping": name,
                "tuples": count,
                "million_a_second": count / fast / 1e6,
                "million_a_second_wall": count / wall / 1e6,
                "reference_million": plain / slow / 1e6,
                "times_faster": (count / fast) / (plain / slow),
                "same_as_reference": simulate(few, INSTANCES, grouping).instances.tolist() == same,
                "peak_mb": peak_memory_mb(_alone(name, count), every_seconds=0.02),
            }
        )
    return results


def _alone(name: str, count: int) -> list[str]:
    return [sys.executable, __file__, "--only", name, "--tuples", str(count)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--tuples", type=int, default=2_000_000)
    parser.add_argument("--plain", type=int, default=50_000, help="tuples for the reference")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=list(GROUPINGS), help="play one grouping, print nothing")
    options = parser.parse_args()
    if options.only:
        simulate(stream(options.tuples, options.seed), INSTANCES, GROUPINGS[options.only])
        return
    results = measure(options.tuples, options.plain, options.rounds, options.seed)
    show(results, "simulated operator", options.json)


if __name__ == "__main__":
    main()
