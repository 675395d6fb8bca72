"""From tallies, counts and stage times to what a policy sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from penstock.elasticity.observation import OperatorObservation
from penstock.engine.python_step import Tally
from penstock.engine.stage_times import JobTimes
from penstock.preference.utilisation import StageUse
from penstock.topology.dag import Topology
from penstock.topology.jobs import Job
from penstock.topology.operators import PythonOperator
from penstock.topology.row_counts import PythonCount, rows_in, rows_out, rows_received

_NANOS = 1e9


@dataclass(frozen=True, slots=True)
class Measured:
    """Everything that was counted and timed in one micro-batch, before it is put together.

    ``uses`` are of the stages of preference queries, by operator.
    """

    tallies: Mapping[str, Sequence[Tally]]
    spark_counts: Mapping[str, int]
    jobs: Mapping[str, JobTimes]
    uses: Mapping[str, StageUse] = field(default_factory=dict)


def python_counts(tallies: Mapping[str, Sequence[Tally]]) -> dict[str, PythonCount]:
    """Add up the tasks' tallies of every Python operator."""
    return {
        name: PythonCount(
            rows_in=sum(tally.rows_in for tally in tasks),
            rows_out=sum(tally.rows_out for tally in tasks),
            failed=sum(sum(tally.failures.values()) for tally in tasks),
        )
        for name, tasks in tallies.items()
    }


def observe_operators(
    topology: Topology, jobs: Sequence[Job], measured: Measured
) -> tuple[OperatorObservation, ...]:
    """Say what every operator did: Python operators as measured, SQL operators by their share."""
    # Tallies of windows are of keys: rows that come late are none of theirs.
    of_python = [op.name for op in topology if isinstance(op, PythonOperator)]
    tallies = {name: tasks for name, tasks in measured.tallies.items() if name in of_python}
    counts = python_counts(tallies)
    out = rows_out(topology, counts, measured.spark_counts)
    timings = _timings(topology, jobs, measured)
    observations = []
    for operator in topology:
        name = operator.name
        count = counts.get(name)
        busy, tasks, slowest, cpu = timings.get(name, _IDLE)
        use = measured.uses.get(name)
        observations.append(
            OperatorObservation(
                name=name,
                rows_in=count.rows_in if count else rows_in(topology, out, name),
                rows_out=out[name],
                busy_seconds=busy,
                tasks=tasks,
                slowest_task_seconds=slowest,
                mean_task_seconds=busy / tasks if tasks else 0.0,
                failed_rows=count.failed if count else 0,
                estimated=name not in measured.tallies and not isinstance(operator, PythonOperator),
                cpu_seconds=cpu,
                inputs=tuple(operator.inputs),
                received_rows=rows_received(topology, counts, name),
                utilisation=use.utilisation if use else None,
                parts_per_pane=use.parts_per_pane if use else None,
            )
        )
    return tuple(observations)


# Busy seconds, tasks, seconds of the slowest, and for how long they had a core.
Timing = tuple[float, int, float, float | None]
_IDLE: Timing = (0.0, 0, 0.0, None)


def _timings(topology: Topology, jobs: Sequence[Job], measured: Measured) -> dict[str, Timing]:
    timings = {
        name: (
            sum(tally.busy_nanos for tally in tasks) / _NANOS,
            len(tasks),
            max(tally.busy_nanos for tally in tasks) / _NANOS,
            _cpu_seconds(tasks),
        )
        for name, tasks in measured.tallies.items()
        if tasks
    }
    for job in jobs:
        timings |= _jvm_timings(topology, job, measured.jobs.get(job.name, JobTimes()), timings)
    return timings


def _jvm_timings(
    topology: Topology, job: Job, times: JobTimes, python: Mapping[str, Timing]
) -> dict[str, Timing]:
    """Share what a job's tasks did outside Python equally among its SQL operators."""
    in_python = [
        name
        for name in job.operators
        if name in python or isinstance(topology[name], PythonOperator)
    ]
    in_jvm = [name for name in job.operators if name not in in_python]
    if not in_jvm or not times.tasks:
        return {}
    busy = sum(python[name][0] for name in in_python if name in python)
    share = max(0.0, times.run_seconds - busy) / len(in_jvm)
    slowest = share / times.tasks * times.skew
    cpu = min(share, times.cpu_seconds / len(in_jvm))
    return dict.fromkeys(in_jvm, (share, times.tasks, slowest, cpu))


def _cpu_seconds(tasks: Sequence[Tally]) -> float | None:
    told = [tally.cpu_nanos for tally in tasks if tally.cpu_nanos is not None]
    return sum(told) / _NANOS if len(told) == len(tasks) else None
