"""The rows of the load, and what has become of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from penstock.simulation.load import Load
from penstock.simulation.replicas import settling
from penstock.simulation.replicas.arrays import Bytes, Floats, Identities, Integers
from penstock.simulation.replicas.draws import identities
from penstock.simulation.topology import SimulatedTopology
from penstock.sources.draws import uniform

_SOURCE, _KEY = 1, 2  # streams of chance


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows on their way: when they arrive, what row of the load they came of, who they are."""

    arrival: Floats
    root: Integers
    identity: Identities


@dataclass(frozen=True, slots=True)
class Roots:
    """Every row of the load: when it was born, its key, how many rows of it are still open."""

    born: Floats
    key: Integers
    source: Integers
    identity: Identities
    timeout_seconds: float
    open_rows: Integers
    last: Floats
    failed_at: Floats
    why: Bytes
    done_at: Floats = field(repr=False)

    @classmethod
    def of(
        cls, topology: SimulatedTopology, load: Load, timeout_seconds: float | None, seed: int
    ) -> Roots:
        """Draw the rows of a load: their times, sources and keys."""
        born = load.arrival_seconds(np.random.default_rng(seed))
        rows = np.arange(len(born))
        shares = np.cumsum([each.share for each in topology.sources])
        source = np.searchsorted(shares[:-1], uniform(rows, seed, _SOURCE), side="right")
        key = np.zeros(len(born), np.int64)
        for number, each in enumerate(topology.sources):
            if each.keys is not None:
                own = rows[source == number]
                key[own] = each.keys.draw(uniform(own, seed, _KEY))
        return cls(
            born=born,
            key=key,
            source=source.astype(np.int64),
            identity=identities(len(born), seed),
            timeout_seconds=np.inf if timeout_seconds is None else float(timeout_seconds),
            open_rows=np.ones(len(born), np.int64),
            last=born.copy(),
            failed_at=np.full(len(born), np.inf),
            why=np.zeros(len(born), np.int8),
            done_at=np.full(len(born), np.inf),
        )

    def born_between(self, since: float, until: float) -> slice:
        """Return the rows that were born in a time, its end not included."""
        first, last = np.searchsorted(self.born, (since, until))
        return slice(int(first), int(last))

    def by_source(self, rows: slice, sources: int) -> Iterator[tuple[int, Integers]]:
        """Give each source with those of the rows that are its own."""
        numbers = np.arange(rows.start, rows.stop)
        if sources == 1:
            yield 0, numbers
            return
        for source in range(sources):
            yield source, numbers[self.source[rows] == source]

    def complete(self, at: Floats, root: Integers) -> None:
        """Close rows that were served."""
        settling.complete(
            at,
            root,
            self.born,
            self.timeout_seconds,
            self.open_rows,
            self.last,
            self.failed_at,
            self.why,
            self.done_at,
        )

    def fail(self, at: Floats, root: Integers, reason: int) -> None:
        """Close rows that failed."""
        settling.fail(at, root, reason, self.open_rows, self.failed_at, self.why)
