"""Automatic fusion: operators that can be partitioned alike are put into one component.

Enorm's Algorithm 1 (section 4.4.1): greedily, the two neighbours with the largest score first, as
long as some attribute is left on which all operators of a component may be partitioned.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from heapq import heapify, heappop, heappush
from math import fsum
from typing import Protocol

Edge = tuple[str, str]
Members = frozenset[str]


class Job(Protocol):
    """What fusion has to know of a job."""

    @property
    def operators(self) -> tuple[str, ...]:
        """The operators, each after those that it reads from."""

    @property
    def rates(self) -> Mapping[Edge, float]:
        """The rows that go from an operator to one that reads it, per second or batch."""

    def attributes(self, members: Members) -> frozenset[Hashable]:
        """Return the attributes on which all of some operators may be partitioned: PA(C).

        With more operators there are never more of them.
        """

    def may_fuse(self, upstream: Members, downstream: Members) -> bool:
        """Whether two components may become one, attributes aside.

        It is asked again when one of them has grown.
        """


@dataclass(frozen=True)
class PlainJob:
    """A job as the paper has it: every operator with its own set of attributes."""

    partition_attributes: Mapping[str, frozenset[Hashable]]
    rates: Mapping[Edge, float]

    @property
    def operators(self) -> tuple[str, ...]:
        """The operators, in the order in which they were given."""
        return tuple(self.partition_attributes)

    def attributes(self, members: Members) -> frozenset[Hashable]:
        """Return what the attributes of some operators have in common."""
        return frozenset.intersection(*[self.partition_attributes[name] for name in members])

    def may_fuse(self, upstream: Members, downstream: Members) -> bool:
        """Nothing but attributes keeps operators apart."""
        return True


Score = Callable[[Job, Edge, Members, Members], float]
"""What it is worth to fuse two components along an edge; at 0 they stay apart.

It never grows as they grow, so that an edge is scored again only when it seems to be the best one.
"""


def by_rate(job: Job, edge: Edge, upstream: Members, downstream: Members) -> float:
    """Score = COMM: the rows that need not travel when these two are one."""
    return job.rates[edge]


def by_attributes(job: Job, edge: Edge, upstream: Members, downstream: Members) -> float:
    """Score = PA: the attributes that are left, so that more may be fused afterwards."""
    return len(job.attributes(upstream | downstream))


def fuse(job: Job, score: Score = by_rate) -> tuple[Members, ...]:
    """Return the components of a job, in the order of their first operators (Algorithm 1).

    Of edges with the same score, the first in ``job.rates`` is fused first.

    >>> sets = {"map": frozenset({"user", "area"}), "sum": frozenset({"area"}), "all": frozenset()}
    >>> job = PlainJob(sets, {("map", "sum"): 9.0, ("sum", "all"): 1.0})
    >>> [sorted(members) for members in fuse(job)]
    [['map', 'sum'], ['all']]
    """
    asked = _Remembering(job)
    edges = tuple(job.rates)
    home: dict[str, Members] = {name: frozenset({name}) for name in job.operators}
    # The lowest is the best: its score negated, then its place in the order. Scores of edges whose
    # components have grown since are too high at most, which is seen when their turn comes.
    candidates = [
        (-score(asked, (i, j), home[i], home[j]), place) for place, (i, j) in enumerate(edges)
    ]
    heapify(candidates)
    apart: set[tuple[Members, Members]] = set()
    refused: dict[Members, set[tuple[float, int]]] = {}
    while candidates and candidates[0][0] < 0:
        worth, place = candidate = heappop(candidates)
        i, j = edges[place]
        upstream, downstream = pair = home[i], home[j]
        if upstream is downstream or pair in apart:
            continue
        worth_now = -score(asked, edges[place], upstream, downstream)
        if worth_now > worth:
            heappush(candidates, (worth_now, place))
        elif not asked.attributes(both := upstream | downstream):
            apart.add(pair)
        elif not job.may_fuse(upstream, downstream):
            for members in pair:
                refused.setdefault(members, set()).add(candidate)
        else:
            home.update(dict.fromkeys(both, both))
            for again in refused.pop(upstream, set()) | refused.pop(downstream, set()):
                heappush(candidates, again)
    return tuple(dict.fromkeys(home.values()))


def communication(job: Job, components: Iterable[Members]) -> float:
    """Return the share of all rows that go from one component to another, from 0 to 1.

    >>> sets = {name: frozenset({"area"}) for name in "abc"}
    >>> job = PlainJob(sets, {("a", "b"): 3.0, ("b", "c"): 1.0})
    >>> communication(job, [frozenset("ab"), frozenset("c")])
    0.25
    """
    home = {name: number for number, members in enumerate(components) for name in members}
    rows = fsum(job.rates.values())
    moved = fsum(rate for (i, j), rate in job.rates.items() if home[i] != home[j])
    return moved / rows if rows else 0.0


class _Remembering:
    """A job that is asked only once for the attributes of the same operators."""

    def __init__(self, job: Job) -> None:
        self.operators = job.operators
        self.rates = job.rates
        self.may_fuse = job.may_fuse
        self.attributes = cache(job.attributes)
