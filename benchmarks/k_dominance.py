"""The top-delta dominant points of a skyline: ours, the plain loop, and two scans for each k.

No Spark. The points are the skyline of as many drawn points as --drawn says, about what a window of
Elastic-PPQ holds. The plain loop counts for every pair in how many columns one is as good; two
scans (*Finding k-dominant skylines in high dimensional space*, SIGMOD 2006) find the k-dominant
points for k = 1, 2, ... until there are enough. All are compiled, give the same points and take
turns; the time is the median of the time on a core.

    python benchmarks/k_dominance.py
    python benchmarks/k_dominance.py --json --delta 1 100
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from measuring import show
from numpy.typing import NDArray
from skyline_data import KINDS

from penstock.compiling import compiled
from penstock.preference.k_dominant import top_dominant
from penstock.preference.skyline import skyline

Numbers = NDArray[np.float64]
Found = tuple[NDArray[np.int64], int]


@compiled
def _most(numbers: Numbers) -> NDArray[np.int64]:
    rows, columns = numbers.shape
    most = np.zeros(rows, np.int64)
    for row in range(rows):
        for other in range(rows):
            as_good, better = 0, False
            for column in range(columns):
                if numbers[other, column] <= numbers[row, column]:
                    as_good += 1
                    better |= numbers[other, column] < numbers[row, column]
            if better and as_good > most[row]:
                most[row] = as_good
    return most


def plain(numbers: Numbers, delta: int) -> Found:
    most, columns = _most(numbers), numbers.shape[1]
    for k in range(1, columns):
        if np.count_nonzero(most < k) >= delta:
            return np.flatnonzero(most < k), k
    return np.flatnonzero(most < columns), columns


@compiled
def _k_dominates(one: Numbers, other: Numbers, k: int) -> bool:
    as_good, better = 0, False
    for column in range(len(one)):
        if one[column] <= other[column]:
            as_good += 1
            better |= one[column] < other[column]
    return better and as_good >= k


@compiled
def _two_scans(numbers: Numbers, k: int) -> NDArray[np.int64]:
    """Find the k-dominant points: candidates in one scan, those of them that hold in another."""
    rows = len(numbers)
    candidates, size = np.empty(rows, np.int64), 0
    for row in range(rows):
        is_dominated, stay = False, 0
        for rank in range(size):
            other = candidates[rank]
            is_dominated |= _k_dominates(numbers[other], numbers[row], k)
            if not _k_dominates(numbers[row], numbers[other], k):
                candidates[stay] = other
                stay += 1
        size = stay
        if not is_dominated:
            candidates[size] = row
            size += 1
    stay = 0
    for rank in range(size):
        is_dominated = False
        for other in range(rows):
            if _k_dominates(numbers[other], numbers[candidates[rank]], k):
                is_dominated = True
                break
        if not is_dominated:
            candidates[stay] = candidates[rank]
            stay += 1
    return candidates[:stay]


def two_scans(numbers: Numbers, delta: int) -> Found:
    columns = numbers.shape[1]
    strong_first = np.argsort(numbers.sum(axis=1))
    ordered = numbers[strong_first]
    for k in range(1, columns):
        found = _two_scans(ordered, k)
        if len(found) >= delta:
            return np.sort(strong_first[found]), k
    return np.arange(len(numbers)), columns  # they are a skyline


def ours(numbers: Numbers, delta: int) -> Found:
    return top_dominant(numbers, delta, is_skyline=True)


WAYS: dict[str, Callable[[Numbers, int], Found]] = {
    "ours": ours,
    "plain loop": plain,
    "two scans": two_scans,
}


def measured(numbers: Numbers, delta: int, rounds: int) -> dict[str, Any]:
    took: dict[str, list[float]] = {way: [] for way in WAYS}
    answers: dict[str, tuple[list[int], int]] = {}
    for turn in range(rounds + 1):
        for way, find in WAYS.items():
            start = time.thread_time()
            positions, k = find(numbers, delta)
            if turn:  # the first compiles
                took[way].append(1_000 * (time.thread_time() - start))
            answers[way] = positions.tolist(), k
    if any(answer != answers["ours"] for answer in answers.values()):
        raise AssertionError(f"{ {way: (len(best), k) for way, (best, k) in answers.items()} }")
    medians = {way: statistics.median(times) for way, times in took.items()}
    best, k = answers["ours"]
    return {
        "k": k,
        "found": len(best),
        "ours_ms": medians["ours"],
        "times_faster_than_plain_loop": medians["plain loop"] / medians["ours"],
        "times_faster_than_two_scans": medians["two scans"] / medians["ours"],
    }


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--drawn", type=int, nargs="+", default=[6_000, 30_000])
    parser.add_argument("--columns", type=int, nargs="+", default=[4, 8, 12])
    parser.add_argument("--delta", type=int, nargs="+", default=[1, 100, 1_000])
    parser.add_argument("--data", nargs="+", choices=KINDS, default=["uniform", "anti-correlated"])
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args(arguments)


def main() -> None:
    options = parsed()
    found = []
    for data in options.data:
        for columns in options.columns:
            for drawn in options.drawn:
                all_points = KINDS[data](drawn, columns)
                numbers = all_points[skyline(all_points)]
                for delta in options.delta:
                    case = {"data": data, "columns": columns, "points": len(numbers)}
                    result = measured(numbers, delta, options.rounds)
                    found.append({**case, "delta": delta, **result})
    show(found, "top-delta dominant points of a skyline", options.json)


if __name__ == "__main__":
    main()
