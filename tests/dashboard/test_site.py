"""What a page holds fast of the journals that are read while it is drawn."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from dashboard.journals import BEGAN, batch, started, write_journal
from penstock.dashboard import site
from penstock.dashboard.pages import compare
from penstock.dashboard.sections import Section, Shown
from penstock.dashboard.view import View
from penstock.dashboard.watched import Watched
from penstock.history.journal_history import JournalHistory


def can_be_read_on(history: JournalHistory) -> bool:
    """Ask as the thread that reads would: a lock that this thread holds is free to itself."""
    found: list[bool] = []

    def ask() -> None:
        found.append(history.lock.acquire(blocking=False))
        if found[0]:
            history.lock.release()

    asking = threading.Thread(target=ask)
    asking.start()
    asking.join()
    return found[0]


def test_no_run_grows_while_runs_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = [(BEGAN, started()), batch(0), batch(1)]
    paths = [write_journal(tmp_path / name / "journal", told) for name in ("monday", "tuesday")]
    watched = Watched(paths, clock=lambda: BEGAN)
    for journal in watched.journals:
        journal.refresh(lambda: False)
        journal.close()
    histories = [journal.shown for journal in watched.journals]
    during: list[bool] = []
    sections = compare.sections

    def drawn(runs: Sequence[Shown]) -> list[Section]:
        made = sections(runs)
        during.extend(can_be_read_on(history) for history in histories)
        return made

    monkeypatch.setattr(compare, "sections", drawn)
    assert len(site._of_all(watched, View())) == 6
    assert during == [False, False]
    assert [can_be_read_on(history) for history in histories] == [True, True]
