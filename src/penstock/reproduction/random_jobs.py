"""Enorm's random jobs: the "Large Job" of its section 7, on which fusion is tried."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from penstock.topology.fusion import Edge, PlainJob

ATTRIBUTES = 30
ROWS = 1_000.0
"""What each operator has to send (X). Shares of all rows don't depend on it."""

LARGEST_CHANGE = 5
"""By how much subsets of two operators in a row differ in size; the paper only says: random."""


def random_job(
    operators: int, random: np.random.Generator, largest_change: int = LARGEST_CHANGE
) -> PlainJob:
    """Draw a job of so many operators, at least four, in levels that each read the one before.

    >>> job = random_job(50, np.random.default_rng(1))
    >>> len(job.operators), job.operators[0]
    (50, 'operator 1')
    """
    names = [f"operator {number}" for number in range(1, operators + 1)]
    subsets = zip(names, _subsets(operators, largest_change, random), strict=True)
    levels = int(random.integers(3, int(0.75 * operators), endpoint=True))
    rates: dict[Edge, float] = {}
    for level, following in pairwise(np.array_split(np.arange(operators), levels)):
        readers = [names[place] for place in following]
        for place in level:
            sent = zip(readers, _sent(len(readers), random), strict=True)
            rates |= {(names[place], reader): rows for reader, rows in sent}
    return PlainJob(dict(subsets), rates)


def _subsets(
    operators: int, largest_change: int, random: np.random.Generator
) -> Iterator[frozenset[int]]:
    """Yield a subset for each operator: its size drifts from half of all, which ones are random."""
    size = ATTRIBUTES // 2
    for _ in range(operators):
        yield frozenset(random.permutation(ATTRIBUTES)[:size].tolist())
        change = int(random.integers(-largest_change, largest_change, endpoint=True))
        size = min(max(size + change, 1), ATTRIBUTES)


def _sent(readers: int, random: np.random.Generator) -> Iterator[float]:
    """Yield the rows for each reader: a random share of a random share of what is left."""
    left = ROWS
    for share, of_share in random.random((readers, 2)).tolist():
        rows = left * share * of_share
        yield rows
        left -= rows
