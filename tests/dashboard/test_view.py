from __future__ import annotations

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
    assert view == View(1, 0, "6h")
    assert view.shown(watched, watched.journals[view.journal].shown).journal == "two"
    assert view.address("/windows") == "/windows?journal=1&range=6h"


@pytest.mark.parametrize(
    "asked", ["2", "-1", "1.0", "", "../../etc/passwd", "/", "one", "٣", "0000000009", "9" * 5_000]
)
def test_what_is_not_there_becomes_the_first_and_never_a_path(watched: Watched, asked: str) -> None:
    view = View.of(watched, asked, asked, asked)
    assert view == View(0, 0, "")
    assert view.shown(watched, watched.journals[view.journal].shown).journal == "one"


@given(st.text(max_size=15), st.text(max_size=15), st.text(max_size=15))
def test_any_address_is_shown(watched: Watched, journal: str, query: str, range_: str) -> None:
    view = View.of(watched, journal, query, range_)
    assert view.journal in (0, 1)
    assert view.query == 0
    assert view.range in ("", *RANGES)
    assert view.shown(watched, watched.journals[view.journal].shown).query.batch_count == 1
