"""A topology for people: as text, as a Mermaid drawing, or as a page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from penstock.arguments import is_one_of, shown
from penstock.errors import ConfigurationError
from penstock.secrets import redacted
from penstock.topology.adaptation import plan_problem
from penstock.topology.components import Component, Components
from penstock.topology.explain_components import detail_of, facts_of
from penstock.topology.explain_html import page
from penstock.topology.explain_mermaid import mermaid
from penstock.topology.explain_why import borders, shared_windows
from penstock.topology.jobs import kept
from penstock.topology.operators import Operator, Output

Format = Literal["text", "mermaid", "html"]


def explain(components: Components, format: Format = "text") -> str:
    """Show operators, components, where rows move and which windows share panes, and why.

    ``text`` is for terminals and logs, ``mermaid`` for where Mermaid is drawn, and ``html`` is a
    whole page that loads nothing. Secrets in expressions and names of sinks are hidden.
    """
    forms = {"text": _text, "mermaid": mermaid, "html": page}
    if is_one_of(format, forms):
        return redacted(forms[format](components))
    raise ConfigurationError(
        f"there is no format {shown(format)}. Write explain(), which is format='text', or "
        "explain(format='mermaid'), or explain(format='html')."
    )


def _text(components: Components) -> str:
    topology, problem = components.topology, plan_problem(components)
    lines = [] if problem is None else [f"This plan can't run: {problem}.", ""]
    lines += ["Topology"]
    lines += [f"  {_line(operator)}" for operator in topology]
    lines += ["", "Components (one Spark stage each; the plan sets the tasks of those with Python)"]
    lines += [line for component in components for line in _component(component, components)]
    if apart := borders(components):
        lines += ["", "Why (what keeps components apart that read each other)"]
        lines += [f"  {one.upstream} -> {one.downstream}: {one.reason}" for one in apart]
    if windows := shared_windows(components):
        lines += ["", "Windows (every row becomes part of a pane once, for all windows)"]
        for each in windows:
            lines += [f"  {each.operator}: {each.panes(most=8)}", f"    {each.partials}"]
    if shared := kept(topology, components):
        lines += ["", f"Kept once per micro-batch for several readers: {', '.join(shared)}"]
    return "\n".join(lines)


def _line(operator: Operator) -> str:
    reads = f" <- {', '.join(operator.inputs)}" if operator.inputs else ""
    detail = detail_of(operator)
    columns = "" if isinstance(operator, Output) else f"  [{operator.schema}]"
    return f"{operator.name}: {operator.kind}{f' ({detail})' if detail else ''}{reads}{columns}"


def _component(component: Component, components: Components) -> Iterator[str]:
    facts = facts_of(component, components)
    tasks = "" if facts.most_tasks is None else f", over at most {facts.most_tasks:,} tasks"
    yield f"  {facts.name}: {facts.steps}"
    yield f"    {facts.kind}; {facts.partitioned}{tasks}; {facts.entrance.text}"
