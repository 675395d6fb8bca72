"""A topology as a Mermaid drawing: components as subgraphs, edges with what moves rows there."""

from __future__ import annotations

from penstock.topology.components import Components
from penstock.topology.explain_components import entrance_of, runs_in_python
from penstock.topology.operators import DeadLetters, Operator


def mermaid(components: Components) -> str:
    """Return the text of a drawing; thick edges are those at whose end rows are moved."""
    topology = components.topology
    lines = ["flowchart LR"]
    inside: set[str] = set()
    for component in components:
        lines.append(f"  subgraph component_{component.name}[{_quoted(component.name)}]")
        for operator in component.operators:
            lines.append(f"    {_node(operator)}")
            inside.add(operator.name)
        lines.append("  end")
    lines += [f"  {_node(operator)}" for operator in topology if operator.name not in inside]
    for operator in topology:
        for name in operator.inputs:
            arrow = _arrow(components, name, operator)
            lines.append(f"  {_id(name)} {arrow} {_id(operator.name)}")
    python = [_id(operator.name) for operator in topology if runs_in_python(operator)]
    if python:
        lines += ["  classDef python fill:#fde68a,stroke:#92400e,color:#111"]
        lines += [f"  class {','.join(python)} python"]
    return "\n".join(lines)


def _arrow(components: Components, name: str, operator: Operator) -> str:
    if isinstance(operator, DeadLetters):
        return "-. failed rows .->"
    homes = components.grouping.homes
    if operator.name not in homes or components.together(name, operator.name):
        return "-->"
    label = entrance_of(components.of(operator.name), components).label
    return f"==>|{_quoted(label)}|" if label else "-->"


def _node(operator: Operator) -> str:
    label = f'"{operator.name}<br/>{operator.kind}"'
    shapes = {"source": f"[/{label}/]", "sink": f"[({label})]"}
    return f"{_id(operator.name)}{shapes.get(operator.kind, f'[{label}]')}"


def _id(name: str) -> str:
    """Keep names apart from Mermaid's own words, such as end, click and style."""
    return f"op_{name}"


def _quoted(text: str) -> str:
    """Write text as Mermaid takes it; names of columns may hold anything."""
    codes = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "|": "#124;"}
    return '"' + "".join(codes.get(each, each) for each in " ".join(text.split())) + '"'
