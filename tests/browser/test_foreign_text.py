"""Names, keys and errors in a journal are anybody's: a browser shows them, and never runs them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from browser.looking import Look
from dashboard.journals import EVIL, eventful, write_journal
from dashboard.processes import Running, dashboard

pytestmark = pytest.mark.browser
OpenAt = Callable[..., Look]

PAGES = ["/", "/topology", "/decisions", "/placement", "/windows", "/preference", "/faults",
         "/compare"]  # fmt: skip


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A dashboard of a journal, in a directory of such a name, with it in every text."""
    where = tmp_path_factory.mktemp("attacked") / EVIL / "journal"
    write_journal(where, eventful(EVIL, key=EVIL))
    with dashboard(where) as running:
        yield running


def check_harmless(seen: Look) -> None:
    assert seen.page.locator("img").count() == 0
    assert seen.page.locator("[onerror]").count() == 0
    assert seen.dialogs == []


@pytest.mark.parametrize("path", PAGES)
def test_it_is_shown_as_text(attacked: Running, look: OpenAt, path: str) -> None:
    seen = look(attacked.address)
    seen.go(path)
    assert EVIL in seen.text("body")
    check_harmless(seen)


def test_it_is_the_name_of_an_operator_in_the_drawing(attacked: Running, look: OpenAt) -> None:
    seen = look(attacked.address)
    seen.go("/topology")
    drawn = seen.page.locator(".drawing svg").text_content()
    assert EVIL in drawn
    check_harmless(seen)


def told_of_first_point(seen: Look, chart: Any) -> str:
    """Point at the very first point that is drawn, and return what is told of it."""
    place = chart.evaluate(
        "each => { const chart = getElement(Number(each.id.slice(1))).chart;"
        "const data = chart.getOption().series[0].data;"
        "const at = data.length ? chart.convertToPixel({seriesIndex: 0}, data[0]) : null;"
        "return at && at.every && at.every(Number.isFinite) ? at : null; }"
    )
    box = chart.bounding_box()
    if place is None:
        return ""
    seen.page.mouse.move(box["x"] + place[0], box["y"] + place[1], steps=3)
    seen.page.wait_for_timeout(200)
    return str(chart.evaluate("each => each.innerText"))


@pytest.mark.parametrize("path", ["/placement", "/windows", "/preference", "/compare"])
def test_it_is_text_where_a_mouse_points_at_a_chart(
    attacked: Running, look: OpenAt, path: str
) -> None:
    seen = look(attacked.address)
    seen.go(path)
    tips = []
    for chart in seen.page.locator(".nicegui-echart").all():
        chart.scroll_into_view_if_needed()
        box = chart.bounding_box()
        for across in (0.15, 0.3, 0.5, 0.7, 0.9):
            for down in (0.35, 0.6, 0.85):
                x, y = box["x"] + across * box["width"], box["y"] + down * box["height"]
                seen.page.mouse.move(x, y, steps=2)
        tips.append(chart.evaluate("each => each.innerText"))
        tips.append(told_of_first_point(seen, chart))
    assert any("<img" in tip for tip in tips), tips
    check_harmless(seen)
