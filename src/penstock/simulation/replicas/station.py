"""One operator at work: its replicas, their queues, what they did in an interval."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import inf

import numpy as np

from penstock.simulation.replicas import arrays, settling
from penstock.simulation.replicas.arrays import Bytes, Floats, Identities, Integers, Mask
from penstock.simulation.replicas.dealing import Batch, Dealer
from penstock.simulation.replicas.queue_times import QueueTimes
from penstock.simulation.replicas.roots import Roots, Rows
from penstock.simulation.topology import SimulatedOperator


@dataclass(frozen=True, slots=True)
class Served:
    """Rows that an operator has: when they arrived, start and finish, on which replica."""

    arrival: Floats
    seconds: Floats
    root: Integers
    identity: Identities
    start: Floats
    finish: Floats
    replica: Integers
    fate: Bytes

    def __len__(self) -> int:
        return len(self.arrival)

    def take(self, which: Integers | Mask) -> Served:
        """Return some of the rows."""
        return Served(*(getattr(self, each.name)[which] for each in fields(self)))

    def and_then(self, others: Served) -> Served:
        """Return these rows with others after them."""
        if not len(self):
            return others
        if not len(others):
            return self
        return Served(
            *(
                np.concatenate((getattr(self, each.name), getattr(others, each.name)))
                for each in fields(self)
            )
        )


@dataclass(frozen=True, slots=True)
class Interval:
    """What an operator did in an interval; ``over`` are rows that were served in it."""

    over: Served
    received_rows: tuple[int, ...]
    processed: Integers
    busy_seconds: Floats
    waiting_rows: int


class Station:
    """An operator with its replicas.

    ``number`` tells it from other operators and the sources, ``parents`` are the numbers of what it
    reads. Rows that are on their way to it, or in it, are its own.
    """

    def __init__(
        self,
        number: int,
        operator: SimulatedOperator,
        parents: tuple[int, ...],
        dealer: Dealer,
        replicas: int,
        rng: np.random.Generator,
    ) -> None:
        self.number, self.operator, self.parents = number, operator, parents
        self.replicas = replicas
        self._dealer, self._rng = dealer, rng
        self._free = np.zeros(replicas)
        self._coming: list[tuple[int, Rows]] = []
        self._here = _no_rows()

    def receive(self, parent: int, rows: Rows) -> None:
        """Take note of rows that are on their way here."""
        if len(rows.arrival):
            self._coming.append((parent, rows))

    def change(self, replicas: int, at_seconds: float) -> None:
        """Have another number of replicas from now on; those that go finish what they have."""
        had = len(self._free)
        if replicas > had:
            self._free = np.concatenate((self._free, np.zeros(replicas - had)))
        new = slice(self.replicas, replicas)
        self._free[new] = np.maximum(self._free[new], at_seconds)
        self.replicas = replicas
        self._dealer.changed(replicas)

    def work(self, since: float, until: float, roots: Roots, waits: QueueTimes) -> Interval:
        """Serve what comes until then; rows that are dropped fail, rows served are returned."""
        came, received = self._take(until)
        queued = ~np.isfinite(self._here.start)
        batch = _arrived(came, self._here.take(queued), self._drawn(came, roots))
        waits.came(came.arrival)
        served = self._serve(batch, roots, since, until)
        no_room = served.fate == arrays.NO_ROOM
        if no_room.any():
            self._fail(served.take(no_room), roots, arrays.NO_ROOM)
            waits.left(served.arrival[no_room])
            served = served.take(~no_room)
        before = self._here.take(~queued) if queued.any() else self._here
        return self._settle(before, served, received, since, until, roots, waits)

    def lose_all(
        self, at_seconds: float, free_seconds: float, roots: Roots, waits: QueueTimes
    ) -> None:
        """Lose every row that is here or on its way, and work again from ``free_seconds`` on."""
        here = self._here
        waits.left(np.full(int((here.start > at_seconds).sum()), at_seconds))
        for root in (here.root, *(rows.root for _, rows in self._coming)):
            roots.fail(np.full(len(root), at_seconds), root, arrays.RESTARTED)
        self._here, self._coming = _no_rows(), []
        self._free[:] = free_seconds
        self._dealer.changed(self.replicas)

    def _take(self, until: float) -> tuple[Rows, tuple[int, ...]]:
        """Return the rows that arrive before then in order, and how many each parent sent."""
        sent = dict.fromkeys(self.parents, 0)
        now: list[Rows] = []
        later: list[tuple[int, Rows]] = []
        for parent, rows in self._coming:
            in_time = rows.arrival < until
            if in_time.all():
                sent[parent] += len(in_time)
                now.append(rows)
                continue
            sent[parent] += int(in_time.sum())
            now.append(_some(rows, in_time))
            later.append((parent, _some(rows, ~in_time)))
        self._coming = later
        return _in_order(now), tuple(sent.values())

    def _drawn(self, came: Rows, roots: Roots) -> Floats:
        return self.operator.law.draw(roots.key[came.root], self._rng)

    def _serve(self, batch: Batch, roots: Roots, since: float, until: float) -> Served:
        served = Served(
            batch.arrival,
            batch.seconds,
            batch.root,
            batch.identity,
            np.full(len(batch.arrival), inf),
            np.full(len(batch.arrival), inf),
            np.zeros(len(batch.arrival), np.int64),
            np.zeros(len(batch.arrival), np.int8),
        )
        waiting = self._here.start[np.isfinite(self._here.start) & (self._here.start > since)]
        self._dealer.deal(batch, roots, self._free, waiting, until, served)
        return served

    def _settle(
        self,
        before: Served,
        served: Served,
        received: tuple[int, ...],
        since: float,
        until: float,
        roots: Roots,
        waits: QueueTimes,
    ) -> Interval:
        here = before.and_then(served)
        processed, busy = np.zeros(len(self._free), np.int64), np.zeros(len(self._free))
        over, stay, waiting = settling.settle(
            here.start,
            here.finish,
            here.replica,
            here.fate,
            len(before),
            since,
            until,
            processed,
            busy,
            0.0,
            waits.step_seconds,
            waits.left_count,
            waits.left_share,
        )
        gone = here.take(over)
        late = gone.fate == arrays.TOO_LATE
        if late.any():
            self._fail(gone.take(late), roots, arrays.TOO_LATE)
            gone = gone.take(~late)
        self._here = here.take(stay)
        self._dealer.learn(processed)
        return Interval(gone, received, processed, busy, waiting)

    def _fail(self, rows: Served, roots: Roots, reason: int) -> None:
        roots.fail(rows.finish, rows.root, reason)


def _no_rows() -> Served:
    nothing, none = np.empty(0), np.empty(0, np.int64)
    return Served(
        nothing,
        nothing,
        none,
        np.empty(0, np.uint64),
        nothing,
        nothing,
        none,
        np.empty(0, np.int8),
    )


def _some(rows: Rows, which: Mask) -> Rows:
    return Rows(rows.arrival[which], rows.root[which], rows.identity[which])


def _in_order(parts: list[Rows]) -> Rows:
    """Return rows by when they arrive; of those that arrive at once, first parents are first."""
    if not parts:
        return Rows(np.empty(0), np.empty(0, np.int64), np.empty(0, np.uint64))
    arrival = np.concatenate([each.arrival for each in parts])
    root = np.concatenate([each.root for each in parts])
    identity = np.concatenate([each.identity for each in parts])
    order = np.argsort(arrival, kind="stable")
    return Rows(arrival[order], root[order], identity[order])


def _arrived(came: Rows, queued: Served, seconds: Floats) -> Batch:
    """Return the rows to serve: those in the shared queue, if there is one, before the new."""
    if not len(queued):
        return Batch(came.arrival, seconds, came.root, came.identity, 0)
    return Batch(
        np.concatenate((queued.arrival, came.arrival)),
        np.concatenate((queued.seconds, seconds)),
        np.concatenate((queued.root, came.root)),
        np.concatenate((queued.identity, came.identity)),
        len(queued),
    )
