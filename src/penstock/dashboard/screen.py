"""Puts sections on a page, and later changes only what has changed."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui import ui

from penstock.dashboard.markup import element
from penstock.dashboard.sections import Chart, Html, Section


class Screen:
    """The sections of one page as one browser sees them."""

    def __init__(self) -> None:
        self._root = ui.element("div").classes("sections")
        self._shape: list[tuple[type[Section], str, bool]] = []
        self._shown: list[Section] = []
        self._about: list[ui.html] = []
        self._bodies: list[ui.html | ui.echart] = []

    def show(self, sections: Sequence[Section]) -> None:
        """Show these from now on; a page of the same shape is not built anew."""
        shape = [(type(each), each.title, each.is_wide) for each in sections]
        if shape != self._shape:
            self._build(sections)
            self._shape = shape
        else:
            for number, each in enumerate(sections):
                if each != self._shown[number]:
                    self._renew(number, each)
        self._shown = list(sections)

    def _build(self, sections: Sequence[Section]) -> None:
        self._root.clear()
        self._about, self._bodies = [], []
        with self._root:
            for each in sections:
                self._add(each)

    def _add(self, section: Section) -> None:
        is_bare = isinstance(section, Html) and not section.title
        classes = f"section {'full' if section.is_wide else ''} {'bare' if is_bare else ''}"
        with ui.element("section").classes(classes) as outer:
            if section.title:
                outer.props["aria-label"] = section.title
                with ui.element("h2"):
                    ui.label(section.title)
            self._about.append(ui.html(_paragraph(section.about)))
            if isinstance(section, Chart):
                chart = ui.echart(section.options).style(f"height: {section.height}px; width: 100%")
                chart.props["role"] = "img"
                chart.props["aria-label"] = f"{section.title}. {section.about}"
                self._bodies.append(chart)
            else:
                self._bodies.append(ui.html(section.content))

    def _renew(self, number: int, section: Section) -> None:
        about, body = self._about[number], self._bodies[number]
        if section.about != self._shown[number].about:
            about.set_content(_paragraph(section.about))
        if isinstance(section, Chart) and isinstance(body, ui.echart):
            body.options.clear()
            body.options.update(section.options)
            body.update()
        elif isinstance(section, Html) and isinstance(body, ui.html):
            body.set_content(section.content)


def _paragraph(about: str) -> str:
    return element("p", about, class_="about") if about else ""
