"""Which faults a campaign has: a seeded mix of all kinds, so that a number tells a run."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pyspark import cloudpickle
from pyspark.sql import SparkSession

from campaign import job as job_module
from campaign import process_faults
from campaign.damage import DAMAGES, KINDS, Bases
from campaign.job import Job
from campaign.outcomes import Outcome
from campaign.stream_faults import streams

# In a hundred faults of a session.
_SHARES = {
    "driver breaks off": 13,
    "sink fails": 5,
    "Python worker killed": 5,
    "source can't be read": 4,
    "source is late": 1,
    "source is late in a run": 1,
    "source lets its reader wait": 1,
    "source sends a batch again": 3,
    "clock jumps": 5,
    "disk full under the checkpoint": 6,
    "disk full under the journal": 3,
}
_DAMAGED = 53


@dataclass(frozen=True)
class Campaign:
    """So many faults in one Spark session, and some of whole processes beside them.

    ``driver_kills``, ``executor_kills`` and ``worker_kills`` start processes of their own, and
    take some ten seconds each.
    """

    faults: int
    seed: int = 1
    driver_kills: int = 0
    executor_kills: int = 0
    worker_kills: int = 0

    def run(
        self, spark: SparkSession, where: Path, tell: Callable[[Outcome], None]
    ) -> list[Outcome]:
        """Inject them all; ``tell`` is called with each outcome."""
        cloudpickle.register_pickle_by_value(job_module)
        outcomes: list[Outcome] = []
        for some in self._parts(spark, where):
            for outcome in some:
                outcomes.append(outcome)
                tell(outcome)
        return outcomes

    def _parts(self, spark: SparkSession, where: Path) -> Iterator[list[Outcome]]:
        dice = random.Random(self.seed)
        base = Job(spark, where / "damaged" / "in", where / "damaged", is_whole=True)
        yield from _damages(base, round(self.faults * _DAMAGED / 100), dice)
        kinds = [
            kind for kind, share in _SHARES.items() for _ in range(round(self.faults * share / 100))
        ]
        dice.shuffle(kinds)
        yield from streams(Job(spark, where / "in", where / "streams"), kinds, dice)
        plain = Job(spark, where / "in", where / "processes")
        if self.driver_kills:
            yield process_faults.driver_kills(plain, self.driver_kills, self.seed)
        if self.executor_kills or self.worker_kills:
            yield process_faults.cluster_kills(plain, self.executor_kills, self.worker_kills)


def _damages(job: Job, count: int, dice: random.Random) -> Iterator[list[Outcome]]:
    """Damage files: every kind in every way in turn, in checkpoints of both kinds.

    Ways turn with the kinds, so that a small campaign has all of both.
    """
    bases = Bases.made(job)
    ways = len(DAMAGES)
    turns = [
        (kind, DAMAGES[(number + shift) % ways])
        for shift in range(ways)
        for number, kind in enumerate(KINDS)
    ]
    for number in range(count):
        kind, damage = turns[number % len(turns)]
        base = dice.choice(("stopped", "broken off"))
        files = bases.files(base, kind)
        # The newest is what counts, but older ones must not do harm either.
        file = files[-1] if dice.random() < 0.7 else dice.choice(files)
        yield [bases.inject(base, file, damage, dice)]


def now() -> float:
    """Return a time to measure with."""
    return time.perf_counter()
