"""What changes while a page is open, and states in which there is little to show."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from browser.looking import Look
from dashboard.journals import batch, planned, started, write_journal
from dashboard.processes import dashboard, get
from penstock.dashboard.loads import MOST_WAITING
from penstock.elasticity.observation import Observation, SourceObservation
from penstock.journal import BatchFinished, JournalWriter
from penstock.journal.segments import segment_path

pytestmark = pytest.mark.browser
OpenAt = Callable[..., Look]


def batch_now(number: int, rows: int = 100) -> BatchFinished:
    at = time.time()
    source = SourceObservation("clicks", rows, 0)
    seen = Observation(number, at, 0.4, 1.0, slots=2, sources=(source,), used_slots=2, most_slots=4)
    return BatchFinished(seen, committed_seconds=at)


def test_numbers_change_while_the_page_stays(look: OpenAt, tmp_path: Path) -> None:
    with JournalWriter(tmp_path / "run" / "journal") as journal:
        journal.write(started())
        for number in range(3):
            journal.write(batch_now(number))
        assert journal.flush(30)
        with dashboard(tmp_path / "run") as running:
            seen = look(running.address, width=375)
            seen.go("/")
            page = seen.page
            done = page.locator(".tile", has_text="Done").locator(".value")
            page.wait_for_function(
                "() => [...document.querySelectorAll('.tile .value')]"
                ".some(each => each.innerText === '300 rows')"
            )
            page.locator("header select").first.focus()
            page.evaluate("() => { window.isTheSamePage = true; window.scrollTo(0, 300); }")
            scrolled = page.evaluate("window.scrollY")
            assert scrolled > 0
            drawn = page.locator(".nicegui-echart").first.element_handle()
            for number in range(3, 7):
                journal.write(batch_now(number))
            assert journal.flush(30)
            page.wait_for_function(
                "() => [...document.querySelectorAll('.tile .value')]"
                ".some(each => each.innerText === '700 rows')"
            )
            assert done.inner_text() == "700 rows"
            assert page.evaluate("window.isTheSamePage") is True
            assert page.evaluate("window.scrollY") == scrolled
            assert page.evaluate("document.activeElement.tagName") == "SELECT"
            # The chart is the same element with more in it, not another in its place.
            assert drawn.evaluate("each => each.isConnected")
            assert page.locator("header .state").inner_text() == "running"


def test_a_slow_browser_still_gets_its_page(look: OpenAt, tmp_path: Path) -> None:
    journal = write_journal(tmp_path / "run" / "journal", [(1.0, started()), batch(0)])
    with dashboard(journal) as running:
        seen = look(running.address)
        held: list[str] = []

        def hold(route: Any) -> None:
            if not held:
                held.append(route.request.url)
                for _ in range(MOST_WAITING - 1):
                    assert get(running.address)[0] == 200
                time.sleep(5)
            route.continue_()

        seen.page.route("**/*.js", hold)
        loads: list[str] = []
        seen.page.on("load", lambda page: loads.append(page.url))
        seen.go("/")
        assert held
        assert len(loads) == 1, "it connected to the page that it was sent first"


def test_a_chart_gets_what_is_new(look: OpenAt, tmp_path: Path) -> None:
    with JournalWriter(tmp_path / "run" / "journal") as journal:
        journal.write(batch_now(0))
        assert journal.flush(30)
        with dashboard(tmp_path / "run") as running:
            seen = look(running.address)
            seen.go("/")
            points = (
                "() => { const each = document.querySelector('.nicegui-echart');"
                "const chart = getElement(Number(each.id.slice(1))).chart;"
                "return chart.getOption().series[0].data.length; }"
            )
            assert seen.page.evaluate(points) == 1
            journal.write(batch_now(1))
            assert journal.flush(30)
            seen.page.wait_for_function(f"() => ({points})() === 2")


@pytest.mark.parametrize(
    "path", ["/", "/topology", "/decisions", "/placement", "/windows", "/preference", "/faults"]
)
def test_an_empty_journal_has_a_word_on_every_page(look: OpenAt, tmp_path: Path, path: str) -> None:
    write_journal(tmp_path / "run" / "journal", [])
    with dashboard(tmp_path / "run") as running:
        seen = look(running.address)
        seen.go(path)
        assert len(seen.text()) > 60
        assert "Traceback" not in seen.text()
        assert "nan" not in seen.text().lower().split()


def test_a_journal_that_comes_later_is_shown_when_it_comes(look: OpenAt, tmp_path: Path) -> None:
    with dashboard(tmp_path / "run", "--wait") as running:
        seen = look(running.address)
        seen.go("/")
        assert "The journal can't be read." in seen.text()
        assert str(tmp_path / "run") in seen.text()
        write_journal(tmp_path / "run" / "journal", [batch(0), batch(1)])
        seen.page.get_by_text("200 rows").wait_for()
        assert "can't be read" not in seen.text()


def test_a_corrupt_line_is_told_and_the_rest_is_shown(look: OpenAt, tmp_path: Path) -> None:
    journal = write_journal(tmp_path / "run" / "journal", [batch(0), batch(1)])
    with segment_path(journal, 1).open("a") as segment:
        segment.write('{"v":1, half a line\n<script>alert(1)</script>\n')
    with dashboard(journal) as running:
        seen = look(running.address)
        seen.go("/faults")
        assert "2 lines of the journal can't be read." in seen.text()
        seen.go("/")
        assert seen.tiles()["Done"] == "200 rows"


def test_a_newer_journal_says_what_to_do(look: OpenAt, tmp_path: Path) -> None:
    journal = write_journal(tmp_path / "run" / "journal", [batch(0)])
    path = segment_path(journal, 1)
    line = json.loads(path.read_text())
    path.write_text(json.dumps({**line, "v": 99}) + "\n")
    with dashboard(journal) as running:
        seen = look(running.address)
        seen.go("/")
        text = seen.text()
        assert "The journal can't be read." in text
        assert "99" in text
        assert "Traceback" not in text


def test_a_page_that_is_not_there_says_so(look: OpenAt, tmp_path: Path) -> None:
    journal = write_journal(tmp_path / "run" / "journal", [(1.0, planned()), batch(0)])
    with dashboard(journal) as running:
        seen = look(running.address)
        answer = seen.go("/control", is_site=False)
        assert answer.status == 404
        assert "There is no such page" in seen.text("body")
        seen.allowed = ("Failed to load resource: the server responded with a status of 404",)
        seen.page.get_by_role("link", name="Now").click()
        seen.page.wait_for_selector(".sections > *")
