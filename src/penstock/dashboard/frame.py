"""What every page has around it: the journal, the time, the pages, light or dark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nicegui import ui

from penstock.dashboard.markup import Safe, element, joined
from penstock.dashboard.sections import RANGE_WORDS, Shown
from penstock.dashboard.style import GATE, SHEET
from penstock.dashboard.view import View
from penstock.dashboard.watched import Watched
from penstock.dashboard.words import share

# Kept by the browser itself: a dashboard writes nothing down about who looks at it.
_THEME = """<script>
window.penstockTheme = (chosen) => {
  if (chosen) localStorage.setItem("penstock-theme", chosen);
  const theme = localStorage.getItem("penstock-theme") || "auto";
  const dark = theme === "dark" ||
    (theme === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.body.classList.toggle("body--dark", dark);
  document.body.classList.toggle("body--light", !dark);
  const select = document.getElementById("theme");
  if (select) select.value = theme;
};
document.addEventListener("DOMContentLoaded", () => window.penstockTheme());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => window.penstockTheme());
document.addEventListener("change", (event) => {
  if (event.target.id === "theme") window.penstockTheme(event.target.value);
});
new MutationObserver(() => {
  const select = document.getElementById("theme");
  if (select && !select.dataset.set) { select.dataset.set = "1"; window.penstockTheme(); }
  const here = document.querySelector(".pages a[aria-current]");
  if (here && !here.dataset.set) {  // where not all pages fit, the one that is shown does
    here.dataset.set = "1";
    here.parentElement.scrollLeft = here.offsetLeft - here.parentElement.clientWidth / 2;
  }
}).observe(document.documentElement, { childList: true, subtree: true });
</script>"""

# An arrow key on a closed list chooses what is next in it, which may be halfway to what is wanted.
_CHOOSING = """<script>
(() => {
  let isStepping = false;
  const inForce = (list) => list.querySelector("[selected]").value;
  const go = (list) => { if (list.value !== inForce(list)) location.href = list.value; };
  const ofLists = (then) => (event) => {
    if (event.target.matches && event.target.matches("select[data-goes]")) then(event);
  };
  document.addEventListener("pointerdown", ofLists(() => { isStepping = false; }));
  document.addEventListener("keydown", ofLists(({ target, key, altKey }) => {
    if (key === "Enter") go(target);
    if (key === "Escape") target.value = inForce(target);
    isStepping = !altKey && !["Enter", " ", "F4"].includes(key);
  }));
  document.addEventListener("change", ofLists(({ target }) => { if (!isStepping) go(target); }));
  document.addEventListener("focusout", ofLists(({ target }) => {
    if (document.hasFocus()) go(target);
  }));
})();
</script>"""


@dataclass(frozen=True, slots=True)
class Page:
    """A page that can be gone to."""

    path: str
    title: str
    about: str


class Frame:
    """The head of a page; the words about the query and what can be chosen change in it."""

    def __init__(self, watched: Watched, view: View, page: Page, pages: Sequence[Page]) -> None:
        self._watched, self._view, self._page = watched, view, page
        ui.add_head_html(f"<style>{SHEET}</style>{_THEME}{_CHOOSING}")
        with ui.header().classes("top"):
            ui.html(element("a", "Skip to content", href="#content", class_="skip"))
            with ui.element("div").classes("bar"):
                brand = element("a", joined((Safe(GATE), "Penstock")), href=view.address("/"),
                                class_="brand")  # fmt: skip
                ui.html(brand)
                self._choice = ui.html(_choices(watched, view, page), sanitize=False)
                ui.element("div").classes("grow")
                self._state = ui.html("").props('aria-live="polite"')
                ui.html(_theme(), sanitize=False)
            links = joined(
                element(
                    "a",
                    each.title,
                    href=view.address(each.path),
                    aria_current="page" if each.path == page.path else None,
                )
                for each in pages
            )
            ui.html(element("nav", links, class_="pages", aria_label="Pages"))

    def say(self, shown: Shown) -> None:
        """Say how the query is, and what else there is to choose by now."""
        state, tone = shown.state
        words = element("span", state, class_=f"state {tone}")
        if shown.share_read < 1.0:
            reading = f"reading the journal: {share(shown.share_read)}"
            words = joined((words, " ", element("span", reading, class_="soft")))
        if words != self._state.content:
            self._state.set_content(words)
        # Only what changed: a list that somebody has just opened would be closed before them.
        choices = _choices(self._watched, self._view, self._page)
        if choices != self._choice.content:
            self._choice.set_content(choices)


def _choices(watched: Watched, view: View, page: Page) -> Safe:
    """Lay out what can be chosen: the journal, the query in it, the time."""
    made: list[Safe] = []
    if len(watched.names) > 1:
        options = [
            (view.address(page.path, journal=n, query=""), name, n == view.journal)
            for n, name in enumerate(watched.names)
        ]
        made.append(_select("Journal", options))
    else:
        made.append(element("span", watched.names[0], class_="soft"))
    journal = watched.journals[view.journal]
    names = [each.name for each in journal.shown.queries]
    chosen = view.name_of_query(journal.shown, is_whole=journal.is_whole)
    if chosen not in names:  # it has not been read yet
        names.append(chosen)
    if len(names) > 1:
        options = [(view.address(page.path, query=name), name, name == chosen) for name in names]
        made.append(_select("Query", options))
    ranges = [
        (view.address(page.path, range=key), words, key == view.range)
        for key, words in RANGE_WORDS.items()
    ]
    if not view.range:
        ranges.insert(0, (view.address(page.path), "Best fit", True))
    made.append(_select("Time", ranges))
    return element("div", joined(made), class_="bar", style="padding: 0; width: auto; margin: 0")


def _select(label: str, options: Sequence[tuple[str, str, bool]]) -> Safe:
    made = joined(
        element("option", words, value=address, selected="" if chosen else None)
        for address, words, chosen in options
    )
    hint = "With arrow keys, Enter goes there"
    select = element("select", made, data_goes="1", title=hint)
    return element("label", joined((label, select)))


def _theme() -> Safe:
    made = joined(
        element("option", words, value=value)
        for value, words in (("auto", "As the system"), ("light", "Light"), ("dark", "Dark"))
    )
    return element("label", joined(("Theme", element("select", made, id="theme"))))
