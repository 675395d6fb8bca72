"""Which Spark jobs a micro-batch needs, in which order, and which may run side by side.

Every sink is a job. A stream that several read is kept, and the keeping is a job of its own only
when every reader has Python work to do: then they run side by side afterwards. Where one reader
is a sink with nothing but SQL before it, that sink's job goes first and fills the cache on its
way, and no extra job is needed. Such a sink reads that stream alone, and once: two tasks of one
job that need the same part of an empty cache, on two executors, would both do its work.

A sink of the user's own may read a batch twice, in part, or not at all. What it reads is kept, and
filled by a job of ours: the watermark and the counts must not depend on how a sink is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from graphlib import TopologicalSorter

from penstock.topology.dag import Topology
from penstock.topology.operators import DeadLetters, Operator, Output, PythonOperator

ALL_SOURCES = "all sources"


@dataclass(frozen=True, slots=True)
class Job:
    """One job: either fills the cache of a kept stream, or writes a sink.

    ``name`` is the kept operator's or the sink's. ``operators`` are those whose work it does first.
    """

    name: str
    writes: bool
    operators: tuple[str, ...]
    after: tuple[str, ...]


def kept(topology: Topology) -> tuple[str, ...]:
    """Name the operators whose rows are kept while a batch runs, in topological order.

    They are those that several read, and those that a sink reads of which nobody knows how often
    it reads. With several sources Spark hands over their rows in one DataFrame; that is kept too.
    """
    names = [ALL_SOURCES] if len(topology.sources) > 1 else []
    set_aside = {
        chain_end(topology, name)
        for operator in topology
        if isinstance(operator, DeadLetters)
        for name in operator.inputs
    }
    for operator in topology:
        if not isinstance(operator, Output) and (
            topology.is_fork(operator.name)
            or operator.name in set_aside
            or any(_may_read_some(reader) for reader in topology.consumers[operator.name])
        ):
            names.append(operator.name)
    return tuple(names)


def _may_read_some(reader: Operator) -> bool:
    return isinstance(reader, Output) and not reader.reads_all


def chain_end(topology: Topology, name: str) -> str:
    """Return the last operator of the run of Python operators that ``name`` is fused with."""
    consumers = topology.consumers[name]
    if len(consumers) == 1 and isinstance(consumers[0], PythonOperator):
        return chain_end(topology, consumers[0].name)
    return name


def jobs(topology: Topology) -> tuple[Job, ...]:
    """Plan the jobs of a micro-batch, each after those that it waits for."""
    keeps = kept(topology)
    plain = [_job(topology, name, keeps, writes=False) for name in keeps]
    plain += [_job(topology, out.name, keeps, writes=True) for out in topology.outputs]
    led = {name: leader for name in keeps if (leader := _leader(topology, plain, name))}
    merged = {job.name: _merged(job, plain, led) for job in plain if job.name not in led}
    order = TopologicalSorter({name: job.after for name, job in merged.items()})
    return tuple(merged[name] for name in order.static_order())


def _job(topology: Topology, name: str, keeps: tuple[str, ...], *, writes: bool) -> Job:
    operators: list[str] = []
    after: set[str] = set()
    queue = [] if name == ALL_SOURCES else [name]
    while queue:
        current = queue.pop()
        if current in keeps and current != name:
            after.add(current)
        elif current not in operators:
            operators.append(current)
            queue.extend(_reads(topology, current))
            if not topology[current].inputs and ALL_SOURCES in keeps:
                after.add(ALL_SOURCES)
    order = [op.name for op in topology]
    return Job(
        name,
        writes,
        tuple(sorted(operators, key=order.index)),
        tuple(each for each in keeps if each in after),
    )


def _reads(topology: Topology, name: str) -> tuple[str, ...]:
    operator = topology[name]
    if isinstance(operator, DeadLetters):
        return tuple({chain_end(topology, each): None for each in operator.inputs})
    return operator.inputs


def _leader(topology: Topology, plain: list[Job], name: str) -> str | None:
    """Choose the sink that fills the cache of ``name`` on its way, or None."""
    for job in plain:
        sink = topology[job.name] if job.writes else None
        if not isinstance(sink, Output) or not sink.reads_all:
            continue
        if job.after == (name,) and not _has_python(topology, job):
            reads = sum(_reads(topology, each).count(name) for each in job.operators)
            # Nothing is computed or counted before the sources' rows, so twice does no harm there.
            if reads == 1 or name == ALL_SOURCES:
                return job.name
    return None


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
    return Job(job.name, job.writes, (*operators, *job.operators), tuple(after))
