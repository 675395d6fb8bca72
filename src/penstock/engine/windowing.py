"""All windowed operators of a query, and the watermarks that close their windows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

from penstock.engine.commit_log import CommitRecord
from penstock.engine.keyed_partials import KeyedPartials
from penstock.engine.measurement import Measured
from penstock.engine.pane_splits import PaneSplits
from penstock.engine.preference_aggregation import PreferenceAggregation
from penstock.engine.python_step import Tally
from penstock.engine.stage_times import JobTimes
from penstock.engine.task_metrics import TaskReport
from penstock.engine.window_state import WindowState
from penstock.engine.windowed_operator import WindowedOperator
from penstock.journal.events import KnownEvent
from penstock.placement.placement import Placement
from penstock.preference.utilisation import BatchTime, StageUse
from penstock.sinks.filesystem import HadoopFiles
from penstock.topology.dag import Topology
from penstock.topology.jobs import rounds
from penstock.topology.operators import Compute, Consolidate, LateRows, Process, Source
from penstock.windows.marks import advance_all, lowest, restarted
from penstock.windows.sharing import SharingDecision
from penstock.windows.watermark import Mark, Seen


@dataclass(slots=True)
class Watermarks:
    """Where the watermarks stand: those of the sources, and of the operators that look at one.

    An operator's is the lowest of the sources before it.
    """

    marks: Mapping[str, Mark]
    lows: Mapping[str, int | None]


class Windowing:
    """Moves watermarks on, closes windows, and hands both to the commit log."""

    def __init__(
        self,
        topology: Topology,
        files: HadoopFiles,
        checkpoint: str,
        record: CommitRecord | None,
        clock: Callable[[], float],
        on_failure: Callable[[str], None],
        placement: Placement,
        report: TaskReport,
    ) -> None:
        self._topology = topology
        self._clock = clock
        self._turns = rounds(topology)
        marks = restarted(record.marks, clock()) if record else {}
        self.committed = Watermarks(marks, record.lows if record else {})
        self.running = self.committed
        states = record.windows if record else {}
        learnt = record.placement if record else {}
        self.operators = {
            compute.name: WindowedOperator(
                _reporting(compute, self._consolidate(compute), report),
                self._consolidate(compute),
                files,
                checkpoint,
                states.get(compute.name),
                on_failure,
                KeyedPartials.of(compute, placement, report, learnt.get(compute.name, {})),
                PaneSplits.of(
                    compute, self._consolidate(compute), report, learnt.get(compute.name, {})
                ),
            )
            for compute in topology.computes
        }
        self.decided: dict[str, SharingDecision] = {}
        self._before = {
            operator.name: self._sources_before(operator.name)
            for operator in topology
            if isinstance(operator, Compute | LateRows | Process)
        }

    def advance(self, seen: Mapping[str, Seen]) -> None:
        """Move the watermarks on, by what the batch showed of its sources."""
        now = self._clock()
        rules = {s.name: s.watermark for s in self._topology.sources if s.watermark is not None}
        marks = advance_all(rules, self.committed.marks, seen, now)
        lows = {
            name: lowest(
                {source.name: marks.get(source.name, Mark()) for source in sources},
                {source.name: source.idle_after_seconds for source in sources},
                now,
                self.committed.lows.get(name),
            )
            for name, sources in self._before.items()
        }
        self.running = Watermarks(marks, lows)

    def close(
        self,
        turn: int,
        session: SparkSession,
        batch_id: int,
        places: Sequence[DataFrame],
        told: Callable[[str], Sequence[Tally]],
        tasks: Callable[[str], int],
    ) -> Iterator[tuple[str, DataFrame | None]]:
        """Close windows of the compute operators of one round.

        Yields each consolidate operator with its complete windows, None where there are none.
        ``told`` is what the tasks of an operator did in this batch so far; ``tasks`` how many one
        is to have.
        """
        for name, operator in self.operators.items():
            if self._turns[name] == turn:
                low = self.running.lows[name]
                shown = operator.consolidate.name
                done, wanted = told(name), tasks(shown)
                yield shown, operator.close(session, batch_id, low, places, done, wanted)

    def seen(self, measured_by: Mapping[str, str], places: Sequence[DataFrame]) -> dict[str, Seen]:
        """Return what sources showed of their rows, as far as windowed operators saw it."""
        found = {}
        for source, name in measured_by.items():
            counts = self.operators[name].count(places)
            found[source] = Seen(counts.rows, counts.newest_micros, counts.oldest_micros)
        return found

    def counted(self, measured_by: Mapping[str, str]) -> dict[str, int]:
        """Return the partials that each compute operator made, and the rows of some sources."""
        partials = {name: each.counts.partials for name, each in self.operators.items()}
        rows = {source: self.operators[name].counts.rows for source, name in measured_by.items()}
        return partials | rows

    def learn(self, tallies: Mapping[str, Sequence[Tally]], tasks: int, batch: BatchTime) -> None:
        """Take in what the keys and panes of a batch cost; ``tasks`` is how many worked on them."""
        for operator in self.operators.values():
            operator.learn(tallies, tasks, batch)

    def uses(self) -> dict[str, StageUse]:
        """Return how utilised the stages of preference queries were in the last batch."""
        return {
            name: use
            for operator in self.operators.values()
            if operator.splits is not None
            for name, use in operator.splits.uses.items()
        }

    def learnt(self) -> dict[str, Any]:
        """Return what the next run should know of where keys and panes go, as plain JSON values."""
        return {
            name: learns.to_json()
            for name, operator in self.operators.items()
            if (learns := operator.keyed or operator.splits) is not None
        }

    def states(self) -> dict[str, WindowState]:
        """Return what the batch leaves for the next one."""
        for operator in self.operators.values():
            operator.before_commit()
        return {name: operator.next_state for name, operator in self.operators.items()}

    def release(self) -> None:
        """Free what was kept in memory while the batch ran."""
        for operator in self.operators.values():
            operator.release()

    def has_committed(self, batch_id: int, *, has_time: bool) -> None:
        """Adopt what the batch made of the state, now that it is committed.

        ``has_time`` says whether there is time for work that can wait.
        """
        self.committed = self.running
        for operator in self.operators.values():
            operator.committed(batch_id, has_time=has_time)

    def events(self, batch_id: int, measured: Measured) -> Iterator[KnownEvent]:
        """Weigh how windows are formed by what the batch showed; yield what the journal keeps.

        What was weighed is in ``decided`` until the next batch.
        """
        self.decided = {}
        for name, operator in self.operators.items():
            shown = operator.consolidate.name
            results, low = measured.spark_counts.get(shown, 0), self.committed.lows.get(name)
            yield from operator.events(batch_id, results, low)
            yield from operator.skylines(batch_id, measured.tallies.get(shown, ()))
            decision = operator.observe(measured.jobs.get(name, JobTimes()))
            if decision is not None:
                self.decided[shown] = decision

    def stop(self) -> None:
        """Break off what runs beside the query."""
        for operator in self.operators.values():
            operator.stop()

    def _consolidate(self, compute: Compute) -> Consolidate:
        (reader,) = self._topology.consumers[compute.name]
        assert isinstance(reader, Consolidate)
        return reader

    def _sources_before(self, name: str) -> tuple[Source, ...]:
        return tuple(op for op in self._topology.upstream(name) if isinstance(op, Source))


def _reporting(compute: Compute, consolidate: Consolidate, report: TaskReport) -> Compute:
    """Let the tasks of a preference query tell what they do.

    All workers of a machine begin at once. Where this process is on theirs, it compiles for them.
    """
    if not isinstance(compute.aggregation, PreferenceAggregation):
        return compute
    if str(SparkContext.getOrCreate().master).startswith("local"):
        compute.aggregation.compile_here()
    told = compute.aggregation.reporting(compute.name, consolidate.name, report)
    return replace(compute, aggregation=told)
