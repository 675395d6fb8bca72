"""The pages as a web site: an address for each, renewed while somebody looks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from math import ceil

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse
from nicegui import app as pages_app
from nicegui import ui

from penstock.dashboard.control_form import ControlForm
from penstock.dashboard.frame import Frame, Page
from penstock.dashboard.guard import Guard
from penstock.dashboard.loads import Loads
from penstock.dashboard.markup import Safe, element, joined, notice
from penstock.dashboard.pages import (
    compare,
    decisions,
    faults,
    now,
    placement,
    preference,
    topology,
    windows,
)
from penstock.dashboard.pages import control as control_page
from penstock.dashboard.plain_page import plain_page
from penstock.dashboard.screen import Screen
from penstock.dashboard.sections import Html, Section, Shown, side_by_side
from penstock.dashboard.style import FAVICON
from penstock.dashboard.view import View
from penstock.dashboard.watched import Watched

_RENEW_SECONDS = 1.0
_RENEW_LONG_EVERY = 5

PAGES: dict[Page, Callable[[Shown], list[Section]]] = {
    Page("/", "Now", "Does it keep up, and with how many slots?"): now.sections,
    Page("/topology", "Topology", "What runs where, and how busy it is."): topology.sections,
    Page("/decisions", "Decisions", "What was decided, why, and what came of it."): (
        decisions.sections
    ),
    Page("/placement", "Placement", "Which task gets which rows."): placement.sections,
    Page("/windows", "Windows", "What is open, what is kept, what came late."): windows.sections,
    Page("/preference", "Preference", "Skylines and how panes are split."): preference.sections,
    Page("/faults", "Faults", "What went wrong, and what became of it."): faults.sections,
}
COMPARE = Page("/compare", "Compare", "Several runs side by side.")
CONTROL = Page("/control", "Control", "Change how many slots a running query uses.")


def make_site(
    watched: Watched, hosts: tuple[str, ...], token: str | None, *, control: bool
) -> FastAPI:
    """Return the site for some journals; ``control`` adds the page that changes a query."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    pages = [*PAGES, COMPARE, *([CONTROL] if control else [])]
    loads = Loads()
    for page, sections in PAGES.items():
        _add(watched, loads, page, pages, partial(_of_query, watched, make=sections))
    _add(watched, loads, COMPARE, pages, lambda view: _of_all(watched, view))
    if control:
        made = partial(_of_query, watched, make=control_page.sections)
        _add(watched, loads, CONTROL, pages, made, has_form=True)
    _say_what_is_missing(pages)
    app.add_middleware(Guard, hosts=hosts, token=token)
    ui.run_with(
        app,
        title="Penstock",
        favicon=FAVICON,
        dark=None,
        language="en-US",
        tailwind=False,
        show_welcome_message=False,
        reconnect_timeout=10.0,
        message_history_length=20,
        binding_refresh_interval=None,
    )
    return app


def _say_what_is_missing(pages: Sequence[Page]) -> None:
    """Answer an address that is no page's with those that are, not with the library's page."""
    content = plain_page(
        "Penstock: no such page",
        element("h1", "There is no such page"),
        element("p", "The address may be mistyped, or of a page that this dashboard hasn't got."),
        element("p", joined(each for page in pages for each in (_link(page), " "))),
    )

    @pages_app.exception_handler(404)
    async def missing(request: Request, error: Exception) -> HTMLResponse:
        return HTMLResponse(content, 404)


def _link(page: Page) -> Safe:
    return element("a", page.title, href=page.path)


def _add(
    watched: Watched,
    loads: Loads,
    page: Page,
    pages: Sequence[Page],
    sections: Callable[[View], list[Section]],
    has_form: bool = False,
) -> None:
    @ui.page(page.path, title=f"{page.title} · Penstock")
    def build(journal: str = "", query: str = "", range: str = "") -> None:
        loads.sent(ui.context.client)
        view = View.of(watched, journal, query, range)
        frame = Frame(watched, view, page, pages)
        with ui.element("div").classes("page").props('id="content" tabindex="-1"'):
            with ui.element("h1"):
                ui.label(page.title)
            ui.html(element("p", page.about, class_="about"))
            if has_form:
                ControlForm(watched, view)
            screen = Screen()
        Renewal(watched, view, frame, lambda: screen.show(side_by_side(sections(view)))).start()


class Renewal:
    """Renews a page while its journal grows: every second, a long time less often."""

    def __init__(
        self, watched: Watched, view: View, frame: Frame, draw: Callable[[], None]
    ) -> None:
        self._watched, self._view, self._frame, self._draw = watched, view, frame, draw
        self._drawn: tuple[object, ...] = ()
        self._turn = 0

    def start(self) -> None:
        """Draw now, and again whenever there is something new."""
        self.renew()
        ui.timer(_RENEW_SECONDS, self.renew, immediate=False)

    def renew(self) -> None:
        """Draw the page if it would look different."""
        history = self._watched.journals[self._view.journal].shown
        self._turn += 1
        if self._turn > 1:
            self._watched.was_seen()
        with history.lock:
            shown = self._view.shown(self._watched, history)
            self._frame.say(shown)
            own = (id(history), history.revision, history.problem)
        if shown.is_long and self._turn % _RENEW_LONG_EVERY != 1 and self._drawn:
            return
        revisions = [each.shown.revision for each in self._watched.journals]
        # Of a query that does nothing, pages say for how long.
        idle_minutes = ceil(shown.idle_seconds / 60)
        drawn = (*own, *revisions, shown.state, idle_minutes)
        if drawn != self._drawn:
            self._drawn = drawn
            self._draw()


def _of_query(
    watched: Watched, view: View, make: Callable[[Shown], list[Section]]
) -> list[Section]:
    history = watched.journals[view.journal].shown
    with history.lock:
        problem: list[Section] = []
        if history.problem is not None:
            problem.append(Html(notice("The journal can't be read.", history.problem, "bad")))
            if not history.revision:
                return problem
        return problem + make(view.shown(watched, history))


def _of_all(watched: Watched, view: View) -> list[Section]:
    histories = [journal.shown for journal in watched.journals]
    with ExitStack() as held:
        # Until all is drawn, not only until it is found: a table can't grow while it is read. Who
        # reads journals holds one lock at a time, so that taking several can't end in a deadlock.
        for history in histories:
            held.enter_context(history.lock)
        runs = [
            View(number, query.name, view.range or "all").shown(watched, history)
            for number, history in enumerate(histories)
            for query in history.queries
        ]
        return compare.sections(runs)
