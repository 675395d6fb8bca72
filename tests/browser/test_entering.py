"""Who may look, and who may change something."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from browser.conftest import SCREENSHOTS, TOKEN
from browser.looking import Look, axe_there
from dashboard.journals import batch, write_journal
from dashboard.processes import Running, dashboard, wait_until
from penstock.dashboard.guard import COOKIE
from penstock.journal import ControlTaken, DecisionMade, read
from penstock.journal.control_file import FILE_NAME, read_control

pytestmark = pytest.mark.browser
OpenAt = Callable[..., Look]
NOT_LET_IN = ("Failed to load resource: the server responded with a status of 401",)


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_journal(tmp_path_factory.mktemp("guarded") / "run" / "journal", [batch(0)])


@pytest.fixture(scope="module")
def guarded(journal: Path) -> Iterator[Running]:
    with dashboard(journal, "--control", token=TOKEN) as running:
        yield running


def enter(seen: Look, path: str = "/") -> None:
    seen.allowed += NOT_LET_IN
    seen.go(f"{path}?token={TOKEN}")


def test_a_wrong_token_is_refused_and_the_right_one_opens(guarded: Running, look: OpenAt) -> None:
    seen = look(guarded.address)
    seen.allowed = NOT_LET_IN
    answer = seen.go("/?token=not-the-right-one", is_site=False)
    assert answer.status == 401
    assert "That was not the right one." in seen.text("body")
    assert "100 rows" not in seen.text("body")
    seen.page.get_by_label("Token").fill(TOKEN)
    seen.page.get_by_role("button", name="Open").click()
    seen.page.get_by_text("100 rows").first.wait_for()
    assert TOKEN not in seen.page.url
    (cookie,) = (each for each in seen.context.cookies() if each["name"].startswith(COOKIE))
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Lax"
    assert TOKEN not in cookie["value"]
    assert COOKIE not in seen.page.evaluate("document.cookie")
    seen.page.reload()
    seen.page.get_by_text("100 rows").first.wait_for()


def test_a_link_leads_where_it_leads_through_the_token_and_again_without(
    guarded: Running, look: OpenAt
) -> None:
    seen = look(guarded.address)
    seen.allowed = NOT_LET_IN
    deep = "/faults?journal=0&range=6h"
    assert seen.go(deep, is_site=False).status == 401
    seen.page.get_by_label("Token").fill(TOKEN)
    seen.page.get_by_role("button", name="Open").click()
    seen.page.get_by_role("heading", name="Faults", level=1).wait_for()
    assert seen.page.url == f"{guarded.address}{deep}"
    # And from a page that is not the dashboard's, as a chat's or a wiki's.
    seen.page.goto("about:blank")
    seen.page.set_content(f'<a href="{guarded.address}/windows?range=1h">look</a>')
    seen.page.get_by_text("look").click()
    seen.page.get_by_role("heading", name="Windows", level=1).wait_for()
    assert seen.page.url == f"{guarded.address}/windows?range=1h"


def test_a_socket_without_the_cookie_is_refused(guarded: Running, look: OpenAt) -> None:
    seen = look(guarded.address)
    seen.allowed = (*NOT_LET_IN, "WebSocket connection to")
    seen.go("/", is_site=False)
    opened = (
        "() => new Promise(done => { const socket = new WebSocket("
        "`ws://${location.host}/_nicegui_ws/socket.io/?EIO=4&transport=websocket`);"
        "socket.onopen = () => done('open'); socket.onerror = () => done('refused'); })"
    )
    assert seen.page.evaluate(opened) == "refused"
    enter(seen)
    assert seen.page.evaluate(opened) == "open"


def test_another_host_is_refused(guarded: Running, look: OpenAt) -> None:
    # As where another site lets its own name point to this machine.
    seen = look(guarded.address, extra_http_headers={})
    port = guarded.address.rpartition(":")[2]
    answer = seen.context.request.get(guarded.address, headers={"Host": f"evil.example:{port}"})
    assert answer.status == 421
    seen.allowed = NOT_LET_IN
    seen.go("/", is_site=False)


def test_what_cannot_be_is_said_and_nothing_is_written(
    guarded: Running, look: OpenAt, journal: Path
) -> None:
    seen = look(guarded.address)
    enter(seen, "/control")
    seen.page.get_by_label("Least slots").fill("4")
    seen.page.get_by_label("Most slots").fill("2")
    seen.page.get_by_role("button", name="Ask", exact=True).click()
    seen.page.get_by_text("Nothing was changed.").wait_for()
    assert "leaves no number of slots" in seen.text()
    assert not (journal / FILE_NAME).exists()


def test_control_can_be_used_by_keyboard_on_a_phone_and_at_night(
    guarded: Running, look: OpenAt, journal: Path
) -> None:
    for width, is_dark in ((375, False), (1280, False), (1280, True)):
        seen = look(guarded.address, width=width, is_dark=is_dark)
        enter(seen, "/control")
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
        assert seen.page.locator("h1").count() == 1
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        kind = "phone" if width == 375 else "desk"
        name = f"control-{kind}-{'dark' if is_dark else 'light'}.png"
        seen.page.screenshot(path=SCREENSHOTS / name, full_page=True)
        axe = axe_there()
        found = axe.run(seen.page).response["violations"]
        assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []
    seen.page.get_by_label("Most slots").focus()
    seen.page.keyboard.type("3")
    seen.page.get_by_role("button", name="Ask", exact=True).focus()
    seen.page.keyboard.press("Enter")
    wait_until((journal / FILE_NAME).exists, "the control is written")
    asked = read_control(journal)
    assert asked is not None
    assert asked.control.max_slots == 3
    assert asked.by == "the dashboard"
    seen.page.get_by_text("Asked for: at most 3 slots.").wait_for()


class Two:
    """Always wants two slots."""

    def decide(self, observation: ps.Observation) -> ps.Decision:
        return ps.Decision(2, "two will do")


def test_slots_are_forced_in_a_running_query(
    spark: SparkSession, look: OpenAt, tmp_path: Path
) -> None:
    df = spark.readStream.format("rate").option("rowsPerSecond", 20).load()
    query = ps.run(
        ps.Stream.read(df.selectExpr("value"), name="ticks").to(ps.sinks.memory(), name="kept"),
        checkpoint=tmp_path / "run" / "checkpoint",
        policy=Two(),
        trigger="1 second",
        name="controlled",
    )

    def taken(kind: type) -> list[Any]:
        return [each.body for each in read(query.journal_dir) if isinstance(each.body, kind)]

    try:
        wait_until(lambda: bool(taken(DecisionMade)), "a first decision")
        with dashboard(tmp_path / "run" / "checkpoint", "--control", token=TOKEN) as running:
            seen = look(running.address)
            enter(seen, "/control")
            seen.page.get_by_label("Force slots").fill("3")
            seen.page.get_by_role("button", name="Ask", exact=True).click()
            seen.page.get_by_text("Asked for: 3 slots forced.").wait_for()
            wait_until(lambda: bool(taken(ControlTaken)), "the query has taken it up")
            (control,) = taken(ControlTaken)
            assert (control.forced_slots, control.by) == (3, "the dashboard")
            wait_until(lambda: taken(DecisionMade)[-1].decision.slots == 3, "three slots")
            seen.page.get_by_text("In force: 3 slots.").wait_for()
            seen.page.get_by_role("button", name="Leave it to the policy").click()
            wait_until(lambda: taken(DecisionMade)[-1].decision.slots == 2, "two slots again")
            seen.page.get_by_text("In force: 2 slots.").wait_for()
        written = json.loads((Path(query.journal_dir) / FILE_NAME).read_text())
        assert written["forced_slots"] is None
        assert written["at"] <= time.time()
    finally:
        query.stop()
