"""A page that tells a simulation, in one file: it loads nothing, and is light or dark as asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from penstock.simulation.comparison import Simulation
from penstock.simulation.figure import Figure
from penstock.simulation.report.figures import drawn_outcomes, figures_of
from penstock.simulation.report.svg import COLOURS, svg
from penstock.simulation.trial import Outcome

MOST_DECISIONS = 200
_COLUMNS = (
    ("saved", "saved"),
    ("degradation", "degradation"),
    ("processed", "processed"),
    ("mean latency s", "mean_latency_seconds"),
    ("95 % s", "p95_latency_seconds"),
    ("99 % s", "p99_latency_seconds"),
    ("slot-hours", "slot_hours"),
    ("changes", "changes"),
    ("behind s", "behind_seconds"),
)
_STYLE = """
:root { color-scheme: light dark; --fg: #1b1f24; --bg: #ffffff; --soft: #57606a; --line: #d8dee4;
  --best: #ddf4e4; --k0: #0969da; --k1: #cf5b00; --k2: #1a7f37; --k3: #8250df; --k4: #b35900;
  --k5: #cf222e; }
@media (prefers-color-scheme: dark) { :root { --fg: #e6edf3; --bg: #0d1117; --soft: #9198a1;
  --line: #30363d; --best: #12331f; --k0: #58a6ff; --k1: #ffa657; --k2: #3fb950; --k3: #bc8cff;
  --k4: #d29922; --k5: #ff7b72; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--fg); background: var(--bg);
  max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--line); text-align: right;
  white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
td.why { text-align: left; white-space: normal; }
tr.best { background: var(--best); } .soft { color: var(--soft); }
pre { background: color-mix(in srgb, var(--fg) 7%, transparent); padding: .6rem; overflow-x: auto; }
svg { width: 100%; height: auto; } svg text { fill: var(--soft); font-size: 11px; }
svg .mid { text-anchor: middle; } svg .end { text-anchor: end; } svg .grid { stroke: var(--line); }
svg polyline { fill: none; stroke-width: 1.6; } .key span { margin-right: 1rem; }
"""


def page(found: Simulation, asked: Mapping[str, str], command: str) -> str:
    """Return the whole page; ``asked`` says what was simulated, ``command`` how to do it again."""
    best = found.best
    title = f"Simulation of {found.topology.name}"
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title><style>{_STYLE}{_colours()}</style></head><body>",
        f"<h1>{escape(title)}</h1><p>{escape(found.advice)}</p>",
        "<h2>What was asked</h2>",
        _pairs(asked),
        "<h2>What came of it</h2>",
        _table(found.outcomes, best),
        _note(found),
    ]
    parts += [_figure(each) for each in figures_of(found)]
    parts += [
        f"<h2>What {escape(best.label)} decided, and why</h2>",
        _decisions(best),
        "<h2>How to run it again</h2>",
        f"<pre>{escape(command)}</pre>",
        "</body></html>",
    ]
    return "\n".join(parts)


def _colours() -> str:
    rules = (
        f".c{n} polyline {{ stroke: var(--k{n}); }} .c{n} circle {{ fill: var(--k{n}); }} "
        f".key .k{n} {{ color: var(--k{n}); }}"
        for n in range(COLOURS)
    )
    return "\n".join(rules)


def _pairs(asked: Mapping[str, str]) -> str:
    rows = (
        f'<tr><td>{escape(name)}</td><td class="why">{escape(value)}</td></tr>'
        for name, value in asked.items()
    )
    return f'<div class="wide"><table>{"".join(rows)}</table></div>'


def _table(outcomes: Sequence[Outcome], best: Outcome) -> str:
    head = "".join(f"<th>{name}</th>" for name, _ in _COLUMNS)
    rows = []
    for each in outcomes:
        found = each.measures
        cells = "".join(f"<td>{_number(getattr(found, name))}</td>" for _, name in _COLUMNS)
        kind = ' class="best"' if each is best else ""
        rows.append(f"<tr{kind}><td>{escape(each.label)}</td>{cells}</tr>")
    return (
        f'<div class="wide"><table><tr><th>policy</th>{head}</tr>{"".join(rows)}</table></div>'
        '<p class="soft">saved: share of slots, against always having the most. degradation: mean '
        "of |input - output| / input over 10 seconds. behind: time in micro-batches that took "
        "longer than their trigger.</p>"
    )


def _note(found: Simulation) -> str:
    drawn = drawn_outcomes(found)
    if len(drawn) == len(found.outcomes):
        return ""
    return (
        f'<p class="soft">Of {len(found.outcomes)} runs, the figures over time show '
        f"{len(drawn)}: the best, and the cheapest others.</p>"
    )


def _figure(figure: Figure) -> str:
    key = ""
    if 1 < len(figure.series) <= 3 * COLOURS:
        marks = (
            f'<span class="k{number % COLOURS}">&#9632; {escape(name)}</span>'
            for number, name in enumerate(figure.series)
        )
        key = f'<p class="key">{"".join(marks)}</p>'
    return f"<h2>{escape(figure.title)}</h2>{key}{svg(figure)}"


def _decisions(outcome: Outcome) -> str:
    made = outcome.run.decisions
    changed = [
        each
        for number, each in enumerate(made)
        if number == 0 or each.decision.slots != made[number - 1].decision.slots
    ]
    rows = "".join(
        f"<tr><td>{_number(each.at_seconds)}</td><td>{each.decision.slots}</td>"
        f'<td class="why">{escape(each.decision.reason)}</td></tr>'
        for each in changed[:MOST_DECISIONS]
    )
    left = len(changed) - MOST_DECISIONS
    more = f'<p class="soft">and {left:,} more; the journal has all.</p>' if left > 0 else ""
    head = '<tr><th>second</th><th>slots</th><th style="text-align:left">why</th></tr>'
    return f'<div class="wide"><table>{head}{rows}</table></div>{more}'


def _number(value: float) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.4g}" if abs(value) < 1_000 else f"{value:,.0f}"
