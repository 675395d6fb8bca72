"""Who reads a page that grows stays where they are: scrolled, focused, with text marked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from browser.looking import Look
from dashboard.journals import started
from dashboard.processes import dashboard
from penstock.elasticity.decision import Decision
from penstock.elasticity.observation import Observation, OperatorObservation, SourceObservation
from penstock.journal import BatchFinished, DecisionMade, JournalWriter
from penstock.journal.events import ControlTaken
from penstock.journal.topology_events import PlannedOperator, TopologyPlanned

pytestmark = pytest.mark.browser
OpenAt = Callable[..., Look]

STEPS = ["events", *(f"step_{number}" for number in range(1, 10))]


@dataclass(slots=True)
class Growing:
    """A journal that a test lets grow, and the dashboard of it."""

    journal: JournalWriter
    address: str = ""
    batches: int = 0

    def grow(self, batches: int = 1, rows: int = 100) -> None:
        """Write micro-batches, each with a decision of its own."""
        for number in range(self.batches, self.batches + batches):
            at = time.time()
            operators = tuple(
                OperatorObservation(name, rows, rows, 0.1, 2, 0.1, 0.1, inputs=(before,))
                for before, name in zip(["", *STEPS[:-1]], STEPS, strict=True)
            )
            source = SourceObservation("events", rows, 0)
            seen = Observation(number, at, 0.4, 1.0, 2, operators, (source,), used_slots=2)
            self.journal.write(BatchFinished(seen, committed_seconds=at))
            self.journal.write(DecisionMade(number, Decision(2, f"reason {number}")))
        self.batches += batches
        assert self.journal.flush(30)


@pytest.fixture
def growing(tmp_path: Path) -> Iterator[Growing]:
    planned = tuple(
        PlannedOperator(name, "map" if before else "source", name, (before,) if before else ())
        for before, name in zip(["", *STEPS[:-1]], STEPS, strict=True)
    )
    with JournalWriter(tmp_path / "run" / "journal") as journal:
        made = Growing(journal)
        journal.write(started())
        journal.write(TopologyPlanned(0, planned))
        made.grow(3)
        with dashboard(tmp_path / "run") as running:
            made.address = running.address
            yield made


def is_shown(page: Any, words: str) -> None:
    page.wait_for_function("words => document.body.innerText.includes(words)", arg=words)


def mark(page: Any, words: str) -> None:
    """Mark some words on the page, as a mouse does."""
    page.evaluate(
        """words => {
          const texts = document.createTreeWalker(document.querySelector("main"), 4);
          while (texts.nextNode() && !texts.currentNode.data.includes(words));
          getSelection().selectAllChildren(texts.currentNode.parentNode);
        }""",
        words,
    )
    assert words in page.evaluate("String(getSelection())")


def test_a_drawing_stays_scrolled_and_focused_while_its_numbers_change(
    look: OpenAt, growing: Growing
) -> None:
    seen = look(growing.address, width=375)
    page = seen.page
    seen.go("/topology")
    page.locator(".drawing").focus()
    page.evaluate("document.querySelector('.drawing').scrollLeft = 300")
    assert page.evaluate("document.querySelector('.drawing').scrollLeft") == 300
    growing.grow(rows=900_000_000)
    page.locator(".drawing text", has_text=" M rows/s").first.wait_for()
    assert page.evaluate("document.querySelector('.drawing').scrollLeft") == 300
    assert page.evaluate("document.activeElement.className") == "drawing"


def test_marked_text_stays_marked_and_other_parts_go_on(look: OpenAt, growing: Growing) -> None:
    seen = look(growing.address)
    page = seen.page
    seen.go("/decisions")
    is_shown(page, "reason 2")
    mark(page, "reason 1")
    growing.grow()
    is_shown(page, "since batch 4")
    assert page.evaluate("String(getSelection())") == "reason 1"
    assert "reason 3" not in page.inner_text("main")
    assert page.locator("[data-waits]").count() == 1
    page.evaluate("getSelection().removeAllRanges()")
    is_shown(page, "reason 3")
    assert page.locator("[data-waits]").count() == 0


def test_marked_text_elsewhere_holds_nothing_up(look: OpenAt, growing: Growing) -> None:
    seen = look(growing.address)
    page = seen.page
    seen.go("/decisions")
    mark(page, "What was decided, why")
    growing.grow()
    is_shown(page, "reason 3")
    assert "What was decided, why" in page.evaluate("String(getSelection())")


def test_a_row_that_comes_in_on_top_leaves_the_others_under_the_eyes(
    look: OpenAt, growing: Growing
) -> None:
    growing.grow(40)
    seen = look(growing.address)
    page = seen.page
    seen.go("/decisions")
    is_shown(page, "reason 42")
    table = page.locator(".wide", has_text="reason 42")
    table.focus()
    read = page.locator("tr", has_text="reason 9").first
    read.scroll_into_view_if_needed()
    row, place = read.element_handle(), read.bounding_box()["y"]
    growing.grow()
    is_shown(page, "reason 43")
    assert row.evaluate("each => each.isConnected && each.innerText.includes('reason 9')")
    assert abs(read.bounding_box()["y"] - place) <= 1
    assert page.evaluate("document.activeElement.className") == "wide"


def test_a_section_that_appears_leaves_the_others_as_they_are(
    look: OpenAt, growing: Growing
) -> None:
    seen = look(growing.address)
    page = seen.page
    seen.go("/decisions")
    is_shown(page, "reason 2")
    page.locator(".wide", has_text="reason 2").focus()
    growing.journal.write(ControlTaken(3, max_slots=4, by="a test", reason="at most 4 slots"))
    growing.grow()
    is_shown(page, "Control: at most 4 slots")
    is_shown(page, "reason 3")
    assert page.evaluate("document.activeElement.className") == "wide"
    assert page.locator(".section").first.inner_text().startswith("Control:")


@pytest.mark.parametrize("width", [375, 1280])
def test_a_long_table_is_short_on_a_phone_until_all_of_it_is_asked_for(
    look: OpenAt, growing: Growing, width: int
) -> None:
    growing.grow(40)
    seen = look(growing.address, width=width)
    page = seen.page
    seen.go("/decisions")
    is_shown(page, "reason 42")
    rows = page.locator("tr:visible", has_text="reason ")
    if width == 1280:
        assert rows.count() == 43
        assert not page.get_by_text("Show all").is_visible()
        return
    assert rows.count() == 15
    page.get_by_text("Show all 43 rows").focus()
    page.keyboard.press("Enter")
    assert rows.count() == 43
    growing.grow()
    is_shown(page, "reason 43")
    assert rows.count() == 44, "what was opened stays open"
