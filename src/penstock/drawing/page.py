"""Pages in one file: they load nothing, are light or dark as asked, and fit a phone and paper."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from penstock.drawing.figure import Figure
from penstock.drawing.svg import COLOURS, NARROW_HEIGHT, NARROW_WIDTH, svg
from penstock.topology.explain_svg import safe

_LONG_LETTERS = 20
STYLE = """
:root { color-scheme: light dark; --fg: #1b1f24; --bg: #ffffff; --soft: #57606a; --line: #d8dee4;
  --box: #f6f8fa; --best: #ddf4e4; --bad: #cf222e; --k0: #0969da; --k1: #bc4c00; --k2: #1a7f37;
  --k3: #8250df; --k4: #b35900; --k5: #cf222e; }
@media (prefers-color-scheme: dark) { :root { --fg: #e6edf3; --bg: #0d1117; --soft: #9198a1;
  --line: #30363d; --box: #151b23; --best: #12331f; --bad: #ff7b72; --k0: #58a6ff; --k1: #ffa657;
  --k2: #3fb950; --k3: #bc8cff; --k4: #d29922; --k5: #ff7b72; } }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--fg); background: var(--bg);
  max-width: 62rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.25; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums;
  overflow-wrap: break-word; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--line); text-align: right;
  white-space: nowrap; vertical-align: top; }
th:first-child, td:first-child { text-align: left; }
th.why, td.why { text-align: left; } td.long { min-width: 12rem; white-space: normal; }
tr.best { background: var(--best); } .soft { color: var(--soft); }
pre { background: color-mix(in srgb, var(--fg) 7%, transparent); padding: .6rem; overflow-x: auto;
  overflow-wrap: normal; }
figure { margin: 0; } figcaption { font-weight: 600; font-size: .9rem; }
svg { width: 100%; height: auto; } svg text { fill: var(--soft); font-size: 11px; }
svg .mid { text-anchor: middle; } svg .end { text-anchor: end; } svg .grid { stroke: var(--line); }
svg polyline { fill: none; stroke-width: 1.6; stroke-linejoin: round; }
svg .dashed polyline { stroke-dasharray: 5 4; } svg .band { fill-opacity: .16; stroke: none; }
.key { margin: .25rem 0; } .key span { margin-right: 1rem; }
.narrow { display: none; }
@media screen and (max-width: 34rem) { .narrow { display: block; } .broad { display: none; }
  table { font-size: .87rem; } th, td { padding: .25rem .8rem .25rem 0; }
  td.long { min-width: 10rem; } }
.wide:focus-visible { outline: 2px solid var(--k0); outline-offset: 2px; }
@media print { :root { color-scheme: light; } body { margin: 0 auto; } .wide { overflow: visible; }
  h2, figcaption { break-after: avoid; } svg, tr { break-inside: avoid; } }
"""


def page(title: str, body: Iterable[str], style: str = "") -> str:
    """Return a whole page; ``body`` is markup already, ``title`` is text."""
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{safe(title)}</title><style>{STYLE}{_colours()}{style}</style></head><body>",
            *body,
            "</body></html>",
            "",
        ]
    )


def drawn(figure: Figure) -> str:
    """Return a figure with the key to its curves, drawn twice: for screens, and for phones."""
    key = ""
    if 1 < len(figure.series) <= 3 * COLOURS:
        marks = (
            f'<span class="k{number % COLOURS}">{_mark(figure, name)} {safe(name)}</span> '
            for number, name in enumerate(figure.series)
        )
        key = f'<p class="key">{"".join(marks)}</p>'
    narrow = svg(figure, NARROW_WIDTH, NARROW_HEIGHT)
    return f'{key}<div class="broad">{svg(figure)}</div><div class="narrow">{narrow}</div>'


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    why: Iterable[str] = (),
    best: int | None = None,
) -> str:
    """Return a table of texts; the columns named in ``why`` hold sentences, row ``best`` is lit."""
    sentences = set(why)
    head = "".join(f"<th{_kind(name in sentences, '')}>{safe(name)}</th>" for name in columns)
    lines = []
    for number, row in enumerate(rows):
        cells = "".join(
            f"<td{_kind(name in sentences, text)}>{safe(text)}</td>"
            for name, text in zip(columns, row, strict=True)
        )
        lit = ' class="best"' if number == best else ""
        lines.append(f"<tr{lit}>{cells}</tr>")
    top = f"<thead><tr>{head}</tr></thead>" if any(name.strip() for name in columns) else ""
    # Who has no mouse scrolls a wide table with the keyboard.
    scrolled = f"<table>{top}<tbody>{''.join(lines)}</tbody></table>"
    return f'<div class="wide" tabindex="0" role="group">{scrolled}</div>'


def _kind(is_sentence: bool, text: str) -> str:
    if not is_sentence:
        return ""
    return ' class="why long"' if len(text) > _LONG_LETTERS else ' class="why"'


def _mark(figure: Figure, name: str) -> str:
    return "&#9476;" if name in figure.dashed else "&#9632;"


def _colours() -> str:
    rules = (
        f".c{n} polyline {{ stroke: var(--k{n}); }} "
        f".c{n} circle, .c{n} rect, .c{n} polygon {{ fill: var(--k{n}); }} "
        f".key .k{n} {{ color: var(--k{n}); }}"
        for n in range(COLOURS)
    )
    return "\n".join(rules)
