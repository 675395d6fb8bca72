"""One windowed operator at run time: partials in, complete windows out, the pane store between."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from penstock.engine.closing import Closer
from penstock.engine.closing_plans import ClosingPlans
from penstock.engine.compactor import Compactor
from penstock.engine.keyed_partials import KeyedPartials
from penstock.engine.pane_splits import PaneSplits
from penstock.engine.pane_store import PaneStore
from penstock.engine.partials import PartialCounts, PartialFrame, Partials
from penstock.engine.preference_aggregation import PreferenceAggregation
from penstock.engine.python_step import Tally
from penstock.engine.skylines_seen import skylines_seen
from penstock.engine.stage_times import JobTimes
from penstock.engine.window_events import WindowEvents
from penstock.engine.window_state import WindowState
from penstock.journal.events import KnownEvent
from penstock.preference.utilisation import BatchTime
from penstock.sinks.filesystem import HadoopFiles
from penstock.topology.operators import Compute, Consolidate
from penstock.windows.compaction import compaction
from penstock.windows.consolidation import ClosingPlan
from penstock.windows.ladder_costs import Sizes
from penstock.windows.segments import Segment, directory_of
from penstock.windows.sharing import (
    BatchPartials,
    Mode,
    SharingDecision,
    SharingRule,
    SharingState,
)

_DELTA, _KEPT, _COMPACTED, _KINDS = 0, 1, 2, 3


class WindowedOperator:
    """Runs one compute operator and its consolidate.

    ``state`` is what the newest commit says; ``next_state`` what the running batch will commit.
    """

    def __init__(
        self,
        compute: Compute,
        consolidate: Consolidate,
        files: HadoopFiles,
        checkpoint: str,
        state: WindowState | None,
        on_failure: Callable[[str], None],
        keyed: KeyedPartials | None = None,
        splits: PaneSplits | None = None,
    ) -> None:
        self.compute = compute
        self.consolidate = consolidate
        self.partials = Partials(compute)
        self.state = self.next_state = state or WindowState()
        self._panes = compute.panes
        self._crossings = compute.spans == "each"
        directory = f"{checkpoint}/panes/{compute.name}"
        self._store = PaneStore(files, directory, self.partials.columns)
        # The directories that are there: those that a commit no longer names are deleted.
        self._written = {directory_of(segment.name) for segment in self.state.segments}
        self._store.check(self._written, self.state.checksums)
        self._store.sweep(self._written)
        self._closer = Closer(compute, consolidate, self._store, self.partials.keys)
        self._compactor = Compactor(
            self._store, compute.aggregation, self.partials.keys, on_failure
        )
        self._session: SparkSession | None = None
        self.keyed = keyed
        self.splits = splits
        self._is_weighed = False
        self.is_handed_over = False
        self._smooth: tuple[int, bool] | None = None
        self._plans = ClosingPlans(
            self._panes, crossings=self._crossings, invertible=compute.aggregation.invertible
        )
        self._told = WindowEvents(consolidate.name, self._panes)
        self._sharing = SharingRule()
        self.frame: PartialFrame | None = None
        self.counts = PartialCounts()
        self._is_counted = False
        self.plan: ClosingPlan | None = None

    @property
    def is_preference(self) -> bool:
        """Whether it answers a preference query, whose rows go where there is time for them."""
        return isinstance(self.compute.aggregation, PreferenceAggregation)

    @property
    def is_combined(self) -> bool:
        """Whether rows of a key are brought together before partials are made of them."""
        return self.state.sharing.mode == "combined"

    @property
    def is_changing(self) -> bool:
        """Whether windows that were open when the plan changed are still computed as before it."""
        return self._smooth is not None and self.state.closed < self._smooth[0]

    @property
    def opened_micros(self) -> int | None:
        """From when on windows are open; None where no watermark has come yet."""
        closed = self.state.closed
        return self._panes.start_micros(closed) if closed else None

    @property
    def reads_per_partial(self) -> float:
        """How often a partial is read, as windows are planned."""
        return self._plans.reads_per_partial

    def follow(self, mode: Mode, *, weighed_every: int) -> None:
        """Take in how the plan has its partials made, and how often the two ways are weighed.

        That is after so many batches; 0 keeps to the plan.
        """
        self._is_weighed = weighed_every > 0 and self.keyed is None and not self.is_preference
        self._sharing = SharingRule(period=max(1, weighed_every))
        sharing = self.state.sharing
        if sharing.mode != mode:
            sharing = SharingState(mode, learned=sharing.learned)
            self.state = self.next_state = replace(self.state, sharing=sharing)

    def change_smoothly(self, *, stayed: bool) -> None:
        """Compute the windows that have begun as before: rows ``stayed`` where they were, or not.

        The panes from the next window on are computed as the plan has it now.
        """
        stored = max((segment.end for segment in self.state.segments), default=0)
        newest = max(stored, self.state.closed)
        if self.keyed is None and self.splits is None and self.partials.are_points:
            self._smooth = self._panes.next_start(newest), stayed

    @property
    def hands_over(self) -> bool:
        """Whether all partials must be merged before the next batch begins."""
        return self.is_handed_over or (self.keyed is not None and self.keyed.hands_over)

    def wait(self) -> None:
        """Wait until partials that have to be merged before the next batch are."""
        self._compactor.wait()

    def frame_of(
        self,
        df: DataFrame,
        tasks: int,
        *,
        ordered: bool,
        partitions: int | None = None,
        stays: bool = True,
    ) -> PartialFrame:
        """Return the partials of a batch's rows, to be written by ``write``.

        ``tasks`` is how many make them where rows move; ``ordered`` says whether a partition that
        is computed again has its rows in the same order. ``partitions`` is how many there are.
        Where rows don't stay, those of a key are brought together by an exchange.
        """
        if self.splits is not None:
            place = self.splits.placing(tasks, partitions=partitions, ordered=ordered)
            self.frame = self.partials.placed(df, self.state.closed, place)
        elif self.keyed is None:
            self.frame = self._own_frame(df, stays)
        else:
            self._compactor.wait()  # a group that moves disruptively is handed over first
            self.frame = self.keyed.frame_of(
                self.partials, df, self.state.closed, tasks, ordered=ordered
            )
        self._is_counted = False
        return self.frame

    def _own_frame(self, df: DataFrame, stays: bool) -> PartialFrame:
        closed = self.state.closed
        if not self.is_changing:
            self._smooth = None
            return self.partials.of(df, closed, is_split=stays)
        assert self._smooth is not None
        boundary, stayed = self._smooth
        return self.partials.changing(df, closed, boundary, was_split=stayed, is_split=stays)

    def learn(self, tallies: Mapping[str, Sequence[Tally]], tasks: int, batch: BatchTime) -> None:
        """Take in what the keys and panes of a batch cost, and decide which go elsewhere."""
        if self.splits is not None:
            self.splits.learn(tallies, batch)
            shown = self.consolidate.name
            if self._closer.packer is not None:
                use = self.splits.uses[shown].utilisation
                self._closer.packer.learn(tallies.get(shown, ()), use)
        if self.keyed is not None:
            newest = self._panes.next_start(max(self.counts.end, self.state.closed))
            self.keyed.learn(tallies.get(self.compute.name, ()), tasks, newest, self.state.closed)

    def count(self, places: Sequence[DataFrame]) -> PartialCounts:
        """Return what was counted while the partials of this batch were written."""
        if not self._is_counted:
            self.counts = self.frame.counts(places) if self.frame else PartialCounts()
            self._is_counted = True
        return self.counts

    def write(self, df: DataFrame, batch_id: int) -> None:
        """Write the partials of a batch, in the place of those that a failed try left."""
        number = batch_id * _KINDS + _DELTA
        self._written.add(number)
        self._store.write(number, df)

    def close(
        self,
        session: SparkSession,
        batch_id: int,
        low_micros: int | None,
        places: Sequence[DataFrame],
        tallies: Sequence[Tally] = (),
        tasks: int = 1,
    ) -> DataFrame | None:
        """Form the windows that the watermark closes; keeps what the plan says is worth it.

        Returns None where no window comes out. ``tallies`` are of the tasks that made this batch's
        partials; ``tasks`` is how many form the windows of a preference query.
        """
        self._session = session
        delta = self._delta(batch_id, places)
        if delta is not None and self._closer.packer is not None:
            self._closer.packer.wrote(delta.name, tallies)
        segments = (*self.state.segments, *([delta] if delta else []))
        before = self.state.closed
        through = before
        if low_micros is not None:
            through = max(before, self._panes.boundary(low_micros))
        self.plan = self._plans.plan(segments, before, through)
        results = self._closer.windows(session, self.plan, segments, delta, through, tasks)
        if self.plan is not None and self._closer.has_kept:
            segments = (*segments, *self._keep(self.plan, batch_id))
        live = self._plans.live(segments, through)
        self.next_state = replace(self.state, segments=live, closed=through)
        return results

    def before_commit(self) -> None:
        """Take in what was compacted in the meantime, and note what the files hold."""
        compacted = self._compactor.take()
        if compacted is not None:
            segments = compacted.applied(self.next_state.segments)
            live = self._plans.live(segments, self.next_state.closed)
            self.next_state = replace(self.next_state, segments=live)
        known = self.state.checksums
        live_directories = {directory_of(segment.name) for segment in self.next_state.segments}
        checksums = {n: known.get(n) or self._store.checksum(n) for n in sorted(live_directories)}
        self.next_state = replace(self.next_state, checksums=checksums)

    def committed(self, batch_id: int, *, has_time: bool) -> None:
        """Adopt the new state, delete what it no longer names, and compact where it pays."""
        live = {directory_of(segment.name) for segment in self.next_state.segments}
        running = {self._compactor.number} if self._compactor.is_busy else set()
        for number in sorted(self._written - live - running):
            self._store.delete(number)
        self._written &= live | running
        self.state = self.next_state
        self.frame, self._is_counted = None, False
        hands_over = self.hands_over
        if not self._compactor.is_busy:
            self.is_handed_over = False
        if (has_time or hands_over) and self._session is not None and not self._compactor.is_busy:
            runs = sum(segment.is_delta for segment in self.state.segments)
            whole = {"fan": max(2, runs), "max_runs": 1} if hands_over else {}
            plan = compaction(
                self._panes,
                self.state.segments,
                self._plans.ladder,
                self.state.closed,
                crossings=self._crossings,
                **whole,
            )
            if plan is not None:
                number = batch_id * _KINDS + _COMPACTED
                self._written.add(number)
                self._compactor.start(self._session, plan, number, awaited=hands_over)

    def observe(self, times: JobTimes) -> SharingDecision | None:
        """Weigh split against combined by what a batch showed; the plan has to follow."""
        counts = self.counts
        if not times.tasks or not self._is_weighed or self.is_changing:
            return None
        is_split = self.state.sharing.mode == "split"
        combined = None if is_split else counts.partials
        # A block that is kept has each key once.
        keys = Sizes.measured(self.state.segments).keys
        batch = BatchPartials(
            rows=counts.rows,
            tasks=times.tasks,
            task_partials=counts.partials if is_split else times.exchanged_rows,
            combined_partials=combined,
            reads=self._plans.reads_per_partial,
            pane_keys=None if keys is None else keys * (counts.end - counts.first),
        )
        mode = self.state.sharing.mode
        sharing, decision = self._sharing.observe(self.state.sharing, batch)
        sharing = replace(sharing, mode=mode)  # it is another one when the plan is
        self.state = self.next_state = replace(self.state, sharing=sharing)
        return decision

    def events(self, batch_id: int, results: int, low_micros: int | None) -> Iterator[KnownEvent]:
        """Yield what the journal should know of the batch; ``results`` windows' rows came out."""
        if self.keyed is not None:
            yield from self.keyed.events(batch_id, self._compactor.waited_seconds)
        if self.splits is not None:
            yield from self.splits.events(batch_id)
        if self._closer.packer is not None:
            yield from self._closer.packer.events(batch_id)
        yield from self._told.events(
            batch_id, self.state, self.counts, self.plan, self._plans.ladder, results, low_micros
        )

    def skylines(self, batch_id: int, tallies: Sequence[Tally]) -> Iterator[KnownEvent]:
        """Yield the newest window of a preference query over two columns, for drawing."""
        aggregation = self.compute.aggregation
        if isinstance(aggregation, PreferenceAggregation):
            name, preference = self.consolidate.name, aggregation.query.preference
            times_of = self._closer.times_of
            yield from skylines_seen(batch_id, name, preference, tallies, times_of)

    def release(self) -> None:
        """Free what was kept in memory while the batch ran."""
        self._closer.release()

    def stop(self) -> None:
        """Break off what runs beside the query."""
        self._compactor.stop(self._session)

    def _delta(self, batch_id: int, places: Sequence[DataFrame]) -> Segment | None:
        if not self.count(places).partials:
            return None
        number = batch_id * _KINDS + _DELTA
        return Segment(
            name=str(number),
            first=self.counts.first,
            end=self.counts.end,
            width=1,
            through=batch_id,
            is_delta=True,
            rows=self.counts.partials,
            bytes=self._store.size_bytes(number),
        )

    def _keep(self, plan: ClosingPlan, batch_id: int) -> list[Segment]:
        number = batch_id * _KINDS + _KEPT
        self._written.add(number)
        rows = self._closer.keep(number)
        size = self._store.size_bytes(number)
        entries = sum(kept.entries for kept in plan.keeps)
        return [
            kept.segment(
                f"{number}.{position}",
                batch_id,
                rows * kept.entries // entries,
                size * kept.entries // entries,
            )
            for position, kept in enumerate(plan.keeps)
        ]
