"""Draws a topology as SVG, in colours that its page chooses: no library, and nothing to load."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from itertools import pairwise

from penstock.topology.components import Components
from penstock.topology.explain_blocks import TEXT_PADDING, Box
from penstock.topology.explain_components import ComponentFacts, detail_of, runs_in_python
from penstock.topology.explain_layout import Edge, Layout, Run, layout
from penstock.topology.explain_words import Words
from penstock.topology.operators import Operator

NAMESPACE = "http://www.w3.org/2000/svg"
_UNFIT = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF), "\ufffd")


def safe(text: str) -> str:
    """Return a text as it may stand in HTML and SVG, also between quotes.

    >>> safe('<img src="x">')
    '&lt;img src=&quot;x&quot;&gt;'
    """
    whole = text.encode("utf-8", "replace").decode("utf-8")  # half of a pair of surrogates
    return escape(whole.translate(_UNFIT), quote=True)


def svg(components: Components, facts: Mapping[str, ComponentFacts]) -> str:
    """Return the drawing of a topology; ``facts`` are of its components, by name."""
    words = Words.of(components, facts)
    drawn = layout(components, words)
    parts = [
        f'<svg xmlns="{NAMESPACE}" role="img" aria-labelledby="drawing drawn" '
        f'width="{drawn.width:g}" height="{drawn.height:g}" '
        f'viewBox="0 0 {drawn.width:g} {drawn.height:g}">',
        '<title id="drawing">Operators and components, from sources to sinks</title>',
        f'<desc id="drawn">{safe(" ".join(_said(components, facts)))}</desc>',
        *_components(drawn, facts, words),
        *_edges(drawn, components, facts),
        *[_operator(each, drawn.operators[each.name], words) for each in components.topology],
        *_labels(drawn, components, facts, words),
        "</svg>",
    ]
    return "\n".join(parts)


def _said(components: Components, facts: Mapping[str, ComponentFacts]) -> Iterator[str]:
    """Say the drawing in sentences, for those who can't see it."""
    for name, each in facts.items():
        entrance = components[name].entrance
        reads = f", reads {', '.join(entrance.inputs)}" if entrance.inputs else ""
        yield f"Component {name}: {each.steps}{reads}; {each.entrance.text}."
    for operator in components.topology:
        if operator.name not in components.grouping.homes:
            kind = operator.kind.replace("_", " ")
            yield f"{operator.name}, {kind}, reads {', '.join(operator.inputs)}."


def _components(drawn: Layout, facts: Mapping[str, ComponentFacts], words: Words) -> Iterator[str]:
    for name, box in drawn.components.items():
        each = facts[name]
        title, kind = words.components[name]
        about = f"{name}: {each.kind}; {each.partitioned}; {each.entrance.text}"
        yield f'<g class="component"><title>{safe(about)}</title>{rectangle(box, 12)}'
        yield written(box.x + TEXT_PADDING, box.y + 19, title, "title")
        yield f"{written(box.x + TEXT_PADDING, box.y + 33, kind, 'small')}</g>"


def _operator(operator: Operator, box: Box, words: Words) -> str:
    name, kind = words.operators[operator.name]
    classes = f"operator {'python' if runs_in_python(operator) else 'jvm'}"
    round_ = box.height / 2 if operator.kind in ("source", "sink") else 6
    detail = detail_of(operator)
    about = f"{operator.name}: {operator.kind}{f' ({detail})' if detail else ''}"
    middle = box.x + box.width / 2
    return (
        f'<g class="{classes}"><title>{safe(about)}</title>{rectangle(box, round_)}'
        f"{written(middle, box.y + 19, name, 'name')}"
        f"{written(middle, box.y + 34, kind, 'kind')}</g>"
    )


def _edges(
    drawn: Layout, components: Components, facts: Mapping[str, ComponentFacts]
) -> Iterator[str]:
    """Draw the edges, those last along which rows are moved: they cover others where they part."""
    kinds = {edge: _kind(edge, components, facts) for edge in drawn.routes}
    for edge in sorted(drawn.routes, key=lambda each: kinds[each] == "moved"):
        runs = drawn.routes[edge]
        tip, y = runs[-1].end, runs[-1].y
        yield (
            f'<g class="edge {kinds[edge]}"><path d="{edge_path(runs)}"/>'
            f'<path class="tip" d="M{tip:g} {y:g}l-8 -4.5v9z"/></g>'
        )


def _kind(edge: Edge, components: Components, facts: Mapping[str, ComponentFacts]) -> str:
    if edge.failed:
        return "failed"
    home = components.grouping.homes.get(edge.target)
    if home is None or components.together(edge.source, edge.target):
        return "plain"
    return "moved" if facts[home].entrance.label else "plain"


def edge_path(runs: tuple[Run, ...]) -> str:
    """Return the way of an edge as the data of a path."""
    parts = [f"M{runs[0].start:g} {runs[0].y:g}H{runs[0].end:g}"]
    for before, after in pairwise(runs):
        middle = (before.end + after.start) / 2
        parts.append(
            f"C{middle:g} {before.y:g} {middle:g} {after.y:g} {after.start:g} {after.y:g}"
            f"H{after.end:g}"
        )
    return "".join(parts)


def _labels(
    drawn: Layout, components: Components, facts: Mapping[str, ComponentFacts], words: Words
) -> Iterator[str]:
    for name, box in drawn.components.items():
        if words.labels[name]:
            y = drawn.operators[components[name].entrance.name].middle
            about = safe(facts[name].entrance.text)
            label = written(box.x - 8, y - 7, words.labels[name], "label")
            yield f"<g><title>{about}</title>{label}</g>"


def rectangle(box: Box, corner: float) -> str:
    """Return a box with round corners."""
    x, y, width, height = box
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{corner:g}"/>'


def written(x: float, y: float, text: str, kind: str) -> str:
    """Return a text at a place; ``kind`` is its class."""
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{safe(text)}</text>'
