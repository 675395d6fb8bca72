"""Draws a topology as a journal tells it: operators in their components, coloured by how busy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.journal.topology_events import PlannedOperator
from penstock.topology.explain_blocks import TEXT_PADDING, Box
from penstock.topology.explain_layout import Edge, Layout, laid_out
from penstock.topology.explain_svg import NAMESPACE, edge_path, rectangle, safe, written
from penstock.topology.explain_words import Words, cut

HEATS = 5
_DEAD_LETTERS = "dead letters"
STYLE = """
.drawing { overflow-x: auto; border: 1px solid var(--line); border-radius: 12px; }
.drawing:focus-visible { outline: 2px solid var(--k0); outline-offset: 2px; }
.drawing svg { display: block; width: auto; max-width: none; margin: 0 auto; }
.drawing svg text { fill: var(--fg); } .drawing .name, .drawing .title { font-weight: 600; }
.drawing .name, .drawing .kind { text-anchor: middle; } .drawing svg .small { fill: var(--soft); }
.component rect { fill: var(--box); stroke: var(--line); }
.operator rect { fill: var(--bg); stroke: var(--soft); } .python rect { stroke-width: 2; }
.heat0 rect { fill: color-mix(in srgb, var(--k2) 12%, var(--bg)); }
.heat1 rect { fill: color-mix(in srgb, var(--k2) 30%, var(--bg)); }
.heat2 rect { fill: color-mix(in srgb, var(--k4) 30%, var(--bg)); }
.heat3 rect { fill: color-mix(in srgb, var(--k1) 45%, var(--bg)); }
.heat4 rect { fill: color-mix(in srgb, var(--k5) 50%, var(--bg)); }
.edge path { fill: none; stroke: var(--soft); stroke-width: 1.4; }
.edge .tip { fill: var(--soft); stroke: none; } .failed path { stroke-dasharray: 5 4; }
@media print { .drawing { overflow: visible; } .drawing svg { max-width: 100%; height: auto; } }
"""


@dataclass(frozen=True, slots=True)
class OperatorNote:
    """What is written below an operator's name, and how busy it is: 0 idle, 1 fully, or above."""

    text: str
    utilisation: float | None = None
    about: str = ""


def topology_svg(
    operators: Sequence[PlannedOperator], notes: Mapping[str, OperatorNote] | None = None
) -> str:
    """Return the drawing; ``notes`` are by operator, in whose place else its kind is written.

    >>> clicks = PlannedOperator("clicks", "source", "score")
    >>> score = PlannedOperator("<score>", "map", "score", ("clicks",))
    >>> drawn = topology_svg([clicks, score], {"clicks": OperatorNote("80 rows/s", 0.2)})
    >>> "&lt;score&gt;" in drawn, "80 rows/s" in drawn, drawn.count('class="edge')
    (True, True, 1)
    """
    notes = notes or {}
    there = in_order(operators)
    if not there:
        return ""
    names = {each.name for each in there}
    edges = tuple(
        dict.fromkeys(
            Edge(name, each.name, each.kind == _DEAD_LETTERS)
            for each in there
            for name in each.inputs
            if name in names
        )
    )
    homes = _homes(there, edges)
    words = _words(there, homes, notes)
    drawn = laid_out(homes, edges, words)
    parts = [
        f'<svg xmlns="{NAMESPACE}" role="img" aria-label="{safe(_said(there))}" '
        f'width="{drawn.width:g}" height="{drawn.height:g}" '
        f'viewBox="0 0 {drawn.width:g} {drawn.height:g}">',
        *_components(drawn, words),
        *_edges(drawn),
        *[_operator(each, drawn.operators[each.name], words, notes) for each in there],
        "</svg>",
    ]
    return "".join(parts)


def in_order(operators: Sequence[PlannedOperator]) -> list[PlannedOperator]:
    """Return each operator once, after those it reads; of a circle, what reads ahead is cut.

    >>> a, b = PlannedOperator("a", "map", "a", ("b",)), PlannedOperator("b", "source", "b")
    >>> [each.name for each in in_order([a, b, a])]
    ['b', 'a']
    """
    waiting = {each.name: each for each in reversed(operators)}
    waiting = dict(reversed(waiting.items()))
    done: dict[str, PlannedOperator] = {}
    while waiting:
        ready = [
            each for each in waiting.values() if not any(name in waiting for name in each.inputs)
        ]
        if not ready:
            first = next(iter(waiting.values()))
            known = tuple(name for name in first.inputs if name in done)
            ready = [replace(first, inputs=known)]
        for each in ready:
            done[each.name] = each
            del waiting[each.name]
    return list(done.values())


def _homes(operators: Sequence[PlannedOperator], edges: Sequence[Edge]) -> dict[str, str | None]:
    """Return the component that each is drawn in; one that stands alone needs no box around it."""
    counts: dict[str, int] = {}
    for each in operators:
        counts[each.component] = counts.get(each.component, 0) + 1
    homes = {
        each.name: each.component if each.component and counts[each.component] > 1 else None
        for each in operators
    }
    # No plan of Penstock's has rows that leave a component and come back; a journal may say so.
    return homes if _is_acyclic(homes, edges) else dict.fromkeys(homes)


def _is_acyclic(homes: Mapping[str, str | None], edges: Sequence[Edge]) -> bool:
    place = {name: ("in", home) if home else ("own", name) for name, home in homes.items()}
    reads: dict[tuple[str, str], set[tuple[str, str]]] = {each: set() for each in place.values()}
    for edge in edges:
        if place[edge.source] != place[edge.target]:
            reads[place[edge.target]].add(place[edge.source])
    while free := [each for each, before in reads.items() if not before]:
        for each in free:
            del reads[each]
        for before in reads.values():
            before.difference_update(free)
    return not reads


def _words(
    operators: Sequence[PlannedOperator],
    homes: Mapping[str, str | None],
    notes: Mapping[str, OperatorNote],
) -> Words:
    below = {each.name: notes[each.name].text if each.name in notes else "" for each in operators}
    inside: dict[str, int] = {}
    for home in homes.values():
        if home is not None:
            inside[home] = inside.get(home, 0) + 1
    return Words(
        {each.name: (cut(each.name), cut(below[each.name] or each.kind)) for each in operators},
        {home: (cut(home), f"{count} operators in one") for home, count in inside.items()},
        {},
    )


def _said(operators: Sequence[PlannedOperator]) -> str:
    """Say the drawing in a sentence, for those who can't see it."""
    said = [
        f"{each.name}, {each.kind}" + (f", reads {', '.join(each.inputs)}" if each.inputs else "")
        for each in operators
    ]
    return f"Operators from sources to sinks: {'; '.join(said)}."


def _components(drawn: Layout, words: Words) -> Iterator[str]:
    for name, box in drawn.components.items():
        title, kind = words.components[name]
        yield f'<g class="component"><title>component {safe(name)}</title>{rectangle(box, 12)}'
        yield written(box.x + TEXT_PADDING, box.y + 19, title, "title")
        yield f"{written(box.x + TEXT_PADDING, box.y + 33, kind, 'small')}</g>"


def _edges(drawn: Layout) -> Iterator[str]:
    for edge, runs in drawn.routes.items():
        tip, y = runs[-1].end, runs[-1].y
        kind = "failed" if edge.failed else "plain"
        yield (
            f'<g class="edge {kind}"><path d="{edge_path(runs)}"/>'
            f'<path class="tip" d="M{tip:g} {y:g}l-8 -4.5v9z"/></g>'
        )


def _operator(
    operator: PlannedOperator, box: Box, words: Words, notes: Mapping[str, OperatorNote]
) -> str:
    name, below = words.operators[operator.name]
    note = notes.get(operator.name)
    heat = "" if note is None or note.utilisation is None else f" heat{_heat(note.utilisation)}"
    classes = f"operator {'python' if operator.runs_python else 'jvm'}{heat}"
    about = ", ".join(
        part
        for part in (
            f"{operator.name}: {operator.kind}",
            operator.detail,
            "in Python" if operator.runs_python else "",
            note.about if note else "",
        )
        if part
    )
    middle = box.x + box.width / 2
    corner = box.height / 2 if operator.kind in ("source", "sink") else 6
    texts = written(middle, box.y + 19, name, "name") + written(middle, box.y + 34, below, "kind")
    return f'<g class="{classes}"><title>{safe(about)}</title>{rectangle(box, corner)}{texts}</g>'


def _heat(utilisation: float) -> int:
    return min(HEATS - 1, max(0, int(utilisation * HEATS)))
