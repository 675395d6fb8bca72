"""What Python tasks report to the driver, through one accumulator for the life of a query."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark import SparkContext, TaskContext
from pyspark.accumulators import Accumulator, AccumulatorParam

from penstock.engine.python_step import Tally

BATCH_PROPERTY = "penstock.batch"

TaskKey = tuple[str, str, int]
Reports = dict[TaskKey, dict[str, Tally]]


class _LastWins(AccumulatorParam[Reports]):
    """Keeps one report for each task, so that a task that ran twice counts once."""

    def zero(self, value: Reports) -> Reports:
        return {}

    def addInPlace(self, value1: Reports, value2: Reports) -> Reports:  # noqa: N802
        value1.update(value2)
        return value1


@dataclass(frozen=True, slots=True)
class TaskReport:
    """Sends a task's tallies to the driver; travels to the workers with the step."""

    accumulator: Accumulator[Reports]

    def __call__(self, step: str, tallies: dict[str, Tally]) -> None:
        """Add what this task did under its batch, step and partition."""
        context = TaskContext.get()
        if context is not None:
            batch = context.getLocalProperty(BATCH_PROPERTY) or ""
            self.accumulator.add({(batch, step, context.partitionId()): tallies})


class TaskMetrics:
    """The driver's end: reads and empties the reports of one micro-batch."""

    def __init__(self, context: SparkContext) -> None:
        self._accumulator: Accumulator[Reports] = context.accumulator({}, _LastWins())
        self.report = TaskReport(self._accumulator)

    def whole(self, batch: str, operator: str) -> int:
        """Return how many tasks of a keyed operator have taken all of their rows."""
        told = [
            operators[operator].keyed
            for (reported, _, _), operators in self._accumulator.value.items()
            if reported == batch and operator in operators
        ]
        return sum(1 for keyed in told if keyed is not None and keyed.is_whole)

    def so_far(self, batch: str, operator: str) -> list[Tally]:
        """Return what the tasks of an operator told of a batch that still runs, in order."""
        # A copy: tasks that run beside the batch may report meanwhile.
        told = sorted(dict(self._accumulator.value).items(), key=lambda each: each[0])
        return [
            operators[operator]
            for (reported, _, _), operators in told
            if reported == batch and operator in operators
        ]

    def take(self, batch: str) -> dict[str, list[Tally]]:
        """Return, for each operator, the tally of each of its tasks in order; forget all reports.

        ``batch`` names the batch and the run, since an earlier run may have tried it too.
        """
        reports, self._accumulator.value = dict(self._accumulator.value), {}
        tallies: dict[str, list[Tally]] = {}
        in_order = sorted(reports.items(), key=lambda each: each[0])
        for (reported_batch, _, task), operators in in_order:
            if reported_batch == batch:
                for operator, tally in operators.items():
                    tally.task = task
                    tallies.setdefault(operator, []).append(tally)
        return tallies
