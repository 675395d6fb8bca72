"""Whatever stands in a journal is text on a page: names, keys, reasons and errors are anybody's."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.journals import BEGAN, EVIL, Timed, batch, eventful, shown_of
from dashboard.reading import charts, read_html, read_page
from journal.strategies import bodies
from penstock.dashboard.markup import Safe
from penstock.dashboard.pages import compare, control
from penstock.dashboard.sections import Chart, Html, Section, Shown
from penstock.dashboard.site import PAGES
from penstock.history.journal_history import JournalHistory

OURS = {
    "a", "caption", "circle", "dd", "div", "dl", "dt", "g", "h2", "p", "path", "polygon", "rect",
    "span", "strong", "svg", "table", "tbody", "td", "text", "th", "thead", "title", "tr",
}  # fmt: skip


def all_pages(shown: Shown) -> Iterator[tuple[str, list[Section]]]:
    for page, make in PAGES.items():
        yield page.title, make(shown)
    yield "Compare", compare.sections([shown])
    yield "Control", control.sections(shown)


def with_evil(value: Any) -> Any:
    """Return an event with all its texts, however deep, turned into an attack."""
    if isinstance(value, str):
        return f"{value[:3]}{EVIL}"
    if is_dataclass(value) and not isinstance(value, type):
        changed = {each.name: with_evil(getattr(value, each.name)) for each in fields(value)}
        return replace(value, **changed)
    if isinstance(value, tuple):
        return tuple(with_evil(each) for each in value)
    if isinstance(value, dict):
        return {with_evil(name): with_evil(each) for name, each in value.items()}
    return value


def check_page(title: str, sections: list[Section]) -> None:
    """A page has elements of ours alone, and charts of plain values alone."""
    for section in sections:
        if isinstance(section, Html):
            assert isinstance(section.content, Safe)
            found = read_html(section.content)
            assert set(found.tags) <= OURS, title
            assert not [name for name, _ in found.attributes if name.startswith("on")], title
            assert "<img" not in section.content
        else:
            written = json.dumps(section.options, allow_nan=False)
            # What begins with a colon is run by the browser as a program.
            assert '":' not in json.dumps([*keys_of(section.options)]), written


def keys_of(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from keys_of(each)
    elif isinstance(value, list):
        for each in value:
            yield from keys_of(each)


def test_an_attack_in_every_text_is_text_on_every_page(tmp_path: Path) -> None:
    shown = shown_of(tmp_path, eventful(EVIL, key=EVIL))
    for title, sections in all_pages(shown):
        check_page(title, sections)
        told = read_page(sections).text + json.dumps([c.options for c in charts(sections).values()])
        # A page that says nothing of it would prove nothing; runs are compared by their journals.
        assert EVIL in told or title == "Compare", title


def test_a_journal_directory_and_a_query_may_have_any_name(tmp_path: Path) -> None:
    where = tmp_path / "<img src=x onerror=alert(2)>"
    shown = shown_of(where, eventful())
    named = replace(shown, journal=EVIL)
    named.query.name = EVIL
    content = compare.sections([named, named])
    check_page("Compare", content)
    assert f"{EVIL}: {EVIL}" in read_page(content).text


@settings(max_examples=60)
@given(st.lists(bodies(), min_size=1, max_size=12), st.booleans())
def test_no_page_breaks_on_whatever_a_journal_says(told: list[Any], is_evil: bool) -> None:
    bodies_ = [with_evil(each) for each in told] if is_evil else told
    events: list[Timed] = [batch(0), *((BEGAN + 2, each) for each in bodies_), batch(1)]
    with tempfile.TemporaryDirectory() as directory:
        shown = shown_of(Path(directory), events)
        for title, sections in all_pages(shown):
            check_page(title, sections)


def test_a_title_or_a_word_about_a_section_is_no_html(tmp_path: Path) -> None:
    for _, sections in all_pages(shown_of(tmp_path, eventful(EVIL))):
        for each in sections:
            # These are escaped where they are put on the page: never before, or it would be twice.
            assert not isinstance(each.title, Safe)
            assert not isinstance(each.about, Safe)


def test_the_attack_would_be_seen_where_text_is_not_escaped() -> None:
    with pytest.raises(AssertionError):
        check_page("a page", [Html(Safe(f"<p>{EVIL}</p>"))])
    with pytest.raises(AssertionError):
        check_page("a page", [Chart("chart", {":formatter": "alert(1)"})])


def test_a_history_of_all_kinds_is_what_the_pages_get(tmp_path: Path) -> None:
    """Guards the tests above: an event that a history can't read would be missed in silence."""
    shown_of(tmp_path, eventful(EVIL))
    history = JournalHistory(tmp_path / "run" / "journal")
    history.refresh()
    history.close()
    assert history.queries[0].faults.corrupt_lines == 0
    assert history.queries[0].faults.unknown_events == 0
