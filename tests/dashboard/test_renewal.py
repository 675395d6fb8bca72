"""When a page that somebody looks at is drawn again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from nicegui import Client, ui

from dashboard.journals import BEGAN, Timed, batch, started, write_journal
from penstock.dashboard.frame import Frame, Page, _choices
from penstock.dashboard.sections import Shown
from penstock.dashboard.site import Renewal
from penstock.dashboard.view import View
from penstock.dashboard.watched import Watched, WatchedJournal
from penstock.history.journal_history import JournalHistory

NOW = Page("/", "Now", "")


class Looked:
    """A page on a journal, at a time that a test sets, and how often it was drawn."""

    def __init__(self, directory: Path, events: list[Timed]) -> None:
        self.now_seconds = events[-1][0] + 1.0
        self.path = write_journal(directory / "run" / "journal", events)
        self.watched = Watched([self.path], clock=lambda: self.now_seconds)
        self.refresh()
        self.drawn = 0
        with Client(ui.page("/")):
            self.frame = Frame(self.watched, View(), NOW, [NOW])
        self.renewal = Renewal(self.watched, View(), self.frame, self._draw)

    def refresh(self) -> None:
        for journal in self.watched.journals:
            journal.refresh(lambda: False)
            journal.close()

    def _draw(self) -> None:
        self.drawn += 1


def test_a_page_is_drawn_again_when_its_query_falls_idle_and_each_minute_of_that(
    tmp_path: Path,
) -> None:
    looked = Looked(tmp_path, [(BEGAN, started()), batch(0), batch(1)])
    drawn = []
    for second in (1, 5, 10, 16, 20, 58, 61, 90, 125):
        looked.now_seconds = BEGAN + 4.0 + second
        looked.renewal.renew()
        drawn.append(looked.drawn)
    assert drawn == [1, 1, 1, 2, 2, 2, 3, 3, 4]


def test_a_query_that_appears_later_can_be_chosen_without_loading_the_page_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def of(query: str, number: int) -> Timed:
        at, body = batch(number)
        return at, replace(body, query=query)

    looked = Looked(tmp_path, [of("clicks", 0)])
    sent = []
    set_content = ui.html.set_content
    monkeypatch.setattr(
        ui.html,
        "set_content",
        lambda self, content: (sent.append(content), set_content(self, content)),
    )
    looked.renewal.renew()
    assert not [each for each in sent if "<select" in each]
    for number in (1, 2):
        write_journal(looked.path, [of("clicks", 0), of("orders", number)], segment=number + 1)
        looked.refresh()
        looked.renewal.renew()
    (choices,) = (each for each in sent if "<select" in each)
    assert [words for words in ("clicks", "orders") if f">{words}</option>" in choices] == [
        "clicks", "orders",
    ]  # fmt: skip


def test_what_is_said_is_read_from_the_history_whose_lock_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = Looked(tmp_path, [(BEGAN, started()), batch(0)])
    # As when the whole of a long journal takes the place of a first look between two lines.
    asked = [JournalHistory(looked.path) for _ in range(5)]
    for each in asked:
        each.refresh()
        each.close()
    left = iter(asked)
    monkeypatch.setattr(WatchedJournal, "shown", property(lambda _: next(left)))
    said: list[Shown] = []
    monkeypatch.setattr(looked.frame, "say", said.append)
    looked.renewal.renew()
    (shown,) = said
    assert shown.query is asked[0].queries[0]


def test_a_query_that_has_not_been_read_yet_is_the_one_that_is_chosen(tmp_path: Path) -> None:
    for number, query in enumerate("ABCABCBA"):
        at, body = batch(number)
        told = [(at, replace(body, query=query))]
        path = write_journal(tmp_path / "run" / "journal", told, number + 1)
    watched = Watched([path], clock=lambda: BEGAN)
    (journal,) = watched.journals
    journal.glance(lambda: False)
    view = View.of(watched, "", "C", "")
    assert 'selected="">C</option>' in _choices(watched, view, NOW)
    journal.refresh(lambda: False)
    journal.close()
    choices = _choices(watched, view, NOW)
    assert 'selected="">C</option>' in choices
    assert choices.count(">C</option>") == 1
