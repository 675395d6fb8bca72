"""Which Spark jobs a micro-batch needs, in which order, and which may run side by side.

Every sink is a job. A stream that several read is kept, and the keeping is a job of its own only
when every reader has Python work to do: then they run side by side afterwards. Where one reader
is a sink with nothing but SQL before it, that sink's job goes first and fills the cache on its
way, and no extra job is needed. Such a sink reads that stream alone, and once: two tasks of one
job that need the same part of an empty cache, on two executors, would both do its work.

A sink of the user's own may read a batch twice, in part, or not at all. What it reads is kept, and
filled by a job of ours: the watermark and the counts must not depend on how a sink is written.

Windows cut a micro-batch into rounds: which windows close is known when the partials of the batch
are written, so what reads complete windows runs in the round after.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter

from penstock.topology.components import Components
from penstock.topology.dag import Topology
from penstock.topology.operators import (
    Compute,
    Consolidate,
    DeadLetters,
    Operator,
    Output,
    Process,
    PythonOperator,
    Source,
)

ALL_SOURCES = "all sources"


@dataclass(frozen=True, slots=True)
class Job:
    """One job: it fills the cache of a kept stream, or ends in a sink or in the pane store.

    ``name`` is the kept operator's, the sink's or the compute operator's. ``operators`` are those
    whose work it does first. ``after`` are jobs of the same round.
    """

    name: str
    writes: bool
    operators: tuple[str, ...]
    after: tuple[str, ...]
    round: int = 0


def rounds(topology: Topology) -> dict[str, int]:
    """Return the round in which every operator's rows come out."""
    found: dict[str, int] = {}
    for operator in topology:
        latest = max((found[name] for name in operator.inputs), default=0)
        found[operator.name] = latest + isinstance(operator, Consolidate)
    return found


def kept(topology: Topology, grouped: Components | None = None) -> tuple[str, ...]:
    """Name the operators whose rows are kept while a batch runs, in topological order.

    They are those that several read, those that a later round reads, and those that a sink reads of
    which nobody knows how often it reads. With several sources Spark hands over their rows in one
    DataFrame; that is kept too.
    """
    turn, ends = rounds(topology), (grouped or Components(topology)).step_ends
    names = [ALL_SOURCES] if len(topology.sources) > 1 else []
    set_aside = {
        ends[name]
        for operator in topology
        if isinstance(operator, DeadLetters)
        for name in operator.inputs
    }
    for operator in topology:
        if isinstance(operator, Output | Compute):
            continue
        readers = topology.consumers[operator.name]
        if (
            len(readers) > 1
            or operator.name in set_aside
            or any(_may_read_some(reader) for reader in readers)
            or any(turn[reader.name] > turn[operator.name] for reader in readers)
        ):
            names.append(operator.name)
    return tuple(names)


def dry_operators(topology: Topology, empty: Collection[str]) -> frozenset[str]:
    """Name the operators that have nothing to read when those in ``empty`` give no rows.

    One that also reads from elsewhere has, and then what is empty before it must be there too.
    """
    dry = set(empty)
    for operator in topology:
        if isinstance(operator, Consolidate | Process):
            continue  # the watermark may close windows or end timers also when no rows come
        if operator.inputs and all(name in dry for name in operator.inputs):
            dry.add(operator.name)
    for operator in reversed(list(topology)):
        if operator.name not in dry and not isinstance(operator, Consolidate):
            dry.difference_update(operator.inputs)
    return frozenset(dry)


def _may_read_some(reader: Operator) -> bool:
    return isinstance(reader, Output) and not reader.reads_all


def jobs(topology: Topology, grouped: Components | None = None) -> tuple[Job, ...]:
    """Plan the jobs of a micro-batch, each after those that it waits for."""
    grouped = grouped or Components(topology)
    keeps = kept(topology, grouped)
    plain = [_job(grouped, name, keeps, writes=False) for name in keeps]
    ends = [op.name for op in topology if isinstance(op, Output | Compute)]
    plain += [_job(grouped, name, keeps, writes=True) for name in ends]
    led = {name: leader for name in keeps if (leader := _leader(grouped, plain, name))}
    merged = {job.name: _merged(job, plain, led) for job in plain if job.name not in led}
    order = TopologicalSorter({name: job.after for name, job in merged.items()})
    sorted_jobs = [merged[name] for name in order.static_order()]
    return tuple(_within_round(job, merged) for job in sorted_jobs)


def _within_round(job: Job, all_jobs: Mapping[str, Job]) -> Job:
    """Leave out the jobs of earlier rounds, which are done before this one can start."""
    after = tuple(name for name in job.after if all_jobs[name].round == job.round)
    return replace(job, after=after)


def _job(grouped: Components, name: str, keeps: tuple[str, ...], *, writes: bool) -> Job:
    topology = grouped.topology
    operators: list[str] = []
    after: set[str] = set()
    queue = [] if name == ALL_SOURCES else [name]
    while queue:
        current = queue.pop()
        if current in keeps and current != name:
            after.add(current)
        elif current not in operators:
            operators.append(current)
            queue.extend(_reads(grouped, current))
            if isinstance(topology[current], Source) and ALL_SOURCES in keeps:
                after.add(ALL_SOURCES)
    order = [op.name for op in topology]
    return Job(
        name,
        writes,
        tuple(sorted(operators, key=order.index)),
        tuple(each for each in keeps if each in after),
        0 if name == ALL_SOURCES else rounds(topology)[name],
    )


def _reads(grouped: Components, name: str) -> tuple[str, ...]:
    operator = grouped.topology[name]
    if isinstance(operator, DeadLetters):
        return tuple({grouped.step_ends[each]: None for each in operator.inputs})
    if isinstance(operator, Consolidate):
        return ()  # it reads the pane store, not the rows of this round
    return operator.inputs


def _leader(grouped: Components, plain: list[Job], name: str) -> str | None:
    """Choose the sink that fills the cache of ``name`` on its way, or None."""
    topology = grouped.topology
    turn = 0 if name == ALL_SOURCES else rounds(topology)[name]
    for job in plain:
        if job.round != turn or not job.writes or not _reads_all(topology[job.name]):
            continue
        if job.after == (name,) and not _has_python(topology, job):
            reads = sum(_reads(grouped, each).count(name) for each in job.operators)
            # Nothing is computed or counted before the sources' rows, so twice does no harm there.
            if reads == 1 or name == ALL_SOURCES:
                return job.name
    return None


def _reads_all(end: Operator) -> bool:
    return isinstance(end, Compute) or (isinstance(end, Output) and end.reads_all)


def _has_python(topology: Topology, job: Job) -> bool:
    return any(isinstance(topology[name], PythonOperator) for name in job.operators)


def _merged(job: Job, plain: list[Job], led: dict[str, str]) -> Job:
    """Let a leading sink do the work of the stream it fills, and the others wait for the sink."""
    by_name = {each.name: each for each in plain}
    filled = [name for name, leader in led.items() if leader == job.name]
    operators = [name for each in filled for name in by_name[each].operators]
    waits = [name for each in filled for name in by_name[each].after]
    waits += [name for name in job.after if name not in filled]
    after = dict.fromkeys(led.get(name, name) for name in waits)
    return replace(job, operators=(*operators, *job.operators), after=tuple(after))
