"""Which task forms which window of a preference query: planned for each closing, and learnt from.

A plan only says where partial results go. A row that the plan does not know goes to the owner of
its window, so what comes out is the same for every plan.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.engine.columns import PANE, SEGMENT, TARGET, TASK, WIDTH
from penstock.engine.piece_table import PieceTable, lookup
from penstock.engine.preference_steps import PART
from penstock.engine.python_step import Tally
from penstock.journal.events import KnownEvent
from penstock.journal.window_events import WindowTasks
from penstock.preference.packing import MergeCost, Packing, Partial, alone_if_sooner, pack
from penstock.preference.partial_sizes import UNKNOWN, PartialSizes, PartSize
from penstock.windows.segments import Segment

# With more rows for each window and task than this, windows are even by the hash of their keys.
_MANY_ROWS = 64
# What one more stage of a few tasks takes where cores are free: to schedule it, and to hand states
# over to Python once more.
_EXCHANGE_SECONDS = 0.08
_NANOS = 1e9


@dataclass(frozen=True, slots=True)
class PackedWindows:
    """The plan of one closing: a packing, and the partial results that it is of."""

    packing: Packing
    windows: tuple[tuple[Partial, ...], ...]

    def placed(self, rows: DataFrame) -> DataFrame:
        """Move partial results to the tasks that merge them."""
        return _moved(rows, self._task, self.packing.tasks)

    def returned(self, states: DataFrame) -> DataFrame:
        """Move what tasks made of a window to its owner, for the second round."""
        return _moved(states, self._owner, self.packing.tasks)

    @property
    def _owner(self) -> str:
        return lookup(self.packing.owners, "int")

    @property
    def _task(self) -> str:
        helped = {
            _code(window, partial): task
            for window, tasks in enumerate(self.packing.tasks_of)
            for partial, task in zip(self.windows[window], tasks, strict=True)
            if task != self.packing.owners[window]
        }
        if not helped:
            return self._owner
        # As one literal, which Spark reads at once, and which is not in the code it generates.
        table = f"from_json('{json.dumps(helped)}', 'map<string,int>')"
        where = f"{TARGET}, {SEGMENT}, {PANE}, {WIDTH}"
        exact, any_part = (
            f"element_at({table}, concat_ws('/', {where}, {part}))" for part in (PART, UNKNOWN)
        )
        return f"coalesce({exact}, {any_part}, {self._owner})"


@dataclass(slots=True)
class WindowPacker:
    """Plans the closings of one operator; ``merges`` says whether windows may be split over tasks.

    ``cost`` is learnt from what the tasks report.
    """

    operator: str
    merges: bool = True
    cost: MergeCost = field(default_factory=MergeCost)
    sizes: PartialSizes = field(default_factory=PartialSizes)
    _last: WindowTasks | None = None
    _has_learnt: bool = False

    def wrote(self, segment: str, tallies: Iterable[Tally]) -> None:
        """Take in how large the partial results are that tasks wrote."""
        parts = [
            PartSize(each.pane, each.part, each.points) for tally in tallies for each in tally.panes
        ]
        self.sizes.told(segment, parts)

    def planned(
        self, table: PieceTable, segments: Sequence[Segment], tasks: int, *, has_keys: bool
    ) -> PackedWindows | None:
        """Plan a closing; None where the hash of windows and keys spreads them as evenly."""
        by_name = {segment.name: segment for segment in segments}
        self.sizes.keep(by_name)
        targets, rows = len(table.pieces), table.rows_at_most(segments)
        self._last = WindowTasks(-1, self.operator, targets, rows, rows, 0, tasks, 0.0, 0.0)
        if has_keys and rows > _MANY_ROWS * tasks * targets:
            return None
        windows = tuple(
            tuple(each for piece in pieces for each in self.sizes.of(piece, by_name[piece.segment]))
            for pieces in table.pieces
        )
        packing = pack(windows, tasks, self.cost, merges=self.merges)
        packing = alone_if_sooner(packing, windows, self.cost)
        self._last = replace(
            self._last,
            tasks=packing.tasks,
            partials=packing.updates + packing.merges,
            updates=packing.updates,
            merges=packing.merges,
        )
        return PackedWindows(packing, windows)

    def learn(self, tallies: Sequence[Tally], utilisation: float) -> None:
        """Learn what a point costs, and how many are left, from the tasks of a closing."""
        if self._last is not None:
            idle = idle_share(tallies, self._last.tasks)
            self._last = replace(self._last, utilisation=utilisation, idle_share=idle)
        points = sum(tally.rows_in for tally in tallies)
        busy = sum(tally.busy_nanos for tally in tallies) / _NANOS
        if not points or busy <= 0:
            return
        seen = MergeCost(
            seconds_per_point=busy / points,
            kept_share=min(1.0, sum(tally.rows_out for tally in tallies) / points),
            exchange_seconds=_EXCHANGE_SECONDS * _waits_for_cores(tallies, busy),
        )
        self.cost = _mean(self.cost, seen) if self._has_learnt else seen
        self._has_learnt = True

    def events(self, batch_id: int) -> Iterator[KnownEvent]:
        """Yield how the windows of the last closing were formed, where there was one."""
        if self._last is not None:
            yield replace(self._last, batch_id=batch_id)
        self._last = None


def idle_share(tallies: Sequence[Tally], tasks: int) -> float:
    """Return the part of their time that the tasks of a stage waited for the slowest of them.

    A stage of two rounds has two tallies of a task, those of one round after those of the other.

    >>> idle_share([Tally(busy_nanos=100), Tally(busy_nanos=50, task=1)], tasks=2)
    0.25
    """
    together, last, before = 0, 0, -1
    for tally in tallies:
        if tally.task <= before:
            together, last = together + last, 0
        last, before = max(last, tally.busy_nanos), tally.task
    longest = together + last
    work = sum(tally.busy_nanos for tally in tallies)
    return 1 - work / (longest * tasks) if longest else 0.0


def _waits_for_cores(tallies: Sequence[Tally], busy_seconds: float) -> float:
    """Return how much longer tasks take than they have a core; an exchange does as they do."""
    had = [tally.cpu_nanos for tally in tallies if tally.cpu_nanos is not None]
    core_seconds = sum(had) / _NANOS
    return max(1.0, busy_seconds / core_seconds) if core_seconds > 0 else 1.0


def _mean(one: MergeCost, other: MergeCost) -> MergeCost:
    return MergeCost(
        fmean((one.seconds_per_point, other.seconds_per_point)),
        fmean((one.kept_share, other.kept_share)),
        fmean((one.exchange_seconds, other.exchange_seconds)),
    )


def _code(window: int, partial: Partial) -> str:
    return f"{window}/{partial.directory}/{partial.first}/{partial.width}/{partial.part}"


def _moved(rows: DataFrame, task: str, tasks: int) -> DataFrame:
    if tasks == 1:
        return rows.coalesce(1)
    column: Column = F.expr(task)
    return rows.withColumn(TASK, column).repartitionById(tasks, F.col(TASK)).drop(TASK)
