"""The one place from which a dashboard changes a query: slots forced or limited, scaling paused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from nicegui import ui

from penstock.dashboard.markup import notice
from penstock.dashboard.view import View
from penstock.dashboard.watched import Watched
from penstock.elasticity.control import Control
from penstock.errors import PenstockError
from penstock.journal.control_file import read_control, write_control

_BY = "the dashboard"


class ControlForm:
    """Asks for what to change, writes it beside the journal, and says what came of it.

    The query takes it up within a second and journals it, so that its own journal says who changed
    what, and when.
    """

    def __init__(self, watched: Watched, view: View) -> None:
        self._watched = watched
        self._view = view
        asked = self._asked()
        with ui.element("section").classes("section full"):
            with ui.element("h2"):
                ui.label("Ask the query for something")
            with ui.element("div").classes("form"):
                self._paused = ui.checkbox("Pause scaling", value=asked.paused)
                self._least = _slots("Least slots", asked.min_slots)
                self._most = _slots("Most slots", asked.max_slots)
                self._forced = _slots("Force slots", asked.forced_slots)
                _button("Ask", self._ask).classes("main")
                _button("Leave it to the policy", self._leave)
            self._said = ui.html("").props('aria-live="polite"')

    @property
    def _journal(self) -> Path | None:
        return self._watched.journals[self._view.journal].shown.journal

    def _asked(self) -> Control:
        journal = self._journal
        if journal is None or not journal.is_dir():
            return Control()
        try:
            found = read_control(journal)
        except PenstockError:
            return Control()
        return found.control if found is not None else Control()

    def _ask(self) -> None:
        self._write(
            lambda: Control(
                paused=bool(self._paused.value),
                min_slots=_whole(self._least.value),
                max_slots=_whole(self._most.value),
                forced_slots=_whole(self._forced.value),
            )
        )

    def _leave(self) -> None:
        self._paused.value = False
        for field in (self._least, self._most, self._forced):
            field.value = None
        self._write(Control)

    def _write(self, make: Callable[[], Control]) -> None:
        journal = self._journal
        if journal is None or not journal.is_dir():
            self._said.set_content(notice("This is no running query's journal.", tone="bad"))
            return
        try:
            control = make()
            write_control(journal, control, by=_BY, clock=self._watched.clock)
        except (PenstockError, OSError) as error:
            self._said.set_content(notice("Nothing was changed.", str(error), tone="bad"))
            return
        self._said.set_content(notice(f"Asked for: {control.describe()}.", self._when()))

    def _when(self) -> str:
        history = self._watched.journals[self._view.journal].shown
        with history.lock:
            has_ended = self._view.shown(self._watched, history).query.stopped is not None
        if has_ended:
            return "The query has ended: it takes it up when it starts again."
        return "The query takes it up within a second, and says so below."


def _slots(label: str, value: int | None) -> ui.number:
    return ui.number(label, value=value, min=1, precision=0).props("outlined dense")


def _button(label: str, then: Callable[[], None]) -> ui.button:
    # No colour of its own: those of the sheet can be read in both themes.
    return ui.button(label, on_click=then, color=None).props("unelevated no-caps")


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
