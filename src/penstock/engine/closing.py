"""From a closing plan to DataFrames: the windows that come out, and the blocks that are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.engine.aggregation import Aggregation, SqlAggregation
from penstock.engine.changing import any_index, changing
from penstock.engine.columns import (
    IS_FINAL,
    PANE,
    SEGMENT,
    SIGN,
    TARGET,
    WIDTH,
    WINDOW,
    WINDOW_NAME,
)
from penstock.engine.observations import Measures, counting
from penstock.engine.pane_store import PaneStore
from penstock.engine.piece_table import PieceTable, looked_up, lookup
from penstock.engine.preference_aggregation import PreferenceAggregation
from penstock.engine.schemas import quoted
from penstock.engine.window_packing import PackedWindows, WindowPacker
from penstock.engine.window_panes import windows_of_panes
from penstock.engine.window_results import window_column
from penstock.topology.operators import Compute, Consolidate
from penstock.windows.consolidation import ClosingPlan, Merge, plan_closing
from penstock.windows.rungs import Ladder
from penstock.windows.segments import Segment, directory_of

# Up to here one task is done sooner than several that have to exchange rows.
_ONE_TASK_ROWS = 100_000
# From here on reading less is worth code that Spark generates anew for the bounds of each closing.
_WORTH_PRUNING_ROWS = 1_000_000


@dataclass(frozen=True, slots=True)
class Targets:
    """The results of one closing; ``finals`` says of each whether its window is closed."""

    merges: tuple[Merge, ...]
    finals: tuple[bool, ...]

    @property
    def table(self) -> PieceTable:
        """The pieces of every result."""
        return PieceTable(tuple(merge.pieces for merge in self.merges))


class Closer:
    """Forms the windows of one consolidate operator, and the blocks that are kept on the way."""

    def __init__(
        self, compute: Compute, consolidate: Consolidate, store: PaneStore, keys: tuple[str, ...]
    ) -> None:
        self._store = store
        self._panes = compute.panes
        self._aggregation: Aggregation = compute.aggregation
        self._stored_keys = keys
        names = dict(zip(keys, compute.keys, strict=True))
        self._columns = [*keys, *compute.aggregation.state.names]
        self._window_names = F.array(*[F.lit(spec.spec.name) for spec in self._panes.specs])
        self._emits_early = consolidate.emit == "every_batch"
        stored = {name: key for key, name in names.items()}
        self._shown = [
            F.col(stored.get(field.name, quoted(field.name))).alias(field.name)
            for field in consolidate.returns
        ]
        self._crossings = compute.spans == "each"
        self.packer: WindowPacker | None = None
        if isinstance(compute.aggregation, PreferenceAggregation):
            merges = compute.aggregation.splitting.merges
            self.packer = WindowPacker(consolidate.name, merges)
        self._cached: DataFrame | None = None
        self._targets = Targets((), ())

    def windows(
        self,
        session: SparkSession,
        plan: ClosingPlan | None,
        segments: Sequence[Segment],
        delta: Segment | None,
        closed: int,
        tasks: int = 1,
    ) -> DataFrame | None:
        """Return the windows that come out of a batch, None where there are none.

        ``plan`` is for those that close. Where open ones are wanted too, they are those that
        ``delta``, the partials of this batch, changed; ``closed`` is how far windows are closed.
        ``tasks`` is how many form the windows of a preference query.
        """
        early = self._early_plan(segments, delta, closed)
        if (plan and plan.is_bulk) or (early and early.is_bulk):
            return self._in_bulk(session, plan, early, segments, delta)
        merges = (*(plan.merges if plan else ()), *(early.merges if early else ()))
        if not merges:
            return None
        is_final = len(plan.merges) if plan else 0
        self._targets = Targets(merges, tuple(n < is_final for n in range(len(merges))))
        rows = self._read(session, segments)
        packed = self._packed(segments, tasks)
        if self._comes_out_at_once(plan):
            return self._named(self._results(rows, packed)).select(*self._shown)
        results = self._merged(rows, packed, delta)
        if plan and plan.keeps:
            self._cached = results = results.persist(StorageLevel.MEMORY_AND_DISK)
        if all(merge.spec is None for merge in merges):
            return None
        return self._emitted(results).select(*self._shown)

    @property
    def has_kept(self) -> bool:
        """Whether the last closing holds blocks to be kept; one in bulk leaves them for later."""
        return self._cached is not None

    def times_of(self, target: int) -> tuple[int, int]:
        """Return the start and end of a result of the last closing, in microseconds."""
        merge = self._targets.merges[target]
        return self._panes.start_micros(merge.start), self._panes.start_micros(merge.end)

    def keep(self, number: int) -> int:
        """Write the blocks of the last closing that are kept; return their rows."""
        assert self._cached is not None
        merges = self._targets.merges
        kept = self._cached.filter(looked_up((merge.keep for merge in merges), "boolean")).select(
            looked_up(merge.start for merge in merges).alias(PANE),
            looked_up((merge.end - merge.start for merge in merges), "int").alias(WIDTH),
            *[F.col(name) for name in self._columns],
        )
        measures, kept = Measures.on(kept, counting())
        self._store.write(number, kept)
        return int(measures.wait()[0])

    def release(self) -> None:
        """Free what was kept in memory for several readers."""
        if self._cached is not None:
            self._cached.unpersist(blocking=False)
            self._cached = None

    def _early_plan(
        self, segments: Sequence[Segment], delta: Segment | None, closed: int
    ) -> ClosingPlan | None:
        """Plan the open windows that this batch's partials changed."""
        if not self._emits_early or delta is None:
            return None
        last = max(spec.last_end_with(delta.end - 1) for spec in self._panes.specs)
        after = max(closed, delta.first)
        plan = plan_closing(self._panes, segments, Ladder(), after, last, crossings=self._crossings)
        changed = [m for m in plan.merges if m.start < delta.end and delta.first < m.end]
        return replace(plan, merges=tuple(changed))

    def _comes_out_at_once(self, plan: ClosingPlan | None) -> bool:
        """Whether nobody needs the merged states but for the results."""
        is_kept = plan is not None and bool(plan.keeps)
        return not is_kept and all(self._targets.finals) and not self._targets.table.subtracts

    @property
    def _groups(self) -> list[str]:
        return [TARGET, *self._stored_keys]

    def _read(self, session: SparkSession, segments: Sequence[Segment]) -> DataFrame:
        """Return the stored partials, each once for every target that takes it."""
        table = self._targets.table
        rows = self._store.read(session, table.directories)
        read = table.rows_at_most(segments)
        if read > _WORTH_PRUNING_ROWS:
            rows = rows.filter(table.bounds)
        rows = table.assigned(rows)
        if read <= _ONE_TASK_ROWS and isinstance(self._aggregation, SqlAggregation):
            rows = rows.coalesce(1)
        return rows

    def _packed(self, segments: Sequence[Segment], tasks: int) -> PackedWindows | None:
        if self.packer is None:
            return None
        has_keys = bool(self._stored_keys)
        return self.packer.planned(self._targets.table, segments, tasks, has_keys=has_keys)

    def _results(self, rows: DataFrame, packed: PackedWindows | None) -> DataFrame:
        if packed is None:
            return self._aggregation.results(rows, self._groups)
        return self._formed(rows, packed, finishes=True)

    def _formed(self, rows: DataFrame, packed: PackedWindows, *, finishes: bool) -> DataFrame:
        """Form the windows of a preference query as planned, in one round or two."""
        aggregation = self._aggregation
        assert isinstance(aggregation, PreferenceAggregation)
        placed = packed.placed(rows)
        if packed.packing.rounds == 1:
            return aggregation.where_they_are(placed, self._groups, finishes=finishes)
        halves = aggregation.where_they_are(placed, self._groups, finishes=False)
        returned = packed.returned(halves)
        return aggregation.where_they_are(returned, self._groups, finishes=finishes, again=True)

    def _merged(
        self, rows: DataFrame, packed: PackedWindows | None, delta: Segment | None
    ) -> DataFrame:
        groups = self._groups
        if packed is not None:
            results = self._formed(rows, packed, finishes=False)
        elif self._targets.table.subtracts:
            results = self._aggregation.subtracted(rows, groups, SIGN)
        else:
            results = self._aggregation.merged(rows, groups)
        if all(self._targets.finals):
            return results
        assert delta is not None
        touched = rows.filter(F.col(SEGMENT) == directory_of(delta.name)).select(*groups).distinct()
        return _those_changed(results, touched, groups, looked_up(self._targets.finals, "boolean"))

    def _emitted(self, results: DataFrame) -> DataFrame:
        merges = self._targets.merges
        if any(merge.spec is None for merge in merges):
            is_window = looked_up((merge.spec is not None for merge in merges), "boolean")
            results = results.filter(is_window)
        return self._named(self._aggregation.finished(results, self._groups))

    def _named(self, finished: DataFrame) -> DataFrame:
        """Replace the number of a target by its window."""
        merges = self._targets.merges
        starts = [self._panes.start_micros(merge.start) for merge in merges]
        ends = [self._panes.start_micros(merge.end) for merge in merges]
        added = {WINDOW: window_column(lookup(starts, "bigint"), lookup(ends, "bigint"))}
        if len(self._panes.specs) > 1:
            spec = lookup(((merge.spec or 0) + 1 for merge in merges), "int")
            added[WINDOW_NAME] = F.element_at(self._window_names, F.expr(spec))
        if self._emits_early:
            added[IS_FINAL] = looked_up(self._targets.finals, "boolean")
        return finished.withColumns(added)

    def _in_bulk(
        self,
        session: SparkSession,
        plan: ClosingPlan | None,
        early: ClosingPlan | None,
        segments: Sequence[Segment],
        delta: Segment | None,
    ) -> DataFrame | None:
        """Form windows by arithmetic: there are too many to name each."""
        parts = []
        if plan is not None:
            parts.append(self._all_between(session, segments, plan.after, plan.through, None))
        if early is not None:
            parts.append(self._all_between(session, segments, early.after, early.through, delta))
        rows = parts[0] if len(parts) == 1 else parts[0].unionByName(parts[1])
        return rows.select(*self._shown)

    def _all_between(
        self,
        session: SparkSession,
        segments: Sequence[Segment],
        after: int | None,
        through: int,
        changed_by: Segment | None,
    ) -> DataFrame:
        groups = [WINDOW, *([WINDOW_NAME] if len(self._panes.specs) > 1 else [])]
        groups += self._stored_keys
        runs = [directory_of(segment.name) for segment in segments if segment.is_delta]
        results = self._windows_of(session, runs, after, through)
        if changed_by is not None:
            touched = self._windows_of(session, [directory_of(changed_by.name)], after, through)
            results = _those_changed(results, touched.select(*groups), groups, F.lit(False))
        finished = self._aggregation.finished(results, groups)
        return finished.withColumn(IS_FINAL, F.lit(changed_by is None))

    def _windows_of(
        self, session: SparkSession, directories: Sequence[int], after: int | None, through: int
    ) -> DataFrame:
        index = any_index(F.col(PANE))
        return windows_of_panes(
            self._store.read(session, directories).filter(F.col(WIDTH) <= 1).drop(SEGMENT),
            self._panes,
            self._aggregation,
            self._stored_keys,
            None if after is None else changing(after, index),
            changing(through, index),
        )


def _those_changed(
    results: DataFrame, touched: DataFrame, groups: Sequence[str], always: Column
) -> DataFrame:
    """Keep the results that are among those touched, and those that are wanted always."""
    renamed = touched.toDF(*[f"{name}_touched" for name in groups])
    same = F.lit(True)
    for name in groups:
        same = same & results[name].eqNullSafe(renamed[f"{name}_touched"])
    marked = results.join(renamed, same, "left")
    first = F.col(f"{groups[0]}_touched")
    kept = marked.filter(first.isNotNull() | always)
    return kept.select(*[F.col(name) for name in results.columns])
