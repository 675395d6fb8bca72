"""How long processing pauses when a plan changes, by strategy and by the size of the state."""

from __future__ import annotations

import shutil
import statistics
import tempfile
import threading
from pathlib import Path
from typing import Any

from fusion_rows import Nowhere, batch_seconds, read, write_batches
from pyspark.sql import SparkSession

import penstock as ps
from penstock import journal
from penstock.engine.steps import Step
from penstock.journal.events import PlanChanged
from penstock.journal.window_events import WindowsClosed
from penstock.topology.adaptation import Strategy

GROUPS = 8
KEYS_A_GROUP = (1_000, 10_000, 50_000, 100_000)
FILES, TOUCHED, BATCHES, CHANGE_EVERY = 4, 10_000, 16, 4
STRATEGIES: tuple[Strategy, ...] = ("instant", "smooth", "disruptive")


class Toggling:
    """Lets windows be combined and split by turns, every few micro-batches."""

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy
        self._is_known = threading.Event()
        self.query: ps.Query | None = None

    def know(self, query: ps.Query) -> None:
        """Take the query whose plan is to change."""
        self.query = query
        self._is_known.set()

    def __call__(self, step: Step, batch_id: int) -> None:
        """Ask for another plan."""
        if step is Step.LOAD and batch_id % CHANGE_EVERY == CHANGE_EVERY - 2:
            self._is_known.wait()
            assert self.query is not None
            turn = batch_id // CHANGE_EVERY
            operation = ps.Split("windows") if turn % 2 else ps.Combine("windows")
            self.query.adapt(operation, strategy=self._strategy)


def one(spark: SparkSession, where: Path, strategy: Strategy) -> tuple[list[float], list[float]]:
    """Run the simple job; return the pauses and what every batch took."""
    s = ps.Stream.read(read(spark, where / "in", FILES), time="ts", watermark="1 second")
    windows = s.group_by("key").window(ps.tumbling("5 minutes"), ps.tumbling("10 minutes"))
    made = windows.aggregate(n=ps.count(), total=ps.sum("value"), name="windows")
    toggling = Toggling(strategy)
    query = ps.run(
        made.to(Nowhere()),
        checkpoint=where / strategy,
        available_now=True,
        on_step=toggling,
        optimiser=ps.Optimiser(period=0),
        slots=ps.LocalSlots(max=4),
    )
    toggling.know(query)
    query.await_termination()
    bodies = [event.body for event in journal.read(query.journal_dir)]
    pauses = [body.pause_seconds for body in bodies if isinstance(body, PlanChanged)]
    closing = {body.batch_id for body in bodies if isinstance(body, WindowsClosed)}
    times = batch_seconds(query)
    return pauses, [seconds for batch, seconds in enumerate(times) if batch not in closing]


def measure(spark: SparkSession, *, quick: bool) -> list[dict[str, Any]]:
    """Try every strategy at every size, in one run."""
    found = []
    for keys in KEYS_A_GROUP[:1] if quick else KEYS_A_GROUP:
        where = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
        try:
            sizes = [keys * GROUPS, *[TOUCHED] * (BATCHES - 1)]
            write_batches(where / "in", sizes, keys * GROUPS, files=FILES, event_seconds=15.0)
            told = {strategy: one(spark, where, strategy) for strategy in STRATEGIES}
        finally:
            shutil.rmtree(where, ignore_errors=True)
        slowest = statistics.median(told["disruptive"][0])
        for strategy, (pauses, batches) in told.items():
            found.append(
                {
                    "keys_a_group": keys,
                    "strategy": strategy,
                    "changes": len(pauses),
                    "pause_ms": 1_000 * statistics.median(pauses),
                    "greatest_pause_ms": 1_000 * max(pauses),
                    "times_below_disruptive": slowest / statistics.median(pauses),
                    "median_batch_seconds": statistics.median(batches),
                    "slowest_batch_seconds": max(batches[1:]),
                }
            )
    return found
