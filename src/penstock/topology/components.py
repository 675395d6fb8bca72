"""Components: operators that run together, as one Spark stage with one number of tasks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from penstock.topology.dag import Topology
from penstock.topology.operators import (
    Consolidate,
    DeadLetters,
    Operator,
    Output,
    Process,
    PythonOperator,
    Source,
    Union,
)


@dataclass(frozen=True, slots=True)
class Component:
    """A run of operators between two borders, named after its first operator.

    A border stands where rows may have to move: after a source's rows were tagged for several
    readers, where branches meet, where one stream is read by several, where windows close, and
    before a process, whose rows go to the owner of their key.
    """

    name: str
    operators: tuple[Operator, ...]

    @property
    def runs_python(self) -> bool:
        """Whether any of its operators calls a user's Python function."""
        return any(isinstance(operator, PythonOperator) for operator in self.operators)

    def steps(self) -> Iterator[tuple[Operator, ...]]:
        """Yield its operators, neighbouring Python operators together: one crossing to Python."""
        for is_fused, run in groupby(self.operators, fuses):
            if is_fused:
                yield tuple(run)
            else:
                yield from ((operator,) for operator in run)


def fuses(operator: Operator) -> bool:
    """Whether an operator runs in one step with its neighbours; a process is a step by itself."""
    return isinstance(operator, PythonOperator) and not isinstance(operator, Process)


def components(topology: Topology) -> tuple[Component, ...]:
    """Group a topology's operators, sinks and dead letters apart, into components."""
    members: dict[str, list[Operator]] = {}
    home: dict[str, str] = {}
    for operator in topology:
        if isinstance(operator, Output | DeadLetters):
            continue
        name = operator.name if _starts(topology, operator) else home[operator.inputs[0]]
        home[operator.name] = name
        members.setdefault(name, []).append(operator)
    return tuple(Component(name, tuple(operators)) for name, operators in members.items())


def _starts(topology: Topology, operator: Operator) -> bool:
    if isinstance(operator, Source | Union | Consolidate | Process):
        return True
    before = topology[operator.inputs[0]]
    return isinstance(before, DeadLetters) or topology.is_fork(before.name)
