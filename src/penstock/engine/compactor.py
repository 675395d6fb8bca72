"""Compacts the pane store beside the running query: many small segments become few."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from pyspark import InheritableThread
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.engine.aggregation import Aggregation
from penstock.engine.columns import PANE, WIDTH
from penstock.engine.observations import Measures, counting
from penstock.engine.pane_store import PaneStore
from penstock.engine.piece_table import PieceTable, looked_up
from penstock.secrets import logger
from penstock.windows.compaction import Compaction, Rewrite
from penstock.windows.segments import Segment

_log = logger("penstock.engine")


@dataclass(frozen=True, slots=True)
class Compacted:
    """A compaction that was written, and the segments that it made."""

    plan: Compaction
    made: tuple[Segment, ...]

    def applied(self, segments: tuple[Segment, ...]) -> tuple[Segment, ...]:
        """Put what was made in the place of what it was made of."""
        later = {segment.name: segment for segment in self.plan.restamped}
        gone = set(self.plan.replaced)
        stay = [later.get(each.name, each) for each in segments if each.name not in gone]
        return (*stay, *self.made)


class Compactor:
    """Runs one compaction at a time, in a thread of its own; what it wrote counts when committed.

    A failure costs nothing but the compaction: what was to be replaced is still there.
    """

    def __init__(
        self,
        store: PaneStore,
        aggregation: Aggregation,
        keys: tuple[str, ...],
        on_failure: Callable[[str], None],
    ) -> None:
        self._store = store
        self._aggregation = aggregation
        self._keys = keys
        self._on_failure = on_failure
        self._thread: InheritableThread | None = None
        self._tag = ""
        self.number = 0
        self._is_stopped = False
        self._done: Compacted | None = None
        self._is_awaited = False
        self.waited_seconds = 0.0

    @property
    def is_busy(self) -> bool:
        """Whether a compaction runs, or was written and not yet taken."""
        return self._thread is not None

    def start(
        self, session: SparkSession, plan: Compaction, number: int, *, awaited: bool = False
    ) -> None:
        """Start writing a compaction to a directory; one that is ``awaited`` holds ``wait`` up."""
        self.number = number
        self._is_awaited = awaited
        self._tag = f"penstock:compaction:{id(self)}:{number}"
        self._done = None
        self._thread = InheritableThread(
            target=self._run, args=(session, plan, number), name="penstock-compaction", daemon=True
        )
        self._thread.start()

    def wait(self) -> None:
        """Wait for a compaction that the next batch may not begin without."""
        self.waited_seconds = 0.0
        if self._is_awaited and self._thread is not None:
            start = time.perf_counter()
            self._thread.join()
            self.waited_seconds = time.perf_counter() - start
        self._is_awaited = False

    def take(self) -> Compacted | None:
        """Return a compaction that is written; None while there is none."""
        if self._thread is None or self._thread.is_alive():
            return None
        self._thread = None
        return self._done

    def stop(self, session: SparkSession | None) -> None:
        """Break off what runs, and wait until it is gone."""
        self._is_stopped = True
        if self._thread is not None and self._thread.is_alive() and session is not None:
            session.sparkContext.cancelJobsWithTag(self._tag)
            self._thread.join()

    def _run(self, session: SparkSession, plan: Compaction, number: int) -> None:
        context = session.sparkContext
        context.addJobTag(self._tag)
        try:
            self._done = self._compacted(session, plan, number)
        except Exception as error:
            if self._is_stopped:
                return
            _log.warning("a compaction failed, the store stays as it is: %s", error)
            self._on_failure(f"{type(error).__name__}: {error}")
        finally:
            context.removeJobTag(self._tag)

    def _compacted(self, session: SparkSession, plan: Compaction, number: int) -> Compacted:
        rows = self._rewritten(session, plan.rewrites)
        is_run = F.col(WIDTH) <= 1
        measures, rows = Measures.on(rows, counting(), F.count_if(is_run).alias("runs"))
        self._store.write(number, rows)
        size = self._store.size_bytes(number)
        total, in_runs = (*measures.wait(), 0)[:2]
        shares = _shares(plan.rewrites, int(total or 0), int(in_runs or 0))
        made = tuple(
            rewrite.segment(f"{number}.{position}", share, size * share // max(1, total or 1))
            for position, (rewrite, share) in enumerate(zip(plan.rewrites, shares, strict=True))
        )
        return Compacted(plan, made)

    def _rewritten(self, session: SparkSession, rewrites: tuple[Rewrite, ...]) -> DataFrame:
        table = PieceTable(tuple(rewrite.pieces for rewrite in rewrites))
        rows = table.assigned(self._store.read(session, table.directories))
        width = looked_up((rewrite.width for rewrite in rewrites), "int")
        first = looked_up(rewrite.first for rewrite in rewrites)
        entry = F.col(PANE) - F.pmod(F.col(PANE) - first, width)
        rows = rows.withColumns(
            {
                PANE: F.when(width == 1, F.col(PANE)).otherwise(entry),
                WIDTH: F.when(width == 1, F.col(WIDTH)).otherwise(width),
            }
        )
        merged = self._aggregation.merged(rows, [PANE, WIDTH, *self._keys])
        # In order of panes, so that readers of a few panes skip the other pages of the files.
        return merged.sortWithinPartitions(WIDTH, PANE)


def _shares(rewrites: tuple[Rewrite, ...], total: int, in_runs: int) -> list[int]:
    """Share out the rows that were written: the run has its own, entries by how many they are."""
    entries = sum((r.end - r.first) // r.width for r in rewrites if not r.is_delta)
    return [
        in_runs
        if rewrite.is_delta
        else (total - in_runs) * ((rewrite.end - rewrite.first) // rewrite.width) // entries
        for rewrite in rewrites
    ]
