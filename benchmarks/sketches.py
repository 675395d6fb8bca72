"""How fast a cost sketch learns and estimates, beside an exact dict and NumPy's ``add.at``.

No Spark. Updates add a row and its cost for each key; look-ups ask what a row of each key costs.
Keys are Zipf-distributed integers that are hashed already, and strings that are hashed on the way.
All ways take turns, and the time is the median.

    python benchmarks/sketches.py
    python benchmarks/sketches.py --json
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from measuring import show
from numpy.typing import NDArray

from penstock.placement.cost_sketch import CostSketch
from penstock.placement.hashing import key_hashes

Keys = NDArray[np.uint64]
Costs = NDArray[np.float64]
Ways = dict[str, Callable[[], object]]

SMALL, BULK, DISTINCT = 1_000, 1_000_000, 10_000


def zipf_keys(rows: int) -> Keys:
    dice = np.random.default_rng(0)
    weights = 1 / np.arange(1, DISTINCT + 1)
    names = dice.integers(0, 2**63, DISTINCT, dtype=np.uint64)
    return names[dice.choice(DISTINCT, rows, p=weights / weights.sum())]


def dict_of(keys: list[Any], costs: list[float]) -> dict[Any, tuple[int, float]]:
    """Count rows and costs of every key exactly."""
    seen: dict[Any, tuple[int, float]] = {}
    for key, cost in zip(keys, costs, strict=True):
        rows, total = seen.get(key, (0, 0.0))
        seen[key] = (rows + 1, total + cost)
    return seen


def from_dict(seen: dict[Any, tuple[int, float]], keys: list[Any]) -> list[float]:
    return [seen[key][1] / seen[key][0] for key in keys]


def add_at(sketch: CostSketch, keys: Keys, costs: Costs) -> None:
    """Update the same sketch with the same cells, the way NumPy's manual would."""
    for row, cells in enumerate(sketch.cells(keys)):
        np.add.at(sketch.counts[row], cells, 1.0)
        np.add.at(sketch.costs[row], cells, costs)


def integers(rows: int) -> dict[str, Ways]:
    keys, costs = zipf_keys(rows), np.random.default_rng(1).random(rows)
    # A dict takes Python's numbers; making them of the array is not what is measured.
    plain_keys, plain_costs = keys.tolist(), costs.tolist()
    sketch, other = CostSketch(), CostSketch()
    sketch.update(keys, costs)
    seen = dict_of(plain_keys, plain_costs)
    return {
        "update": {
            "penstock: CostSketch": lambda: sketch.update(keys, costs),
            "dict": lambda: dict_of(plain_keys, plain_costs),
            "np.add.at": lambda: add_at(other, keys, costs),
        },
        "look up": {
            "penstock: CostSketch": lambda: sketch.estimate(keys),
            "dict": lambda: from_dict(seen, plain_keys),
        },
    }


def strings(rows: int, *, distinct: bool) -> dict[str, Ways]:
    numbers = range(rows) if distinct else zipf_keys(rows).tolist()
    column = pa.array([f"user{number}" for number in numbers])
    costs = np.random.default_rng(1).random(rows)
    plain_costs = costs.tolist()
    sketch = CostSketch()
    sketch.update(key_hashes(column), costs)
    seen = dict_of(column.to_pylist(), plain_costs)
    return {
        "update": {
            "penstock: hashes and CostSketch": lambda: sketch.update(key_hashes(column), costs),
            "dict": lambda: dict_of(column.to_pylist(), plain_costs),
        },
        "look up": {
            "penstock: hashes and CostSketch": lambda: sketch.estimate(key_hashes(column)),
            "dict": lambda: from_dict(seen, column.to_pylist()),
        },
    }


def million_keys_a_second(ways: Ways, rounds: int, rows: int) -> dict[str, float]:
    times: dict[str, list[float]] = {way: [] for way in ways}
    for way in ways.values():
        way()  # compiles what has to be compiled
    for _ in range(rounds):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            times[name].append(time.perf_counter() - start)
    return {name: rows / statistics.median(took) / 1e6 for name, took in times.items()}


def table(what: str, keys: str, rows: int, measured: dict[str, float]) -> list[dict[str, Any]]:
    best = max(speed for way, speed in measured.items() if not way.startswith("penstock"))
    return [
        {
            "what": what,
            "keys": keys,
            "rows": rows,
            "way": way,
            "million_keys_a_second": speed,
            "to_the_best_other": speed / best,
        }
        for way, speed in measured.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--rounds", type=int, default=11)
    options = parser.parse_args()
    results: list[dict[str, Any]] = []
    for rows in (SMALL, BULK):
        rounds = options.rounds * (20 if rows == SMALL else 1)
        kinds = {
            "integers": integers(rows),
            f"strings, {DISTINCT} distinct": strings(rows, distinct=False),
            "strings, all distinct": strings(rows, distinct=True),
        }
        for keys, of_kind in kinds.items():
            for what, ways in of_kind.items():
                results += table(what, keys, rows, million_keys_a_second(ways, rounds, rows))
    show(results, "sketches", options.json)


if __name__ == "__main__":
    main()
