"""A story as one file of HTML: it loads nothing, is light or dark as asked, and can be printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import tzinfo

from penstock.drawing.page import drawn, table
from penstock.drawing.page import page as whole_page
from penstock.drawing.ticks import local
from penstock.drawing.topology import STYLE as TOPOLOGY_STYLE
from penstock.report.comparison import comparison_of
from penstock.report.story import Chapter, Report, Story, Table
from penstock.report.words import day_and_clock
from penstock.topology.explain_svg import safe

_STYLE = """
.lead { font-size: 1.06rem; } .lead p { margin: .35rem 0; }
nav ul { columns: 3 12rem; padding-left: 1.1rem; } nav a { color: var(--k0); }
h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; } section { margin-top: 2.4rem; }
section.story { border-top: 2px solid var(--line); }
figcaption { margin-top: .8rem; } footer { margin-top: 3rem; font-size: .87rem; }
@media print { nav { display: none; } }
"""


def page(report: Report, zone: tzinfo, command: str, made_seconds: float) -> str:
    """Return the whole page; ``command`` makes it again, ``made_seconds`` is now."""
    one = len(report.stories) == 1
    title = f"The story of {report.stories[0].name if one else f'{len(report.stories)} runs'}"
    body = [f"<header><h1>{safe(title)}</h1></header><main>"]
    if one:
        body += _story(report.stories[0], "c", 2)
    else:
        body += _side_by_side(report.stories)
        for number, story in enumerate(report.stories):
            body.append(f'<section class="story" id="s{number}"><h2>{safe(story.name)}</h2>')
            body += [*_story(story, f"s{number}c", 3), "</section>"]
    body += _problems(report)
    zone_name = local(made_seconds, zone).strftime("%Z") or "local time"
    body += [
        "<section><h2>How to make it again</h2>",
        f'<pre tabindex="0">{safe(command)}</pre></section></main>',
        f'<footer class="soft">Times are {safe(zone_name)}. Made from journals by Penstock on '
        f"{day_and_clock(made_seconds, zone)}.</footer>",
    ]
    return whole_page(title, body, TOPOLOGY_STYLE + _STYLE)


def _side_by_side(stories: Sequence[Story]) -> Iterator[str]:
    yield "<section><h2>Side by side</h2>"
    yield _table(comparison_of(stories))
    links = (
        f'<li><a href="#s{number}">{safe(story.name)}</a></li>'
        for number, story in enumerate(stories)
    )
    yield f'<nav aria-label="Runs"><ul>{"".join(links)}</ul></nav></section>'


def _story(story: Story, mark: str, level: int) -> Iterator[str]:
    yield f'<div class="lead">{"".join(f"<p>{safe(each)}</p>" for each in story.headline)}</div>'
    links = (
        f'<li><a href="#{mark}{number}">{safe(chapter.title)}</a></li>'
        for number, chapter in enumerate(story.chapters)
    )
    yield f'<nav aria-label="Chapters"><ul>{"".join(links)}</ul></nav>'
    for number, chapter in enumerate(story.chapters):
        yield f'<section id="{mark}{number}">'
        yield from _chapter(chapter, level)
        yield "</section>"


def _chapter(chapter: Chapter, level: int) -> Iterator[str]:
    yield f"<h{level}>{safe(chapter.title)}</h{level}><p>{safe(chapter.said)}</p>"
    if chapter.drawing:
        yield f'<div class="drawing" tabindex="0" role="group">{chapter.drawing}</div>'
    for figure in chapter.figures:
        caption = ""
        if figure.title != chapter.title:
            caption = f"<figcaption>{safe(figure.title)}</figcaption>"
        yield f"<figure>{caption}{drawn(figure)}</figure>"
    for each in chapter.tables:
        yield _table(each)


def _table(each: Table) -> str:
    title = f"<figcaption>{safe(each.title)}</figcaption>" if each.title else ""
    note = f'<p class="soft">{safe(each.note)}</p>' if each.note else ""
    return f"<figure>{title}{table(each.columns, each.rows, each.why)}{note}</figure>"


def _problems(report: Report) -> Iterator[str]:
    if report.problems:
        told = "".join(f"<li>{safe(each)}</li>" for each in report.problems.values())
        yield f"<section><h2>What could not be told</h2><ul>{told}</ul></section>"
