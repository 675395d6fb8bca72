"""The page: whole, of one file, and all that a journal says is text on it."""

from __future__ import annotations

import re
from datetime import UTC
from html.parser import HTMLParser
from pathlib import Path

import pytest

from penstock.history.journal_history import JournalHistory
from penstock.report.page import page
from penstock.report.telling import report_of

from .journals import NASTY, NOON, whole_run, write


class Seen(HTMLParser):
    """Collects tags and texts, and checks that tags close in turn."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def seen_on(*journals: Path, command: str = "penstock report ck") -> tuple[Seen, str]:
    histories = [JournalHistory(path) for path in journals]
    for history in histories:
        history.refresh()
        history.close()
    text = page(report_of(histories, UTC), UTC, command, NOON)
    seen = Seen()
    seen.feed(text)
    return seen, text


def test_the_page_is_whole_and_loads_nothing(tmp_path: Path) -> None:
    seen, text = seen_on(write(tmp_path, whole_run()))
    assert seen.open == []
    assert not {"script", "link", "img", "iframe", "object", "base"} & set(seen.tags)
    allowed = text.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"(https?:)?//|url\(|@import", allowed)
    assert not [name for name, _ in seen.attributes if name.startswith("on") or name == "src"]
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text
    assert "penstock report ck" in " ".join(seen.texts)
    assert "Times are UTC." in " ".join(seen.texts)


def test_names_errors_and_keys_are_text(tmp_path: Path) -> None:
    seen, text = seen_on(write(tmp_path, whole_run(NASTY)), command=f"penstock report '{NASTY}'")
    assert seen.open == []
    assert "img" not in seen.tags
    assert "<img" not in text
    # In the topology, the operators, the decisions, the hottest keys, the windows and the faults.
    assert sum(NASTY in each for each in seen.texts) > 10


def test_links_lead_to_chapters(tmp_path: Path) -> None:
    seen, _ = seen_on(write(tmp_path, whole_run()))
    ids = [value for name, value in seen.attributes if name == "id"]
    links = [value for name, value in seen.attributes if name == "href"]
    assert len(ids) == len(set(ids))
    assert len(links) == 13
    assert {f"#{each}" for each in ids} >= set(links)


@pytest.mark.parametrize("count", [2, 3])
def test_several_runs_are_compared(tmp_path: Path, count: int) -> None:
    journals = [write(tmp_path / f"run{n}", whole_run()) for n in range(count)]
    seen, text = seen_on(*journals)
    assert seen.open == []
    assert f"The story of {count} runs" in seen.texts
    assert "Side by side" in seen.texts
    rows = re.search(r"<tr><td>rows</td>(.*?)</tr>", text)
    assert rows is not None
    assert rows[1] == "<td>78,000</td>" * count
    ids = [value for name, value in seen.attributes if name == "id"]
    assert len(ids) == len(set(ids))


def test_what_could_not_be_read_is_told_beside_the_rest(tmp_path: Path) -> None:
    seen, _ = seen_on(write(tmp_path / "run", whole_run()), tmp_path / "nowhere")
    assert "What could not be told" in seen.texts
    assert any("there is nothing at" in each for each in seen.texts)
