"""A live run as its journal tells it: micro-batches, and when their rows arrived."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.elasticity.observation import Observation
from penstock.errors import ConfigurationError
from penstock.journal.events import BatchFinished, QueryStarted
from penstock.journal.reader import read
from penstock.replay.arrivals import Arrivals, arrivals_of
from penstock.replay.recording import RecordedBatch, Recording

WARMING_BATCHES = 3
"""The first batches of a run load classes, compile code and start workers; they tell no costs."""
LEAST_BATCHES = 12
"""A run is cut in two, and a part with fewer than half of this tells too little."""


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """The micro-batches of one run of a query, in order; the warming ones are apart.

    >>> RecordedRun("clicks", (), ()).rows
    0
    """

    name: str
    warming: tuple[Observation, ...]
    batches: tuple[Observation, ...]

    @property
    def rows(self) -> int:
        """Rows of all batches that count."""
        return sum(each.rows_in for each in self.batches)

    def halves(self) -> tuple[tuple[Observation, ...], tuple[Observation, ...]]:
        """Return what to learn from and what to predict: the run's first half and its second."""
        middle = len(self.batches) // 2
        return self.batches[:middle], self.batches[middle:]

    def arrivals(self) -> Arrivals:
        """Rebuild when the rows of the batches that count arrived, from the batches' own times."""
        batches = tuple(
            RecordedBatch(each.started_seconds, each.batch_seconds, each.rows_in, 0.0)
            for each in self.batches
        )
        return arrivals_of(Recording(self.name, "", batches, self.batches[0].trigger_seconds))


def read_runs(path: Path, on_read: Callable[[float], object] | None = None) -> list[RecordedRun]:
    """Read all runs in a journal that are long enough, or say that there is none.

    ``on_read`` is told the share of the journal that has been read.
    """
    found: list[tuple[str, list[Observation]]] = []
    for event in read(path, on_read):
        body = event.body
        if isinstance(body, QueryStarted):
            found.append((body.name, []))
        elif isinstance(body, BatchFinished) and body.observation.batch_seconds > 0:
            if not found:
                found.append((path.name, []))
            found[-1][1].append(body.observation)
    runs = [_run(name, seen) for name, seen in found]
    enough = [run for run in runs if len(run.batches) >= LEAST_BATCHES]
    if not enough:
        longest = max((len(run.warming) + len(run.batches) for run in runs), default=0)
        raise ConfigurationError(
            f"{path} has too few micro-batches with rows: {longest} in its longest run, and "
            f"{WARMING_BATCHES + LEAST_BATCHES} are needed, of which the first {WARMING_BATCHES} "
            "only warm up. Let the query run for longer."
        )
    return enough


def _run(name: str, seen: Sequence[Observation]) -> RecordedRun:
    with_rows = [each for each in seen if each.rows_in > 0 and each.operators]
    return RecordedRun(name, tuple(with_rows[:WARMING_BATCHES]), tuple(with_rows[WARMING_BATCHES:]))
