"""Orders and places for the things of a drawing in layers, as in Sugiyama's method."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations, pairwise
from typing import TypeVar

T = TypeVar("T", bound=Hashable)
Ends = Mapping[T, list[tuple[T, float]]]
SWEEPS = 6
MOST_COMPARED = 300


def ordered(layers: Sequence[Sequence[T]], links: Mapping[tuple[T, T], float]) -> list[list[T]]:
    """Order the things of each layer by barycentres, so that few links cross.

    Links go from a layer to the next (others are left aside), each from a height within what it
    leaves: 0 at the top, below 1 at the bottom.

    >>> ordered([["a", "b"], ["x", "y"]], {("a", "y"): 0.0, ("b", "x"): 0.0})
    [['a', 'b'], ['y', 'x']]
    >>> ordered([["a"], ["x", "y"]], {("a", "y"): 0.2, ("a", "x"): 0.8})
    [['a'], ['y', 'x']]
    """
    after: dict[T, list[tuple[T, float]]] = {each: [] for layer in layers for each in layer}
    before: dict[T, list[tuple[T, float]]] = {each: [] for layer in layers for each in layer}
    for (one, other), height in links.items():
        after[one].append((other, height))
        before[other].append((one, height))
    now = [list(layer) for layer in layers]
    best, fewest = now, _crossings(now, after)
    for sweep in range(SWEEPS):
        now = [list(layer) for layer in now]
        if sweep % 2:
            for number in range(len(now) - 2, -1, -1):
                flat = {each: [(e, 0.0) for e, _ in after[each]] for each in now[number]}
                now[number] = _by_barycentre(now[number], now[number + 1], flat)
        else:
            for number in range(1, len(now)):
                now[number] = _by_barycentre(now[number], now[number - 1], before)
        found = _crossings(now, after)
        if found < fewest:
            best, fewest = now, found
    return best


def settled(wanted: Sequence[float], sizes: Sequence[float], gap: float) -> list[float]:
    """Return where things start that lie one after the other, each as near as may be to a place.

    Near is by least squares: things in each other's way are moved together.

    >>> settled([0.0, 0.0, 50.0], [10.0, 10.0, 10.0], gap=10.0)
    [-10.0, 10.0, 50.0]
    """
    offsets, end = [], 0.0
    for size in sizes:
        offsets.append(end)
        end += size + gap
    runs: list[tuple[float, int]] = []  # the sum of what a run wants, and how many it has
    for place, offset in zip(wanted, offsets, strict=True):
        total, count = place - offset, 1
        while runs and runs[-1][0] / runs[-1][1] > total / count:
            before, more = runs.pop()
            total, count = total + before, count + more
        runs.append((total, count))
    starts = [total / count for total, count in runs for _ in range(count)]
    return [start + offset for start, offset in zip(starts, offsets, strict=True)]


def _by_barycentre(layer: list[T], beside: list[T], near: Ends[T]) -> list[T]:
    at = {each: number for number, each in enumerate(beside)}
    own = {each: float(number) for number, each in enumerate(layer)}

    def middle(each: T) -> float:
        places = [at[other] + height for other, height in near[each] if other in at]
        return sum(places) / len(places) if places else own[each]

    return sorted(layer, key=middle)


def _crossings(layers: list[list[T]], after: Ends[T]) -> int:
    """Count the links that cross; so many that it would take long count as none."""
    found = 0
    for layer, following in pairwise(layers):
        at = {each: number for number, each in enumerate(following)}
        ends = [
            (number + height, at[other])
            for number, each in enumerate(layer)
            for other, height in after[each]
            if other in at
        ]
        if len(ends) <= MOST_COMPARED:
            found += sum((a - c) * (b - d) < 0 for (a, b), (c, d) in combinations(ends, 2))
    return found
