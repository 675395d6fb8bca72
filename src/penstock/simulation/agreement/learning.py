"""What rows, tasks and batches cost, measured in a part of a live run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from penstock.elasticity.observation import Observation, OperatorObservation
from penstock.errors import ConfigurationError
from penstock.replay.line import median_slope
from penstock.simulation.agreement.prediction import predicted_seconds
from penstock.simulation.batch_costs import BatchCosts
from penstock.simulation.laws import Constant
from penstock.simulation.topology import SimulatedOperator, SimulatedSource, SimulatedTopology

MOST_IMBALANCE = 10.0


@dataclass(frozen=True, slots=True)
class LearntCosts:
    """A run as the simulator knows it, and how many batches told it.

    ``costs.fixed_seconds`` and ``costs.imbalance`` are the line through the batches: what one took,
    by what the simulator gives it where all tasks are equally long and nothing else takes time.
    """

    topology: SimulatedTopology
    costs: BatchCosts
    batches: int


def learn(name: str, batches: Sequence[Observation]) -> LearntCosts:
    """Measure what the batches of a query cost; a few wild ones among them change little."""
    names = [each.name for each in batches[-1].operators]
    measured = {name: _measured(name, batches) for name in names}
    topology = _topology(name, measured, batches)
    even = BatchCosts(
        fixed_seconds=0.0,
        task_seconds=sum(each.start_seconds for each in measured.values()),
        imbalance=1.0,
        cores=batches[-1].cores,
        cpu_share=_cpu_share(batches),
    )
    took = [each.batch_seconds for each in batches]
    slope = median_slope(predicted_seconds(topology, even, batches), took)
    slope = _slowest_over_mean(batches) if slope is None else slope
    uneven = BatchCosts(
        fixed_seconds=0.0,
        task_seconds=even.task_seconds,
        imbalance=min(MOST_IMBALANCE, max(1.0, slope)),
        cores=even.cores,
        cpu_share=even.cpu_share,
    )
    without = predicted_seconds(topology, uneven, batches)
    fixed = median(y - x for x, y in zip(without, took, strict=True))
    costs = BatchCosts(
        fixed_seconds=max(0.0, fixed),
        task_seconds=uneven.task_seconds,
        imbalance=uneven.imbalance,
        cores=uneven.cores,
        cpu_share=uneven.cpu_share,
    )
    return LearntCosts(topology, costs, len(batches))


@dataclass(frozen=True, slots=True)
class _Measured:
    """An operator: what a row and a task take of a slot, and how rows pass through it."""

    inputs: tuple[str, ...]
    seconds_per_row: float
    start_seconds: float
    share: float
    selectivity: float


def _measured(name: str, batches: Sequence[Observation]) -> _Measured:
    seen = [(each, batch) for batch in batches for each in batch.operators if each.name == name]
    active = [(each, batch) for each, batch in seen if each.rows_in > 0 and each.tasks > 0]
    rows = [each.rows_in / each.tasks for each, _ in active]
    busy = [_busy_seconds(each, batch) / each.tasks for each, batch in active]
    per_row, start = _line(rows, busy)
    inputs = seen[-1][0].inputs
    fed = sum(
        parent.rows_out for batch in batches for parent in batch.operators if parent.name in inputs
    )
    took, gave = sum(each.rows_in for each, _ in seen), sum(each.rows_out for each, _ in seen)
    return _Measured(
        inputs=inputs,
        seconds_per_row=per_row,
        start_seconds=start,
        share=min(1.0, took / fed) if fed else 1.0,
        selectivity=gave / took if took else 1.0,
    )


def _busy_seconds(each: OperatorObservation, batch: Observation) -> float:
    """Return an operator's own time.

    What is estimated is a share of the JVM's task time. Where cores are shared most of that is
    waiting for one, which the line through the batches finds in their fixed part.
    """
    if each.estimated and batch.cores is not None and each.cpu_seconds is not None:
        return each.cpu_seconds
    return each.busy_seconds


def _line(rows: Sequence[float], busy: Sequence[float]) -> tuple[float, float]:
    """Return what a row takes and what a task takes to begin; neither is negative."""
    if not rows:
        return 0.0, 0.0
    slope = median_slope(rows, busy)
    start = -1.0
    if slope is not None:
        slope = max(0.0, slope)
        start = median(y - slope * x for x, y in zip(rows, busy, strict=True))
    if slope is None or start < 0:
        return median(y / x for x, y in zip(rows, busy, strict=True)), 0.0
    return slope, start


def _topology(
    name: str, measured: dict[str, _Measured], batches: Sequence[Observation]
) -> SimulatedTopology:
    """Put the operators together; reading a source takes time, and so is an operator as well."""
    sources = [each for each, its in measured.items() if not its.inputs]
    rows = dict.fromkeys(sources, 0)
    for batch in batches:
        for told in batch.sources:
            if told.name in rows:
                rows[told.name] += told.rows
    total = sum(rows.values())
    if not total:
        raise ConfigurationError(
            f"{name}: its batches don't tell how many rows came from which source. Agreement needs "
            "the journal of a query that ps.run started."
        )
    reading = {each: f"{each} (read)" for each in sources}
    operators = tuple(
        SimulatedOperator(
            reading.get(each, each),
            {reading.get(parent, parent): its.share for parent in its.inputs} or {each: 1.0},
            Constant(its.seconds_per_row),
            its.selectivity if its.inputs else 1.0,
        )
        for each, its in measured.items()
        if rows.get(each, 1) > 0
    )
    given = tuple(SimulatedSource(each, rows[each] / total) for each in sources if rows[each])
    return SimulatedTopology(name, given, operators)


def _cpu_share(batches: Sequence[Observation]) -> float:
    """Return how much of the time of measured operators they had a core."""
    told = [
        (each.cpu_seconds, each.busy_seconds)
        for batch in batches
        for each in batch.operators
        if not each.estimated and each.cpu_seconds is not None
    ]
    busy = sum(each for _, each in told)
    return min(1.0, sum(each for each, _ in told) / busy) if busy else 1.0


def _slowest_over_mean(batches: Sequence[Observation]) -> float:
    """Return the imbalance as tasks show it, for batches too much alike to draw a line through."""
    both = [
        (each.slowest_task_seconds, each.mean_task_seconds)
        for batch in batches
        for each in batch.operators
        if each.tasks > 1 and not each.estimated
    ]
    mean = sum(each for _, each in both)
    return sum(each for each, _ in both) / mean if mean else 1.0
