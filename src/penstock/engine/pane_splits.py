"""Where the rows of a preference query go: how its panes are split over tasks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import IntegerType

from penstock.engine.aggregation import Place
from penstock.engine.columns import PANE, TASK
from penstock.engine.pane_tally import PanePart
from penstock.engine.preference_aggregation import PreferenceAggregation
from penstock.engine.python_step import Tally
from penstock.engine.row_hash import row_hash
from penstock.engine.task_metrics import TaskReport
from penstock.journal.events import KnownEvent
from penstock.journal.window_events import PanesSplit
from penstock.preference.pane_splitting import PaneSplitting
from penstock.preference.split_control import PanesSeen, SplitControl, SplitState, share_of_panes
from penstock.preference.splitting import PartTurns, rows_a_turn
from penstock.preference.utilisation import BatchTime, StageLoad, StageUse, utilisations
from penstock.topology.operators import Compute, Consolidate

_NANOS = 1e9


@dataclass(frozen=True, slots=True)
class StageNames:
    """The operators of a preference query; ``upstream`` is what tasks tell that send rows on."""

    panes: str
    windows: str

    @property
    def upstream(self) -> str:
        """The name for what was sent, which is no operator's."""
        return f"{self.panes} upstream"


class PaneSplits:
    """Splits the panes of one preference query, and learns from every batch how much.

    Parts are data: a task that is not there in the next batch leaves nothing to hand over, so that
    Elastic-PPQ's removal of workers (Algorithm 4) has nothing to do.
    """

    def __init__(
        self,
        names: StageNames,
        splitting: PaneSplitting,
        report: TaskReport,
        learnt: Mapping[str, Any],
    ) -> None:
        self._names = names
        self._splitting = splitting
        self._control = SplitControl(splitting)
        self._report = report
        self._tasks = 1
        self._state = SplitState()
        self._last: PanesSplit | None = None
        self.uses: dict[str, StageUse] = {}
        # It can be learnt anew: the first run, or another kind of query had the name.
        with contextlib.suppress(ValueError):
            self._state = SplitState.from_json(learnt)

    @classmethod
    def of(
        cls,
        compute: Compute,
        consolidate: Consolidate,
        report: TaskReport,
        learnt: Mapping[str, Any],
    ) -> PaneSplits | None:
        """Return it for preference queries."""
        if not isinstance(compute.aggregation, PreferenceAggregation):
            return None
        names = StageNames(compute.name, consolidate.name)
        return cls(names, compute.aggregation.splitting, report, learnt)

    def placing(self, tasks: int, *, partitions: int | None, ordered: bool) -> Place:
        """Return what moves the rows of a batch to the tasks of their parts.

        ``partitions`` is how many upstream tasks there are, where that is known; ``ordered`` says
        whether one that is computed again has its rows in the same order. Where it has not, a row
        must go by what is in it: how large a pane becomes is then not known while its rows pass,
        and all panes are split as one of the usual size.
        """
        self._tasks = tasks

        def place(rows: DataFrame) -> DataFrame:
            if tasks == 1:
                return rows if partitions == 1 else rows.repartition(1)
            marked = rows.withColumn(TASK, self._task(rows, tasks, partitions, ordered=ordered))
            return marked.repartitionById(tasks, F.col(TASK)).drop(TASK)

        return place

    def _task(
        self, rows: DataFrame, tasks: int, partitions: int | None, *, ordered: bool
    ) -> Column:
        pane, how = F.col(PANE), self._splitting.how
        if how == "none":
            return F.pmod(pane, F.lit(tasks)).cast("int")
        if not ordered:
            parts = tasks if how == "even" else self._state.usual_parts(tasks)
            part = F.pmod(row_hash(rows.schema), F.lit(parts))
            return F.pmod(pane + part, F.lit(tasks)).cast("int")
        share = self._state.share or 1 / (partitions or tasks)
        threshold = None if how == "even" else self._state.threshold_rows
        turn_rows = rows_a_turn(threshold, share)
        function: Any = _taking_turns(tasks, turn_rows, self._names.upstream, self._report)
        task: Column = function(pane)
        return task

    def learn(self, tallies: Mapping[str, Sequence[Tally]], batch: BatchTime) -> None:
        """Take in what the tasks of a batch measured, and move the threshold."""
        of_panes = tallies.get(self._names.panes, ())
        loads = [_load(of_panes), _load(tallies.get(self._names.windows, ()))]
        first, second = utilisations(loads, batch)
        seen = _panes_seen(of_panes)
        self.uses = {
            self._names.panes: StageUse(first, seen.parts_per_pane),
            self._names.windows: StageUse(second),
        }
        before, why = self._state, _FIXED.get(self._splitting.how, "")
        if self._splitting.how == "pid":
            sent = tallies.get(self._names.upstream, ())
            share = share_of_panes([_rows_by_pane(tally) for tally in sent])
            self._state, why = self._control.after(before, seen, first, share)
        self._last = PanesSplit(
            batch_id=-1,
            operator=self._names.windows,
            panes=seen.panes,
            parts_per_pane=seen.parts_per_pane,
            threshold_rows=before.threshold_rows,
            alpha=before.alpha,
            utilisation=first,
            tasks=self._tasks,
            next_threshold_rows=self._state.threshold_rows,
            reason=why,
        )

    def events(self, batch_id: int) -> Iterator[KnownEvent]:
        """Yield how the panes of the last batch were split, where it had any."""
        if self._last is not None and self._last.panes:
            yield replace(self._last, batch_id=batch_id)
        self._last = None

    def to_json(self) -> dict[str, Any]:
        """Return what the next run should know, as plain JSON values."""
        return self._state.to_json()


_FIXED = {"none": "each pane goes to one task", "even": "each pane goes to all tasks"}


def _taking_turns(tasks: int, turn_rows: int, name: str, report: TaskReport) -> Any:
    """Return a function of the pane that chooses the task of each row.

    It tells how many rows of each pane the upstream task had.
    """

    def send(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        turns = PartTurns(tasks, turn_rows)
        for panes in batches:
            yield pa.array(turns.tasks_of(panes.to_numpy(zero_copy_only=False)))
        sent = tuple(PanePart(pane, 0, rows, rows) for pane, rows in turns.rows.items())
        report(name, {name: Tally(panes=sent)})

    function: Any = arrow_udf(send, returnType=IntegerType())  # type: ignore[call-overload]
    # The task depends on the rows before, so Spark must not compute it twice.
    return function.asNondeterministic()


def _load(tallies: Sequence[Tally]) -> StageLoad:
    """Add up what each task did: where windows are formed in two rounds it tells twice."""
    rows: dict[int, int] = {}
    nanos: dict[int, int] = {}
    for tally in tallies:
        rows[tally.task] = rows.get(tally.task, 0) + tally.rows_in
        nanos[tally.task] = nanos.get(tally.task, 0) + tally.busy_nanos
    return StageLoad(tuple(rows.values()), tuple(each / _NANOS for each in nanos.values()))


def _panes_seen(tallies: Sequence[Tally]) -> PanesSeen:
    parts: dict[int, list[int]] = {}
    for tally in tallies:
        for part in tally.panes:
            parts.setdefault(part.pane, []).append(part.rows)
    return PanesSeen({pane: tuple(rows) for pane, rows in parts.items()})


def _rows_by_pane(tally: Tally) -> dict[int, int]:
    return {part.pane: part.rows for part in tally.panes}
