from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.journals import BEGAN, batch, write_journal
from penstock.dashboard.sections import RANGES
from penstock.dashboard.view import View
from penstock.dashboard.watched import Watched


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    root = tmp_path_factory.mktemp("view")
    paths = [write_journal(root / name / "journal", [batch(0)]) for name in ("one", "two")]
    watched = Watched(paths, clock=lambda: BEGAN + 5)
    for journal in watched.journals:
        journal.refresh(lambda: False)
        journal.close()
    return watched


def test_an_address_chooses_by_number(watched: Watched) -> None:
    view = View.of(watched, "1", "0", "6h")
    assert view == View(1, "", "6h")
    assert view.shown(watched, watched.journals[view.journal].shown).journal == "two"
    assert view.address("/windows") == "/windows?journal=1&range=6h"


@pytest.mark.parametrize(
    "asked", ["2", "-1", "1.0", "", "../../etc/passwd", "/", "one", "٣", "0000000009", "9" * 5_000]
)
def test_what_is_not_there_becomes_the_first_and_never_a_path(watched: Watched, asked: str) -> None:
    view = View.of(watched, asked, asked, asked)
    assert view == View(0, "", "")
    assert view.shown(watched, watched.journals[view.journal].shown).journal == "one"


@given(st.text(max_size=15), st.text(max_size=15), st.text(max_size=15))
def test_any_address_is_shown(watched: Watched, journal: str, query: str, range_: str) -> None:
    view = View.of(watched, journal, query, range_)
    assert view.journal in (0, 1)
    assert view.query == ""
    assert view.range in ("", *RANGES)
    assert view.shown(watched, watched.journals[view.journal].shown).query.batch_count == 1


def whole(tmp_path: Path, order: str) -> Watched:
    """A journal of several queries, a batch in each segment, of which nothing has been read."""
    for number, query in enumerate(order):
        at, body = batch(number, rows=100 + ord(query))
        path = write_journal(
            tmp_path / "run" / "journal", [(at, replace(body, query=query))], number + 1
        )
    return Watched([path], clock=lambda: BEGAN + 5)


def rows(watched: Watched, view: View) -> int:
    """Return how many rows the newest batch of what is shown has: which query it is."""
    newest = view.shown(watched, watched.journals[0].shown).query.newest
    return newest.observation.sources[0].rows - 100 if newest is not None else 0


def test_a_query_stays_the_same_when_all_of_a_long_journal_has_been_read(tmp_path: Path) -> None:
    watched = whole(tmp_path, "ABCABCBA")
    (journal,) = watched.journals
    journal.glance(lambda: False)
    assert [each.name for each in journal.shown.queries] == ["B", "A"]
    looked = [View.of(watched, "", query, "") for query in ("", "A", "B")]
    before = [rows(watched, view) for view in looked]
    assert before == [ord("B"), ord("A"), ord("B")]
    journal.refresh(lambda: False)
    journal.close()
    assert [each.name for each in journal.shown.queries] == ["A", "B", "C"]
    assert [rows(watched, view) for view in looked] == before
    assert [view.address("/") for view in looked] == ["/?query=B", "/?query=A", "/?query=B"]


@pytest.mark.parametrize("asked", ["C", "2"])
def test_what_has_not_been_read_yet_is_not_taken_for_another(tmp_path: Path, asked: str) -> None:
    watched = whole(tmp_path, "ABCABCBA")
    (journal,) = watched.journals
    journal.glance(lambda: False)
    view = View.of(watched, "", asked, "")
    assert rows(watched, view) == 0
    journal.refresh(lambda: False)
    journal.close()
    assert rows(watched, view) == ord("C")
    assert View.of(watched, "", asked, "").query == "C"


def test_a_name_that_is_a_number_comes_before_the_number(tmp_path: Path) -> None:
    watched = whole(tmp_path, "A01")
    (journal,) = watched.journals
    journal.refresh(lambda: False)
    journal.close()
    assert [View.of(watched, "", asked, "").query for asked in ("0", "1", "2")] == ["0", "1", "1"]


def test_any_name_of_a_query_can_be_in_an_address() -> None:
    assert View(0, "a&b=<c>", "").address("/") == "/?query=a%26b%3D%3Cc%3E"
