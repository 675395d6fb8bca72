"""Dealing an operator's rows to its replicas, interval by interval."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Protocol

import numpy as np

from penstock.simulation.replicas import arrays, serving
from penstock.simulation.replicas.arrays import Floats, Identities, Integers
from penstock.simulation.replicas.groupings import (
    ByChance,
    Grouping,
    InTurn,
    LeastLoaded,
    Posg,
)

if TYPE_CHECKING:
    from penstock.simulation.replicas.roots import Roots
    from penstock.simulation.replicas.station import Served


@dataclass(frozen=True, slots=True)
class Batch:
    """The rows to serve in an interval; the first ``queued`` have waited in a shared queue."""

    arrival: Floats
    seconds: Floats
    root: Integers
    identity: Identities
    queued: int


class Dealer(Protocol):
    """Says which replica serves each row, and when."""

    def deal(
        self,
        batch: Batch,
        roots: Roots,
        free: Floats,
        waiting: Floats,
        until: float,
        served: Served,
    ) -> None:
        """Fill in ``served``, and when each replica will be free."""
        ...

    def changed(self, replicas: int) -> None:
        """Deal to so many replicas from now on."""
        ...

    def learn(self, processed: Integers) -> None:
        """Take note of how many rows each replica processed in the interval."""
        ...


class OwnQueues:
    """Every replica has its queue, and the queues don't matter for who gets a row."""

    def __init__(
        self,
        grouping: int,
        replicas: int,
        limit: int | None,
        full_rows: int = 0,
        remembers: bool = False,
    ) -> None:
        self._grouping, self._replicas = grouping, replicas
        self._limit, self._full, self._remembers = limit or 0, full_rows, remembers
        self._turn = 0
        self._processed = np.zeros(replicas, np.int64)

    def deal(
        self,
        batch: Batch,
        roots: Roots,
        free: Floats,
        waiting: Floats,
        until: float,
        served: Served,
    ) -> None:
        """Deal by chance, in turn or by utilisation."""
        if self._grouping == arrays.LEAST_LOADED:
            self._turn = 0
        # Where even all rows together could not fill the queue nobody needs to count them.
        limit = self._limit if len(waiting) + len(batch.arrival) > self._limit else 0
        self._turn = serving.serve(
            batch.arrival,
            batch.seconds,
            roots.born[batch.root],
            batch.identity,
            free,
            self._replicas,
            self._grouping,
            self._turn,
            self._processed,
            self._full,
            limit,
            waiting,
            roots.timeout_seconds,
            served.start,
            served.finish,
            served.replica,
            served.fate,
        )

    def changed(self, replicas: int) -> None:
        """Deal to so many replicas from now on; a replica that comes back has done nothing."""
        processed = np.zeros(replicas, np.int64)
        known = min(replicas, self._replicas)
        processed[:known] = self._processed[:known]
        self._processed, self._replicas = processed, replicas
        self._turn = self._turn if self._turn < replicas else 0

    def learn(self, processed: Integers) -> None:
        """Remember the rows of each replica, of which its utilisation is made (equation 5)."""
        if self._remembers:
            self._processed = processed[: self._replicas].copy()


class OneQueue:
    """All replicas take rows from one queue."""

    def __init__(self, replicas: int, limit: int | None) -> None:
        self._replicas, self._limit = replicas, limit or 0

    def deal(
        self,
        batch: Batch,
        roots: Roots,
        free: Floats,
        waiting: Floats,
        until: float,
        served: Served,
    ) -> None:
        """Let whoever is free first take the first row."""
        serving.serve_from_one_queue(
            batch.arrival,
            batch.seconds,
            roots.born[batch.root],
            batch.queued,
            until,
            free,
            self._replicas,
            self._limit,
            roots.timeout_seconds,
            served.start,
            served.finish,
            served.replica,
            served.fate,
        )

    def changed(self, replicas: int) -> None:
        """Let so many replicas take rows from now on."""
        self._replicas = replicas

    def learn(self, processed: Integers) -> None:
        """Know enough."""


def rows_that_fill(execution_seconds: float, interval_seconds: float) -> int:
    """Return how many rows make a replica's utilisation 1 or more (equation 5).

    >>> rows_that_fill(0.125, 1.0)
    8
    """
    step = Fraction(execution_seconds / interval_seconds)
    return ceil(1 / step) if step else 0


def dealer_for(
    grouping: Grouping,
    replicas: int,
    limit: int | None,
    mean_seconds: float,
    interval_seconds: float,
    network_seconds: float,
) -> Dealer:
    """Return what deals rows by a grouping."""
    if isinstance(grouping, ByChance):
        return OwnQueues(arrays.BY_CHANCE, replicas, limit)
    if isinstance(grouping, InTurn):
        return OwnQueues(arrays.IN_TURN, replicas, limit)
    if isinstance(grouping, LeastLoaded):
        full = rows_that_fill(mean_seconds * grouping.execution_factor, interval_seconds)
        return OwnQueues(arrays.LEAST_LOADED, replicas, limit, full, grouping.remembers)
    if isinstance(grouping, Posg):
        from penstock.simulation.replicas.posg_dealing import PosgDealer

        return PosgDealer(grouping, replicas, limit, network_seconds)
    return OneQueue(replicas, limit)
