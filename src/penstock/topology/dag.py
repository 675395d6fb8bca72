"""The topology: a directed acyclic graph of operators, checked before anything runs."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from types import MappingProxyType

from penstock.arguments import shown
from penstock.errors import ConfigurationError, TopologyError
from penstock.topology.operators import (
    Compute,
    DeadLetters,
    LateRows,
    Operator,
    Output,
    Process,
    Source,
)


class Topology:
    """Operators in an order in which every one comes after its inputs.

    Raises ``TopologyError``, naming the operator and what to write instead, when the graph can't
    run: a name used twice or not an identifier, an unknown input, a cycle, a branch without a sink.
    """

    def __init__(self, operators: Iterable[Operator]) -> None:
        if not isinstance(operators, Iterable):
            raise ConfigurationError(
                f"a topology is made of operators, not of {shown(operators)}. Build it with "
                "Stream.read(...) and .to(sink)."
            )
        given = tuple(operators)
        for each in given:
            if not isinstance(each, Operator):
                raise ConfigurationError(
                    f"{shown(each)} is no operator. Build a topology with Stream.read(...) and "
                    ".to(sink)."
                )
        _check_names(given)
        _check_sources(given)
        self._operators = _sorted({operator.name: operator for operator in given})
        self._check_ends()

    def __iter__(self) -> Iterator[Operator]:
        return iter(self._operators.values())

    def __getitem__(self, name: str) -> Operator:
        return self._operators[name]

    def __contains__(self, name: object) -> bool:
        return name in self._operators

    def __len__(self) -> int:
        return len(self._operators)

    @property
    def sources(self) -> tuple[Source, ...]:
        """Where rows come in."""
        return tuple(op for op in self if isinstance(op, Source))

    @property
    def outputs(self) -> tuple[Output, ...]:
        """Where rows go out."""
        return tuple(op for op in self if isinstance(op, Output))

    @property
    def computes(self) -> tuple[Compute, ...]:
        """Where rows become partials in the pane store."""
        return tuple(op for op in self if isinstance(op, Compute))

    @property
    def processes(self) -> tuple[Process, ...]:
        """Where rows meet the state of their key."""
        return tuple(op for op in self if isinstance(op, Process))

    @cached_property
    def consumers(self) -> Mapping[str, tuple[Operator, ...]]:
        """For each operator, those that read its rows (its dead letters are not its rows)."""
        found: dict[str, list[Operator]] = {name: [] for name in self._operators}
        for operator in self:
            if not isinstance(operator, DeadLetters):
                for name in operator.inputs:
                    found[name].append(operator)
        return MappingProxyType({name: tuple(ops) for name, ops in found.items()})

    def is_fork(self, name: str) -> bool:
        """Whether more than one operator reads this one's rows."""
        return len(self.consumers[name]) > 1

    def upstream(self, name: str) -> tuple[Operator, ...]:
        """Return an operator and everything its rows come through, sources first."""
        wanted, queue = {name}, [name]
        while queue:
            for parent in self[queue.pop()].inputs:
                if parent not in wanted:
                    wanted.add(parent)
                    queue.append(parent)
        return tuple(op for op in self if op.name in wanted)

    def _check_ends(self) -> None:
        if not self.outputs:
            last = next(reversed(self._operators.values()), None)
            raise TopologyError(
                last.name if last else "(none)",
                "the topology has no sink",
                "Add .to(sink) to a stream and give the result to run.",
            )
        for operator in self:
            if not isinstance(operator, Output) and not self.consumers[operator.name]:
                raise sinkless(operator)
            if isinstance(operator, LateRows):
                _check_time(operator, self[operator.inputs[0]])


def sinkless(operator: Operator) -> TopologyError:
    """Return the error for a branch that leads nowhere."""
    return TopologyError(
        operator.name,
        f"this {operator.kind} leads to no sink, so its rows would go nowhere",
        "Add .to(sink) to it and give the result to run, or leave the branch out "
        "(run(..., unused='ignore') leaves out every such branch).",
    )


def check_name(name: str) -> None:
    """Raise unless a name may stand for an operator.

    >>> check_name("clicks_2")
    >>> check_name("2nd clicks")
    Traceback (most recent call last):
        ...
    penstock.errors.TopologyError: operator '2nd clicks': the name is not a valid identifier. \
Write letters, digits and underscores, starting with a letter, for example 'op_2nd_clicks'.
    """
    if not is_name(name):
        letters = "".join(c if f"_{c}".isidentifier() else "_" for c in str(name))
        raise TopologyError(
            str(name),
            "the name is not a valid identifier",
            f"{NAMES}, for example 'op_{letters.strip('_')}'.",
        )


NAMES = "Write letters, digits and underscores, starting with a letter"


def is_name(name: object) -> bool:
    """Whether something may stand for an operator or a component."""
    return isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name)


def label_of(name: str | None, kind: str) -> str:
    """Return the name that was given, which must be a valid one, or else the operator's kind."""
    if name is not None:
        check_name(name)
    return name or kind


def _check_names(operators: tuple[Operator, ...]) -> None:
    seen: dict[str, Operator] = {}
    for operator in operators:
        check_name(operator.name)
        twin = seen.setdefault(operator.name, operator)
        if twin is not operator:
            raise TopologyError(
                operator.name,
                f"a {twin.kind} and a {operator.kind} have the same name",
                f"Give one of them another, for example name='{operator.name}_2'.",
            )
    for operator in operators:
        for name in operator.inputs:
            if name not in seen:
                raise TopologyError(
                    operator.name,
                    f"it reads from '{name}', which is not in the topology",
                    f"Operators here: {', '.join(seen)}.",
                )


def _check_sources(operators: tuple[Operator, ...]) -> None:
    """Refuse names of sources that differ in case only: they become columns, alike to Spark."""
    seen: dict[str, str] = {}
    for operator in operators:
        if isinstance(operator, Source):
            twin = seen.setdefault(operator.name.lower(), operator.name)
            if twin != operator.name:
                raise TopologyError(
                    operator.name,
                    f"Spark can't tell its name from that of the source '{twin}'",
                    f"Give one of them another, for example name='{operator.name}_2'.",
                )


def _sorted(operators: dict[str, Operator]) -> dict[str, Operator]:
    graph = {name: operator.inputs for name, operator in operators.items()}
    try:
        order = tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        loop = error.args[1]
        raise TopologyError(
            loop[0],
            f"it reads its own output: {' -> '.join(loop)}",
            "Break the cycle: read from an operator that comes before it.",
        ) from None
    return {name: operators[name] for name in order}


def _check_time(operator: LateRows, of: Operator) -> None:
    if operator.time is None or operator.time not in of.schema:
        raise TopologyError(
            operator.name,
            f"'{of.name}' has no event-time column",
            "Write Stream.read(df, time='ts', watermark='10 seconds') and keep that column "
            "in every select and map on the way.",
        )
