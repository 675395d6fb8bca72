"""Dealing by what rows of a key cost: POSG's state machines, message by message."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from penstock.placement.posg import Instance, Matrices, Reply, Scheduler
from penstock.simulation.replicas import arrays
from penstock.simulation.replicas.arrays import Floats, Integers
from penstock.simulation.replicas.groupings import Posg

if TYPE_CHECKING:
    from penstock.simulation.replicas.dealing import Batch
    from penstock.simulation.replicas.roots import Roots
    from penstock.simulation.replicas.station import Served


class PosgDealer:
    """Every replica has its queue; the scheduler gives a row to the one with the least work.

    The scheduler sits where rows are sent from, so that messages and rows travel as long.
    """

    def __init__(
        self, grouping: Posg, replicas: int, limit: int | None, network_seconds: float
    ) -> None:
        self._grouping, self._limit, self._network = grouping, limit, network_seconds
        self.changed(replicas)

    def changed(self, replicas: int) -> None:
        """Begin anew with so many replicas: no estimate is left, and no message is on its way."""
        by = self._grouping
        self._scheduler = Scheduler(replicas, by.epsilon, by.delta, by.seed, alike=by.alike)
        self._instances = [
            Instance(number, by.window, by.mu, by.epsilon, by.delta, by.seed)
            for number in range(replicas)
        ]
        self._messages: list[tuple[float, int, Matrices | Reply]] = []
        self._sent = 0

    def learn(self, processed: Integers) -> None:
        """Know it from the replicas' messages."""

    def deal(
        self,
        batch: Batch,
        roots: Roots,
        free: Floats,
        waiting: Floats,
        until: float,
        served: Served,
    ) -> None:
        """Deal row by row, with the messages that have come by then."""
        keys = roots.key[batch.root]
        cells = self._scheduler.hashes.cells(keys.astype(np.uint64)).T.tolist()
        born = roots.born[batch.root].tolist()
        arrival, seconds, key = batch.arrival.tolist(), batch.seconds.tolist(), keys.tolist()
        ready, leaving = free.tolist(), waiting.tolist()
        heapify(leaving)
        for row, now in enumerate(arrival):
            self._deliver(now - self._network)
            if self._limit is not None:
                while leaving and leaving[0] <= now:
                    heappop(leaving)
                if len(leaving) >= self._limit:
                    served.start[row] = served.finish[row] = now
                    served.fate[row] = arrays.NO_ROOM
                    continue
            chosen, request = self._scheduler.submit(key[row], cells[row])
            begins = max(now, ready[chosen])
            served.start[row], served.replica[row] = begins, chosen
            if begins > now and self._limit is not None:
                heappush(leaving, begins)
            if begins - born[row] > roots.timeout_seconds:
                served.finish[row], served.fate[row] = begins, arrays.TOO_LATE
                continue
            ready[chosen] = served.finish[row] = begins + seconds[row]
            # An instance works its rows off in order, so what it will say is known already.
            for message in self._instances[chosen].execute(key[row], seconds[row], request):
                self._sent += 1
                heappush(self._messages, (ready[chosen] + self._network, self._sent, message))
        free[:] = ready

    def _deliver(self, until: float) -> None:
        while self._messages and self._messages[0][0] <= until:
            self._scheduler.receive(heappop(self._messages)[2])
