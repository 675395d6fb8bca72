"""Rules that give rows to tasks: what they cost for a row, and how near they come to the best.

Rows are of 220 kinds, as many as a sketch of POSG's size tells apart, drawn by Zipf's law; a kind's
cost is drawn from a gamma distribution of shape 1/2. ``over_bound`` is the greatest load over one
that no assignment can stay below. ``placed`` is all that an upstream task does for a row: hash its
key, look it up, and choose.

    python benchmarks/assignment.py            # a table
    python benchmarks/assignment.py --json
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from measuring import show

from penstock.placement.assignment import RULES, lower_bound
from penstock.placement.cost_sketch import CostSketch
from penstock.placement.placer import KnownCost, Placer

KINDS = 220


def best_seconds(call: Callable[[], Any], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def measure(rows: int, tasks: int, rounds: int, seed: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    kinds = rng.gamma(0.5, 1.0, KINDS)
    keys = np.minimum(rng.zipf(1.3, rows), KINDS) - 1
    costs = kinds[keys]
    bound = lower_bound(costs, tasks)
    results = []
    for name, rule in RULES.items():
        loads = np.zeros(tasks)
        rule(costs, loads)
        seconds = best_seconds(lambda rule=rule: rule(costs, np.zeros(tasks)), rounds)
        results.append(_row(rows, tasks, name, seconds, float(loads.max()) / bound))
    sketch = CostSketch(epsilon=0.005)
    sketch.update(keys.astype(np.uint64), costs)
    placer = Placer(tasks, 1, (KnownCost((0,), sketch),))
    column = (pa.array(keys),)
    chosen = placer.begin(0).place(column)
    over = float(np.bincount(chosen, costs, tasks).max()) / bound
    seconds = best_seconds(lambda: placer.begin(0).place(column), rounds)
    results.append(_row(rows, tasks, "placed", seconds, over))
    return results


def _row(rows: int, tasks: int, rule: str, seconds: float, over: float) -> dict[str, Any]:
    micros = seconds / rows * 1e6
    return {"rows": rows, "tasks": tasks, "rule": rule, "us_a_row": micros, "over_bound": over}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--tasks", type=int, nargs="+", default=[8, 64])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    results = []
    for rows in options.rows:
        for tasks in options.tasks:
            results += measure(rows, tasks, options.rounds, options.seed)
    show(results, "assignment", options.json)


if __name__ == "__main__":
    main()
