"""A topology for people: as text, or as a Mermaid drawing."""

from __future__ import annotations

from typing import Literal

from penstock.errors import ConfigurationError
from penstock.topology.components import Component, components
from penstock.topology.dag import Topology
from penstock.topology.jobs import kept
from penstock.topology.operators import DeadLetters, Operator, Output, PythonOperator

Format = Literal["text", "mermaid"]


def explain(topology: Topology, format: Format = "text") -> str:
    """Show the operators, their components, and what runs in the JVM and what in Python."""
    if format == "text":
        return _text(topology)
    if format == "mermaid":
        return _mermaid(topology)
    raise ConfigurationError(
        f"there is no format {format!r}. Write explain(), or explain(format='mermaid')."
    )


def _text(topology: Topology) -> str:
    lines = ["Topology"]
    lines += [f"  {_line(operator)}" for operator in topology]
    lines += ["", "Components (one Spark stage each; the plan sets the tasks of those with Python)"]
    lines += [f"  {_component(component)}" for component in components(topology)]
    shared = kept(topology)
    if shared:
        lines += ["", f"Kept once per micro-batch for several readers: {', '.join(shared)}"]
    return "\n".join(lines)


def _line(operator: Operator) -> str:
    reads = f" <- {', '.join(operator.inputs)}" if operator.inputs else ""
    detail = " ".join(operator.describe().split())  # SQL may run over several lines
    columns = "" if isinstance(operator, Output) else f"  [{operator.schema}]"
    return f"{operator.name}: {operator.kind}{f' ({detail})' if detail else ''}{reads}{columns}"


def _component(component: Component) -> str:
    steps = []
    for step in component.steps():
        place = "Python" if isinstance(step[0], PythonOperator) else "JVM"
        steps.append(f"{place}({' + '.join(operator.name for operator in step)})")
    return f"{component.name}: {' -> '.join(steps)}"


def _mermaid(topology: Topology) -> str:
    lines = ["flowchart LR"]
    inside: set[str] = set()
    for component in components(topology):
        lines.append(f"  subgraph component_{component.name}[{_quoted(component.name)}]")
        for operator in component.operators:
            lines.append(f"    {_node(operator)}")
            inside.add(operator.name)
        lines.append("  end")
    lines += [f"  {_node(operator)}" for operator in topology if operator.name not in inside]
    for operator in topology:
        arrow = "-. failed rows .->" if isinstance(operator, DeadLetters) else "-->"
        lines += [f"  {_id(name)} {arrow} {_id(operator.name)}" for name in operator.inputs]
    python = [_id(op.name) for op in topology if isinstance(op, PythonOperator)]
    if python:
        lines += ["  classDef python fill:#fde68a,stroke:#92400e,color:#111"]
        lines += [f"  class {','.join(python)} python"]
    return "\n".join(lines)


def _node(operator: Operator) -> str:
    label = _quoted(f"{operator.name}<br/>{operator.kind}")
    shapes = {"source": f"[/{label}/]", "sink": f"[({label})]"}
    return f"{_id(operator.name)}{shapes.get(operator.kind, f'[{label}]')}"


def _id(name: str) -> str:
    """Keep names apart from Mermaid's own words, such as end, click and style."""
    return f"op_{name}"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', "#quot;") + '"'
