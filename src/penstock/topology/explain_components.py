"""What people are told of a component: what runs where, and what rows do at its entrance."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.topology.adaptation import describe
from penstock.topology.attributes import keys_of
from penstock.topology.components import Component, Components, owner_of_groups
from penstock.topology.operators import Compute, Consolidate, Operator, PythonOperator


@dataclass(frozen=True, slots=True)
class Entrance:
    """What happens to rows where they come into a component.

    ``label`` is for the edge of a drawing; it is empty where rows are not moved.
    """

    text: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class ComponentFacts:
    """A component in words; ``kind`` is Enorm's, ``most_tasks`` is None where nobody knows."""

    name: str
    steps: str
    kind: str
    partitioned: str
    entrance: Entrance
    most_tasks: int | None


def facts_of(component: Component, components: Components) -> ComponentFacts:
    """Say in words what a component is."""
    return ComponentFacts(
        component.name,
        " -> ".join(_step(step) for step in component.steps),
        describe(component),
        _partitioned(component, components),
        entrance_of(component, components),
        component.most_tasks,
    )


def entrance_of(component: Component, components: Components) -> Entrance:
    """Say what happens to rows where they come into a component."""
    first, columns = component.entrance, ", ".join(component.by)
    if isinstance(first, PythonOperator):
        if keyed := owner_of_groups(component):
            text = f"rows are exchanged by {keyed.groups} key groups"
            return Entrance(text, f"key groups of {columns}")
        if columns:
            return Entrance(f"rows are exchanged on {columns}", f"on {columns}")
        return Entrance("rows are placed by the placement", "placed")
    if isinstance(first, Compute):
        if first.moves_rows:
            return Entrance("rows are placed by pane", "by pane")
        if first.name in components.job.moving:
            label = f"key groups of {', '.join(first.keys)}"
            return Entrance("rows are exchanged by key groups", label)
        return Entrance("rows are exchanged by Spark's own aggregate", "Spark's exchange")
    return Entrance("rows come as they come")


def detail_of(operator: Operator) -> str:
    """Say on one line what an operator does; SQL may run over several."""
    return " ".join(operator.describe().split())


def runs_in_python(operator: Operator) -> bool:
    """Whether an operator's work is known to be done by Python workers.

    So is that of preference queries, which have a way of their own to share rows out.
    """
    return isinstance(operator, PythonOperator) or (
        isinstance(operator, Compute) and operator.moves_rows
    )


def _step(step: tuple[Operator, ...]) -> str:
    place = "Python" if runs_in_python(step[0]) else "JVM"
    return f"{place}({' + '.join(operator.name for operator in step)})"


def _partitioned(component: Component, components: Components) -> str:
    """Say which rows must be together.

    Where Spark's own exchange sees to it, those are the rows of a key and a pane or window.
    """
    if component.by:
        return f"partitioned on {', '.join(component.by)}"
    first = component.entrance
    if not isinstance(first, Compute | Consolidate):
        return "any rows anywhere"
    if isinstance(first, Compute) and first.moves_rows:
        return "partitioned on pane, and panes may be split"
    keys = ", ".join(keys_of(first, components.topology) or ())
    span = "pane" if isinstance(first, Compute) else "window"
    return f"partitioned on {f'{keys} and ' if keys else ''}{span}"
