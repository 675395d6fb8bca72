"""Branches: how streams hang together, and the topology that some of them make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from penstock.errors import TopologyError
from penstock.topology.components import Components
from penstock.topology.dag import Topology, sinkless
from penstock.topology.explain import Format, explain
from penstock.topology.operators import Consolidate, Operator, Output, Process, Source

Unused = Literal["error", "ignore"]


class Branch:
    """An operator with the branches that it comes from and those that go on from it."""

    def __init__(
        self, operator: Operator, parents: Sequence[Branch], *, is_named: bool, is_dry: bool = False
    ) -> None:
        self._operator = operator
        self._parents = tuple(parents)
        self._children: list[Branch] = []
        self._is_named = is_named
        for parent in () if is_dry else self._parents:
            parent._children.append(self)

    def explain(self, format: Format = "text") -> str:
        """Show the operators up to here, their components, and what runs where."""
        topology = build_topology([self._ended()], unused="ignore")
        return explain(Components(topology), format)

    def _leave(self) -> None:
        """Forget that this branch goes on from its parents: another one takes its place."""
        for parent in self._parents:
            if self in parent._children:
                parent._children.remove(self)

    def _ended(self) -> Outlet:
        """Return an outlet for this branch, to look at and not to run."""
        end = Output(name="here", schema=self._operator.schema, sink=_Nowhere())
        return Outlet(end, [self], is_named=False, is_dry=True)

    def _upstream(self) -> list[Branch]:
        """Return this and all it comes from, in an order that the same code always gives."""
        order: dict[Branch, None] = {}

        def visit(current: Branch) -> None:
            if current not in order:
                for parent in current._parents:
                    visit(parent)
                order[current] = None

        visit(self)
        return list(order)


class Outlet(Branch):
    """A branch that ends in a sink: what ``run`` takes.

    ``was_run`` says whether some run was given it, so that one which was forgotten can be told from
    one of another query.
    """

    was_run = False

    def _ended(self) -> Outlet:
        return self


class _Nowhere:
    """Stands at the end of a branch that is only looked at."""

    def describe(self) -> str:
        return "not yet"


def build_topology(outlets: Sequence[Outlet], unused: Unused = "error") -> Topology:
    """Return the operators that lead to some sinks, every one with a name of its own.

    A branch of the same streams that leads to no sink at all, or to one that no run was given, is
    an error, unless ``unused`` is ``"ignore"``.
    """
    branches = list(dict.fromkeys(b for outlet in outlets for b in outlet._upstream()))
    # Streams are named before sinks, so that adding a sink changes no stream's name.
    branches.sort(key=lambda branch: isinstance(branch, Outlet))
    if unused == "error":
        for branch in branches:
            _check_leads_somewhere(branch, outlets)
    names = _names(branches)
    _check_sources_named(branches, names)
    _check_windows_named(branches, names)
    _check_processes_named(branches, names)
    return Topology(
        replace(
            branch._operator,
            name=names[branch],
            inputs=tuple(names[parent] for parent in branch._parents),
        )
        for branch in branches
    )


def _names(branches: Sequence[Branch]) -> dict[Branch, str]:
    """Keep the names that were given; number those that were not."""
    taken = {branch._operator.name for branch in branches if branch._is_named}
    names: dict[Branch, str] = {}
    for branch in branches:
        name = hint = branch._operator.name
        number = 1
        while not branch._is_named and name in taken:
            number += 1
            name = f"{hint}_{number}"
        taken.add(name)
        names[branch] = name
    return names


def _check_sources_named(branches: Sequence[Branch], names: dict[Branch, str]) -> None:
    """A checkpoint knows sources by name, and numbers would follow the order of the branches."""
    sources = [branch for branch in branches if isinstance(branch._operator, Source)]
    for source in sources:
        if len(sources) > 1 and not source._is_named:
            raise TopologyError(
                names[source],
                "there are several sources and this one has no name, so a restart could mix "
                "them up",
                "Write Stream.read(df, name='clicks', ...).",
            )


def _check_windows_named(branches: Sequence[Branch], names: dict[Branch, str]) -> None:
    """A checkpoint knows partials by the name of their windows too."""
    unnamed = [
        branch
        for branch in branches
        if isinstance(branch._operator, Consolidate) and not branch._is_named
    ]
    if len(unnamed) > 1:
        raise TopologyError(
            names[unnamed[-1]],
            f"it has no name, and '{names[unnamed[0]]}' has none either, so a restart could mix up "
            "the partial results of the two",
            "Write aggregate(..., name='by_user').",
        )


def _check_processes_named(branches: Sequence[Branch], names: dict[Branch, str]) -> None:
    """A checkpoint knows the state of keys by its operator's name, which must not be a number's."""
    for branch in branches:
        if not isinstance(branch._operator, Process) or branch._is_named:
            continue
        hint = branch._operator.name
        twin = next((b for b in branches if b is not branch and b._operator.name == hint), None)
        if twin is not None:
            raise TopologyError(
                names[branch],
                f"it has no name, and '{names[twin]}' would be called the same, so a restart could "
                "mix up whose state is whose",
                "Write process(..., name='sessions').",
            )


def _check_leads_somewhere(branch: Branch, outlets: Sequence[Outlet]) -> None:
    for child in branch._children:
        if isinstance(child, Outlet):
            if not child.was_run and child not in outlets:
                raise _not_given(child, branch)
        elif not child._children:
            raise sinkless(child._operator)
        else:
            _check_leads_somewhere(child, outlets)


def _not_given(outlet: Outlet, of: Branch) -> TopologyError:
    return TopologyError(
        outlet._operator.name,
        f"this sink ({outlet._operator.describe()}) was not given to run, so the rows of "
        f"'{of._operator.name}' would not reach it",
        "Write run(a, b, ...) with all that .to(sink) returned, or run(..., unused='ignore') "
        "to leave it out.",
    )
