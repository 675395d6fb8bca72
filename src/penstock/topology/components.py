"""Components: operators that run together, as one Spark stage with one number of tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from penstock.topology.attributes import Attribute
from penstock.topology.dag import Topology
from penstock.topology.fusion_rules import TopologyJob, first_grouping
from penstock.topology.grouping import Grouping
from penstock.topology.operators import (
    Compute,
    Consolidate,
    Operator,
    Process,
    PythonOperator,
)

Steps = tuple[tuple[Operator, ...], ...]


@dataclass(frozen=True)
class Component:
    """Operators between which no row moves, named after the first unless the user named it.

    Rows may move at its entrance. ``by`` are the columns there on which rows are partitioned, so
    that all its keyed operators find the rows of a key together; none where any row may go
    anywhere. ``most_tasks`` is how many tasks can have work at all, where that is known.
    """

    name: str
    operators: tuple[Operator, ...]
    by: tuple[str, ...] = ()
    attributes: frozenset[Attribute] = frozenset()
    most_tasks: int | None = None
    steps: Steps = field(default=())

    @property
    def runs_python(self) -> bool:
        """Whether any of its operators calls a user's Python function."""
        return any(isinstance(operator, PythonOperator) for operator in self.operators)

    @property
    def entrance(self) -> Operator:
        """The operator at which rows come in."""
        return self.operators[0]

    @property
    def is_stateful(self) -> bool:
        """Whether it keeps something between rows: Enorm's stateful component."""
        return any(isinstance(operator, Compute | Process) for operator in self.operators)

    @property
    def is_rigid(self) -> bool:
        """Whether the rows of a key must stay together: Enorm's rigid component."""
        return any(isinstance(operator, Consolidate | Process) for operator in self.operators)


class Components:
    """A topology in components, as a grouping has it."""

    def __init__(
        self,
        topology: Topology,
        grouping: Grouping | None = None,
        moving: frozenset[str] = frozenset(),
    ) -> None:
        self.topology = topology
        self.job = TopologyJob(topology, moving=moving)
        self.grouping = first_grouping(self.job) if grouping is None else grouping
        self._all = {name: self._component(name) for name in self.grouping}

    def __iter__(self) -> Iterator[Component]:
        return iter(self._all.values())

    def __getitem__(self, name: str) -> Component:
        return self._all[name]

    def __contains__(self, name: object) -> bool:
        return name in self._all

    def of(self, operator: str) -> Component:
        """Return the component that an operator runs in."""
        return self._all[self.grouping.homes[operator]]

    def leading(self, component: str) -> tuple[Operator, ...]:
        """Return the operators of a component but SQL that goes along with one of them."""
        leaders = set(self.job.operators)
        return tuple(op for op in self._all[component].operators if op.name in leaders)

    def together(self, one: str, other: str) -> bool:
        """Whether two operators run in one component."""
        return self.grouping.together(one, other)

    @cached_property
    def step_ends(self) -> Mapping[str, str]:
        """For every operator of a component, the last one of the step that it runs in."""
        return {
            operator.name: step[-1].name
            for component in self
            for step in component.steps
            for operator in step
        }

    def is_complete(self, compute: Compute) -> bool:
        """Whether rows come to where partials are made of them with all of their key's."""
        home = self.of(compute.name).attributes
        return self.stays(compute) and bool(home) and home <= self.job.key_attributes(compute.name)

    def is_split(self, compute: Compute) -> bool:
        """Whether partials of one key may be made in several tasks."""
        return self.stays(compute) and not self.is_complete(compute)

    def stays(self, compute: Compute) -> bool:
        """Whether partials are made where rows are; otherwise it brings them together by itself."""
        return self.of(compute.name).entrance.name != compute.name

    def regrouped(self, homes: Mapping[str, str]) -> Components:
        """Return the same topology in other components, by operator."""
        return Components(self.topology, Grouping(homes), self.job.moving)

    def _component(self, name: str) -> Component:
        members = self.grouping.members(name)
        operators = tuple(self.topology[each] for each in members)
        attributes = self.job.partitioned_on(frozenset(members))
        entrance = operators[0].name
        by = self.job.lineage.columns(entrance, attributes) if attributes else ()
        most = self.job.lineage.cardinality(attributes) if attributes else float("inf")
        return Component(
            name,
            operators,
            by or (),
            attributes,
            int(most) if most < float("inf") else None,
            self._steps(operators),
        )

    def _steps(self, operators: tuple[Operator, ...]) -> Steps:
        """Put neighbouring Python operators together: one crossing to Python."""
        runs: list[list[Operator]] = []
        ends: dict[str, list[Operator]] = {}
        for operator in operators:
            run = ends.pop(operator.inputs[0], None) if len(operator.inputs) == 1 else None
            if run is not None and self._crosses_with(run[-1], operator):
                run.append(operator)
            else:
                run = [operator]
                runs.append(run)
            ends[operator.name] = run
        return tuple(tuple(run) for run in runs)

    def _crosses_with(self, before: Operator, operator: Operator) -> bool:
        if self.topology.is_fork(before.name):
            return False
        if isinstance(before, Process) or isinstance(operator, Process):
            if not (isinstance(before, Process) and isinstance(operator, Process)):
                return False
            return before.keys == operator.keys
        return isinstance(before, PythonOperator) and isinstance(operator, PythonOperator)


def owner_of_groups(component: Component) -> Process | None:
    """Return the keyed operator whose key groups say where the rows of a component go."""
    return next((op for op in component.operators if isinstance(op, Process)), None)
