"""A report for a terminal: the headline, and each chapter in a sentence with its tables."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo
from itertools import pairwise
from math import isnan

from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from penstock.cli.progress import sparkline
from penstock.drawing.figure import Figure
from penstock.report.comparison import comparison_of
from penstock.report.story import Report, Story, Table

_MOST_ROWS = 12
_BARS = 48


def as_screen(report: Report, zone: tzinfo) -> Group:
    """Lay a report out, with times of ``zone``; long tables are cut, as the page has them whole."""
    parts: list[RenderableType] = []
    if len(report.stories) > 1:
        parts += [Text("Side by side", style="bold"), _grid(comparison_of(report.stories))]
    for story in report.stories:
        parts += _story(story)
    parts.append(Text(f"\nTimes are {zone}.", style="dim"))
    return Group(*parts)


def _story(story: Story) -> Iterator[RenderableType]:
    yield Text(f"\nThe story of {story.name}", style="bold")
    yield Text(" ".join(story.headline))
    for chapter in story.chapters:
        if chapter.drawing and not chapter.figures and not chapter.tables:
            continue  # its words are about a picture that is not here
        yield Text(f"\n{chapter.title}", style="bold")
        yield Text(chapter.said)
        for figure in chapter.figures:
            yield from _lines(figure)
        for table in chapter.tables:
            if table.title:
                yield Text(table.title, style="dim")
            yield _grid(table)


def _most(value: float) -> str:
    """Write the largest of some numbers.

    >>> _most(10_999.0), _most(0.38712), _most(87.527)
    ('10,999', '0.3871', '87.53')
    """
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.4g}"


def _of(number: str, unit: str) -> str:
    """Write so many of a unit, which names several.

    >>> _of("2.5", "parts"), _of("1", "parts"), _of("1", "rows per second")
    ('2.5 parts', '1 part', '1 row per second')
    """
    first, *others = unit.split(" ")
    return " ".join([number, first.removesuffix("s") if number == "1" else first, *others])


def _lines(figure: Figure) -> Iterator[RenderableType]:
    """Draw each curve of a figure over time as a line of bars, all to one scale."""
    if not figure.joined:
        return
    known = {n: [v for v in c if not isnan(v)] for n, c in figure.series.items()}
    top = max((max(values) for values in known.values() if values), default=0.0)
    width = max((len(name) for name in known), default=0)
    for name, values in known.items():
        if values:
            drawn = sparkline(_few(values), top)
            told = f"  {_of(_most(max(values)), figure.y_label)} at most"
            yield Text.assemble((f"{name:<{width}} ", "dim"), (drawn, "cyan"), told)


def _few(values: list[float]) -> list[float]:
    """Put values together so that they fit a line: the greatest of each stretch."""
    if len(values) <= _BARS:
        return values
    ends = [round(n * len(values) / _BARS) for n in range(_BARS + 1)]
    return [max(values[a:b]) for a, b in pairwise(ends)]


def _grid(table: Table) -> RenderableType:
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for number, name in enumerate(table.columns):
        is_text = number == 0 or name in table.why
        grid.add_column(name, justify="left" if is_text else "right", overflow="fold")
    shown = table.rows[-_MOST_ROWS:] if table.over_time else table.rows[:_MOST_ROWS]
    for row in shown:
        grid.add_row(*(Text(cell) for cell in row))
    left = len(table.rows) - len(shown)
    more = Text(f"{left:,} {'before these' if table.over_time else 'more'}: see --html", "dim")
    return Group(*([more] if left and table.over_time else []), grid, *_below(table, more, left))


def _below(table: Table, more: Text, left: int) -> list[RenderableType]:
    return [more] if left and not table.over_time else []
