"""A page that shows a topology, in one file: it loads nothing, and is light or dark as asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from penstock.topology.adaptation import plan_problem
from penstock.topology.components import Components
from penstock.topology.explain_components import ComponentFacts, detail_of, facts_of
from penstock.topology.explain_svg import safe, svg
from penstock.topology.explain_why import borders, shared_windows
from penstock.topology.jobs import kept
from penstock.topology.operators import Operator, Output

MOST_SOURCES = 3
_STYLE = """
:root { color-scheme: light dark; --fg: #1b1f24; --bg: #ffffff; --soft: #57606a; --line: #d8dee4;
  --box: #f6f8fa; --edge: #6e7781; --moved: #0969da; --failed: #cf222e; --python: #fff1c2;
  --python-line: #9a6700; }
@media (prefers-color-scheme: dark) { :root { --fg: #e6edf3; --bg: #0d1117; --soft: #9198a1;
  --line: #30363d; --box: #151b23; --edge: #8b949e; --moved: #58a6ff; --failed: #ff7b72;
  --python: #3b2e0a; --python-line: #d29922; } }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--fg); background: var(--bg);
  margin: 2rem 1rem; overflow-wrap: anywhere; }
body > * { max-width: 76rem; margin-left: auto; margin-right: auto; }
h1 { font-size: 1.5rem; margin-bottom: .25rem; }
h2 { font-size: 1.1rem; margin-top: 2rem; margin-bottom: .5rem; }
.soft { color: var(--soft); margin-top: 0; } code { font: 13px/1.5 ui-monospace, monospace; }
.drawing { width: fit-content; min-width: min(100%, 76rem); max-width: 100%; overflow-x: auto;
  border: 1px solid var(--line); border-radius: 12px; }
.drawing:focus-visible { outline: 2px solid var(--moved); outline-offset: 2px; }
svg { display: block; margin: 0 auto; }
svg text { fill: var(--fg); font: 11px system-ui, sans-serif; }
svg .name, svg .title { font: 600 12px ui-monospace, monospace; }
svg .name, svg .kind { text-anchor: middle; } svg .kind, svg .small { fill: var(--soft); }
.component rect { fill: var(--box); stroke: var(--line); }
.operator rect { fill: var(--bg); stroke: var(--edge); }
.python rect { fill: var(--python); stroke: var(--python-line); }
.edge path { fill: none; stroke: var(--edge); stroke-width: 1.4; }
.moved path { stroke: var(--moved); stroke-width: 3; }
.failed path { stroke: var(--failed); stroke-dasharray: 5 4; }
.edge .tip { fill: var(--edge); stroke: none; } .moved .tip { fill: var(--moved); }
.failed .tip { fill: var(--failed); }
svg .label { fill: var(--moved); text-anchor: end; paint-order: stroke; stroke: var(--bg);
  stroke-width: 4px; }
.key { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; padding: 0; list-style: none;
  font-size: 13px; } .key i { display: inline-block; width: 1.6rem; margin-right: .4rem;
  vertical-align: middle; border-top: 1.5px solid var(--edge); }
.key .box { height: .9rem; border: 1px solid var(--edge); border-radius: 4px; }
.key .in-python { background: var(--python); border-color: var(--python-line); }
.key .is-moved { border-top: 3px solid var(--moved); }
.key .has-failed { border-top: 1.5px dashed var(--failed); }
.wide { overflow-x: auto; overflow-wrap: break-word; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th, td { padding: .4rem 1rem .4rem 0; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; }
thead th { color: var(--soft); font-weight: 600; white-space: nowrap; }
td[data-name] { min-width: 9rem; } tbody th code { font-weight: 600; }
.why { padding-left: 1.2rem; } li { margin: .25rem 0; }
@media (max-width: 58rem) { thead { display: none; } .wide { overflow-wrap: anywhere; }
  table, tbody, tr, th, td { display: block; } th, td { border: 0; padding: .1rem 0; }
  tr { padding: .6rem 0; border-bottom: 1px solid var(--line); } td:empty { display: none; }
  td::before { content: attr(data-name) ": "; color: var(--soft); } }
"""
_KEY = (
    '<ul class="key"><li><i class="box in-python"></i>runs in Python</li>'
    '<li><i class="box"></i>runs in the JVM</li><li><i class="is-moved"></i>rows are moved</li>'
    "<li><i></i>rows stay, or come as they come</li>"
    '<li><i class="has-failed"></i>rows that failed</li></ul>'
)


def page(components: Components) -> str:
    """Return the whole page."""
    topology = components.topology
    facts = {each.name: facts_of(each, components) for each in components}
    title = _title([source.name for source in topology.sources])
    count = f"{len(topology)} operators, {_counted(len(facts), 'component')}."
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{safe(title)}</title><style>{_STYLE}</style></head><body>",
        f'<h1>{safe(title)}</h1><p class="soft">{count}</p>',
        *_problem(plan_problem(components)),
        '<div class="drawing" role="region" aria-label="Drawing, scrolls sideways" tabindex="0">',
        svg(components, facts),
        f"</div>{_KEY}",
        "<h2>Components</h2>",
        _table(_COMPONENT_COLUMNS, [_component(each) for each in facts.values()]),
        *_section(
            "Why components are apart",
            [(f"{b.upstream} → {b.downstream}", b.reason) for b in borders(components)],
        ),
        *_section(
            "Windows",
            [(w.operator, f"{w.panes()}; {w.partials}") for w in shared_windows(components)],
        ),
        *_kept(kept(topology, components)),
        "<h2>Operators</h2>",
        _table(_OPERATOR_COLUMNS, [_operator(each) for each in topology]),
        "</body></html>",
    ]
    return "\n".join(parts)


_COMPONENT_COLUMNS = ("component", "operators", "kind", "rows", "entrance", "most tasks")
_OPERATOR_COLUMNS = ("operator", "kind", "what it does", "reads", "columns")


def _problem(problem: str | None) -> list[str]:
    return [] if problem is None else [f"<p>This plan can't run: {safe(problem)}.</p>"]


def _title(sources: Sequence[str]) -> str:
    more = len(sources) - MOST_SOURCES
    names = ", ".join(sources[:MOST_SOURCES])
    return f"Topology of {names}{f' and {more} more' if more > 0 else ''}"


def _counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def _component(facts: ComponentFacts) -> list[str]:
    most = "not known" if facts.most_tasks is None else f"{facts.most_tasks:,}"
    return [facts.name, facts.steps, facts.kind, facts.partitioned, facts.entrance.text, most]


def _operator(operator: Operator) -> list[str]:
    columns = "" if isinstance(operator, Output) else str(operator.schema)
    detail, reads = detail_of(operator), ", ".join(operator.inputs)
    return [operator.name, operator.kind, detail, reads, columns]


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{name}</th>' for name in columns)
    body = []
    for name, *cells in rows:
        named = zip(columns[1:], cells, strict=True)
        written = "".join(
            f'<td data-name="{column}">{safe(cell)}</td>' if cell else "<td></td>"
            for column, cell in named
        )
        body.append(f'<tr><th scope="row"><code>{safe(name)}</code></th>{written}</tr>')
    return (
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def _section(title: str, lines: Sequence[tuple[str, str]]) -> list[str]:
    """Return a heading and a list, or nothing where there is nothing to tell."""
    if not lines:
        return []
    told = "".join(f"<li><code>{safe(name)}</code>: {safe(text)}</li>" for name, text in lines)
    return [f'<h2>{title}</h2><ul class="why">{told}</ul>']


def _kept(names: Sequence[str]) -> list[str]:
    if not names:
        return []
    listed = ", ".join(f"<code>{safe(name)}</code>" for name in names)
    return [f"<h2>Kept once per micro-batch for several readers</h2><p>{listed}</p>"]
