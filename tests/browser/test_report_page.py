"""The one page that ``penstock report --html`` writes, opened from the disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from browser.conftest import SCREENSHOTS
from browser.job import Made
from browser.looking import Look, axe_there
from dashboard.journals import EVIL, eventful, write_journal
from penstock.cli import app

pytestmark = pytest.mark.browser
OpenAt = Callable[..., Look]


def reported(journal: Path, page: Path) -> str:
    done = CliRunner().invoke(app, ["report", str(journal), "--html", str(page), "--quiet"])
    assert done.exit_code == 0, done.output
    return page.as_uri()


@pytest.mark.parametrize("width", [375, 1280])
@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
def test_it_opens_by_itself(
    look: OpenAt, made: Made, tmp_path: Path, width: int, is_dark: bool
) -> None:
    address = reported(made.checkpoint, tmp_path / "report.html")
    seen = look(address, width=width, is_dark=is_dark)
    seen.go("", is_site=False)
    page = seen.page
    assert seen.requests == 1, "it needs nothing but itself"
    assert page.locator("h1").count() == 1
    assert f"{made.rows}" in seen.text("body")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    colour = page.evaluate(
        "() => { const of = each => getComputedStyle(each).backgroundColor;"
        "return of(document.body) === 'rgba(0, 0, 0, 0)' ? of(document.documentElement)"
        ": of(document.body); }"
    )
    red = int(colour.removeprefix("rgb(").split(",")[0])
    assert (red < 60) == is_dark, colour
    kind = "phone" if width == 375 else "desk"
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    name = f"report-{kind}-{'dark' if is_dark else 'light'}.png"
    page.screenshot(path=SCREENSHOTS / name, full_page=True)
    axe = axe_there()
    found = axe.run(page).response["violations"]
    assert [
        (each["id"], [node["target"] for node in each["nodes"][:3]])
        for each in found
        if each["impact"] in ("serious", "critical")
    ] == []


def test_foreign_text_is_text_there_too(look: OpenAt, tmp_path: Path) -> None:
    journal = write_journal(tmp_path / "run" / "journal", eventful(EVIL, key=EVIL))
    seen = look(reported(journal, tmp_path / "report.html"))
    seen.go("", is_site=False)
    assert EVIL in seen.text("body")
    assert seen.page.locator("img").count() == 0
