"""Every page of the dashboard, as a browser shows it of a real run on Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from browser.conftest import SCREENSHOTS
from browser.job import BATCHES, EVIL, FAILING_EVERY, LATE, ROWS, Made
from browser.looking import Look, axe_there
from dashboard.processes import Running
from penstock.dashboard.words import share
from penstock.history.journal_history import JournalHistory
from penstock.history.query_history import QueryHistory

pytestmark = pytest.mark.browser

PAGES = ["/", "/topology", "/decisions", "/placement", "/windows", "/preference", "/faults",
         "/compare"]  # fmt: skip
OpenAt = Callable[..., Look]


@pytest.fixture(scope="module")
def told(made: Made) -> QueryHistory:
    """What the journal says, read without any page."""
    history = JournalHistory(made.journal)
    history.refresh()
    history.close()
    return history.queries[0]


def test_now_shows_what_spark_counted(
    site: Running, look: OpenAt, made: Made, told: QueryHistory
) -> None:
    seen = look(site.address)
    seen.go("/")
    tiles = seen.tiles()
    assert made.rows == BATCHES * ROWS
    assert tiles["Done"] == f"{made.rows} rows"
    assert f"{made.batches} batches" in seen.text()
    assert tiles["State"] == "ended"
    assert "rows/s" in tiles["Input"]
    assert tiles["Slots"] == f"{told.batches.last()['used']:.0f}"


def test_topology_shows_every_operator(site: Running, look: OpenAt, told: QueryHistory) -> None:
    seen = look(site.address)
    seen.go("/topology")
    assert told.topology is not None
    names = {each.name for each in told.topology.operators}
    assert {"events", "look_up", "sums", "best", "visits"} <= names
    assert {row[0] for row in seen.rows("operator", "kind")} == names
    failed = {row[0]: row[-1] for row in seen.rows("operator", "kind")}
    assert failed["look_up"] == str(BATCHES * ROWS // FAILING_EVERY)
    drawn = seen.page.locator(".drawing svg .operator")
    assert drawn.count() == len(names)


@pytest.mark.parametrize("width", [375, 1280])
def test_what_is_drawn_can_be_read(site: Running, look: OpenAt, width: int) -> None:
    seen = look(site.address, width=width)
    seen.go("/topology")
    # Letters are as high as they are on the screen, however the drawing is scaled.
    least = seen.page.evaluate(
        "() => Math.min(...[...document.querySelectorAll('.drawing svg text')].map(each =>"
        "parseFloat(getComputedStyle(each).fontSize) * each.getScreenCTM().a))"
    )
    assert least >= 10
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width


def test_decisions_show_reasons_and_what_held_them(site: Running, look: OpenAt) -> None:
    seen = look(site.address)
    seen.go("/decisions")
    rows = seen.rows("time (UTC)", "after batch")
    # One before the first batch, and one after each.
    assert len(rows) == BATCHES + 1
    assert seen.tiles()["Decisions"] == f"{BATCHES + 1}"
    assert (rows[-1][1], rows[-1][2]) == ("–", "3")
    assert rows[0][2] == "2 → 3"
    assert rows[0][3].startswith("a turn for 3")
    assert rows[0][6] == f"{2 * ROWS} rows in 5 s"
    assert seen.page.locator(".chip").first.inner_text() == EVIL


def test_placement_shows_hot_keys_and_key_groups(
    site: Running, look: OpenAt, told: QueryHistory
) -> None:
    seen = look(site.address)
    seen.go("/placement")
    hottest = [[each.key, share(each.share)] for each in told.placement.hottest["look_up"].keys]
    # Its rows alone wait for something.
    assert hottest[0][0] == EVIL
    assert hottest in [[row[:2] for row in rows] for rows in seen.tables("key", "of the load")]
    assert "8 key groups on" in seen.text()
    assert seen.page.get_by_role("heading", name="Key groups of visits").is_visible()


def test_windows_show_what_is_open_closed_and_late(
    site: Running, look: OpenAt, told: QueryHistory
) -> None:
    seen = look(site.address)
    seen.go("/windows")
    tiles = seen.tiles()
    assert told.late_rows >= LATE - 1  # one of them failed before it could be late
    assert tiles["Late rows"] == str(told.late_rows)
    assert tiles["Watermark"].startswith("2026-01-01 00:00:")
    closed = {row[0]: row for row in seen.rows("operator", "open")}
    assert set(closed) == {"sums", "best"}
    assert tiles["Closed windows"] == str(
        sum(each.closed_windows for each in told.windows.operators.values())
    )
    # Ten seconds each; the watermark is behind the last, so that this one is open.
    assert int(tiles["Open windows"]) >= 1


def test_preference_shows_the_points_of_the_newest_skyline(
    site: Running, look: OpenAt, told: QueryHistory, made: Made
) -> None:
    import pyarrow.dataset as ds

    seen = look(site.address)
    seen.go("/preference")
    rows = seen.rows("group", "price", "rating")
    (newest,) = told.preference.operators["best"].skyline
    files = ds.dataset(made.checkpoint.parents[1] / "out" / "best", partitioning="hive").to_table()
    written = [
        (row["price"], row["rating"])
        for row in files.to_pylist()
        if row["window"]["start"].timestamp() == newest.window_start_seconds
    ]
    assert written
    shown = [(float(price), float(rating)) for _, price, rating in rows]
    assert shown == sorted(written)[: len(shown)]
    assert len(shown) == min(12, len(written))


def test_faults_show_dead_letters_by_error(site: Running, look: OpenAt) -> None:
    seen = look(site.address)
    seen.go("/faults")
    failed = str(BATCHES * ROWS // FAILING_EVERY)
    assert seen.tiles()["Dead letters"] == failed
    assert seen.rows("operator", "error") == [["look_up", "ValueError", failed, EVIL]]
    assert len(seen.rows("time (UTC)", "Penstock")) == 1


def test_compare_shows_the_run_and_how_to_have_more(
    site: Running, look: OpenAt, made: Made
) -> None:
    seen = look(site.address)
    seen.go("/compare")
    rows = {row[0]: row[1] for row in seen.rows("")}
    assert rows["rows"] == str(made.rows)
    assert rows["late rows"] != "–"
    assert "There is one run only." in seen.text()


def test_compare_lays_several_journals_side_by_side(
    look: OpenAt, made: Made, tmp_path: Path
) -> None:
    import shutil

    from dashboard.processes import dashboard

    other = shutil.copytree(made.journal, tmp_path / "other" / "journal")
    with dashboard(made.checkpoint, other) as running:
        seen = look(running.address)
        seen.go("/compare")
        seen.page.wait_for_function("() => document.querySelectorAll('thead th').length >= 3")
        heads = seen.page.locator("table").first.locator("thead th").all_inner_texts()
        assert [head.partition(":")[0] for head in heads] == ["", "job", "other"]
        seen.go("/")
        seen.page.get_by_label("Journal").select_option(label="other")
        seen.page.wait_for_url("**/?journal=1")


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("width", [375, 1280])
@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
def test_a_page_fits_and_follows_the_theme(
    site: Running, look: OpenAt, path: str, width: int, is_dark: bool
) -> None:
    seen = look(site.address, width=width, is_dark=is_dark)
    seen.go(path)
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    assert seen.page.evaluate("document.body.scrollWidth") <= width
    colour = seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
    red = int(colour.removeprefix("rgb(").split(",")[0])
    assert (red < 60) == is_dark, colour
    title = path.strip("/") or "now"
    kind = "phone" if width == 375 else "desk"
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    name = f"{title}-{kind}-{'dark' if is_dark else 'light'}.png"
    seen.page.screenshot(path=SCREENSHOTS / name, full_page=True)


@pytest.mark.parametrize("path", PAGES)
def test_a_phone_cuts_nothing_off(site: Running, look: OpenAt, path: str) -> None:
    seen = look(site.address, width=375)
    seen.go(path)
    here = seen.page.locator("nav a[aria-current]").bounding_box()
    assert here["x"] >= 0
    assert here["x"] + here["width"] <= 375, "the page that is shown is seen in the list"
    cut = seen.page.evaluate(
        "() => [...document.querySelectorAll('main td, main dd, main h2, main p, main .chip')]"
        ".filter(each => !each.closest('.drawing') && each.getBoundingClientRect().right > 376"
        "|| each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 0"
        "&& getComputedStyle(each).display !== 'inline')"
        ".map(each => each.outerHTML.slice(0, 200))"
    )
    assert cut == []


def test_the_theme_can_be_chosen_and_is_kept(site: Running, look: OpenAt) -> None:
    seen = look(site.address)
    seen.go("/")
    before = seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
    seen.page.get_by_label("Theme").select_option("dark")
    seen.page.wait_for_function(
        "before => getComputedStyle(document.body).backgroundColor !== before", arg=before
    )
    dark = seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
    seen.go("/faults")
    assert seen.page.evaluate("getComputedStyle(document.body).backgroundColor") == dark


@pytest.mark.parametrize("path", PAGES)
def test_a_page_can_be_read_without_seeing_it(site: Running, look: OpenAt, path: str) -> None:
    seen = look(site.address)
    seen.go(path)
    page: Any = seen.page
    assert page.locator("h1").count() == 1
    for landmark in ("banner", "navigation", "main"):
        assert page.get_by_role(landmark).count() == 1, landmark
    assert page.locator("html").get_attribute("lang") == "en-US"
    for table in page.locator("table").all():
        assert table.locator("caption").inner_text().strip()
        assert table.locator("thead th:not([scope=col])").count() == 0
    for chart in page.locator(".nicegui-echart").all():
        assert chart.get_attribute("role") == "img"
        assert chart.get_attribute("aria-label")
    assert page.locator("nav a[aria-current=page]").count() == 1


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing_serious(site: Running, look: OpenAt, path: str, is_dark: bool) -> None:
    axe = axe_there()
    seen = look(site.address, is_dark=is_dark)
    seen.go(path)
    found = axe.run(seen.page).response["violations"]
    serious = [
        (each["id"], [(node["target"], node.get("failureSummary")) for node in each["nodes"][:3]])
        for each in found
        if each["impact"] in ("serious", "critical")
    ]
    assert serious == []


def test_the_keyboard_goes_through_the_page_in_order(site: Running, look: OpenAt) -> None:
    seen = look(site.address)
    seen.go("/windows")
    reached = []
    for _ in range(20):
        seen.page.keyboard.press("Tab")
        said = seen.page.evaluate(
            "() => { const at = document.activeElement; const style = getComputedStyle(at);"
            "return [at.tagName, at.innerText.trim().split('\\n')[0],"
            "at.matches(':focus-visible') && style.outlineStyle !== 'none' &&"
            "parseFloat(style.outlineWidth) >= 1]; }"
        )
        if said[0] == "BODY":
            break
        assert said[2], f"{said[:2]} shows no focus"
        reached.append(said[1] if said[0] == "A" else said[0])
    wanted = ["Skip to content", "Penstock", "SELECT", "SELECT", "Now", "Topology", "Decisions",
              "Placement", "Windows", "Preference", "Faults", "Compare"]  # fmt: skip
    assert reached[: len(wanted)] == wanted
    assert "DIV" in reached, "tables can be scrolled by the keyboard"


def test_the_skip_link_leads_to_the_content(site: Running, look: OpenAt) -> None:
    seen = look(site.address)
    seen.go("/")
    seen.page.keyboard.press("Tab")
    seen.page.keyboard.press("Enter")
    seen.page.wait_for_function("() => document.activeElement.id === 'content'")


def test_a_time_can_be_chosen(site: Running, look: OpenAt) -> None:
    seen = look(site.address)
    seen.go("/windows")
    seen.page.get_by_label("Time").select_option(label="1 hour")
    seen.page.wait_for_url("**/windows?range=1h")
    assert seen.page.locator("nav a", has_text="Faults").get_attribute("href") == (
        "/faults?range=1h"
    )


def test_the_keyboard_steps_to_a_time_and_goes_there_on_enter(site: Running, look: OpenAt) -> None:
    seen = look(site.address)
    seen.go("/windows")
    seen.page.evaluate("() => { window.isTheSamePage = true; }")
    times = seen.page.get_by_label("Time")
    times.focus()
    for _ in range(3):
        seen.page.keyboard.press("ArrowDown")
    assert times.evaluate("each => each.selectedOptions[0].text") == "1 hour"
    assert seen.page.evaluate("window.isTheSamePage") is True
    seen.page.keyboard.press("Enter")
    seen.page.wait_for_url("**/windows?range=1h")


def test_a_time_that_was_stepped_to_is_gone_to_by_leaving_the_list(
    site: Running, look: OpenAt
) -> None:
    seen = look(site.address)
    seen.go("/windows")
    seen.page.get_by_label("Time").focus()
    seen.page.keyboard.press("ArrowDown")
    seen.page.keyboard.press("Tab")
    seen.page.wait_for_url("**/windows?range=5m")


def test_a_time_that_was_stepped_to_is_left_by_escape(site: Running, look: OpenAt) -> None:
    seen = look(site.address)
    seen.go("/windows")
    times = seen.page.get_by_label("Time")
    times.focus()
    seen.page.keyboard.press("ArrowDown")
    seen.page.keyboard.press("Escape")
    assert times.evaluate("each => each.selectedOptions[0].text") == "Best fit"
    seen.page.keyboard.press("Tab")
    assert seen.page.url == f"{site.address}/windows"
