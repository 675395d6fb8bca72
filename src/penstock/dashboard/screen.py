"""Puts sections on a page, and later changes only what has changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from nicegui import ui

from penstock.dashboard.markup import Safe, element
from penstock.dashboard.renewed import Renewed
from penstock.dashboard.sections import Chart, Html, Section


@dataclass(frozen=True, slots=True)
class _Place:
    """What makes a section the same one a moment later; ``turn`` numbers those that look alike."""

    kind: type[Section]
    title: str
    is_wide: bool
    turn: int


class Screen:
    """The sections of one page as one browser sees them."""

    def __init__(self) -> None:
        self._root = ui.element("div").classes("sections")
        self._drawn: dict[_Place, _Drawn] = {}

    def show(self, sections: Sequence[Section]) -> None:
        """Show these from now on; a section that was there before is not built anew."""
        wanted = dict(zip(_places(sections), sections, strict=True))
        for place in self._drawn.keys() - wanted.keys():
            self._drawn.pop(place).outer.delete()
        for number, (place, section) in enumerate(wanted.items()):
            drawn = self._drawn.get(place)
            if drawn is None:
                with self._root:
                    drawn = self._drawn[place] = _Drawn(section)
            else:
                drawn.renew(section)
            if self._root.default_slot.children[number] is not drawn.outer:
                drawn.outer.move(target_index=number)


def _places(sections: Sequence[Section]) -> list[_Place]:
    """Tell sections apart.

    >>> [each.turn for each in _places([Html(Safe("a")), Html(Safe("b")), Chart("c", {})])]
    [0, 1, 0]
    """
    seen: Counter[tuple[type[Section], str, bool]] = Counter()
    places = []
    for each in sections:
        alike = (type(each), each.title, each.is_wide)
        places.append(_Place(*alike, seen[alike]))
        seen[alike] += 1
    return places


class _Drawn:
    """One section in its frame."""

    def __init__(self, section: Section) -> None:
        self._shown = section
        is_bare = isinstance(section, Html) and not section.title
        classes = f"section {'full' if section.is_wide else ''} {'bare' if is_bare else ''}"
        with ui.element("section").classes(classes) as self.outer:
            if section.title:
                self.outer.props["aria-label"] = section.title
                with ui.element("h2"):
                    ui.label(section.title)
            self._about = Renewed(_paragraph(section.about))
            self._body = _chart(section) if isinstance(section, Chart) else Renewed(section.content)

    def renew(self, section: Section) -> None:
        """Show what the section has become."""
        if section == self._shown:
            return
        self._shown = section
        self._about.set_content(_paragraph(section.about))
        if isinstance(section, Chart) and isinstance(self._body, ui.echart):
            self._body.options.clear()
            self._body.options.update(section.options)
            _fit(self._body, section)
        elif isinstance(section, Html) and isinstance(self._body, Renewed):
            self._body.set_content(section.content)


def _chart(section: Chart) -> ui.echart:
    chart = ui.echart(section.options)
    chart.props["role"] = "img"
    _fit(chart, section)
    return chart


def _fit(chart: ui.echart, section: Chart) -> None:
    """Give a chart the height for what it shows, and say what that is."""
    chart.style(f"height: {section.height}px; width: 100%")
    chart.props["aria-label"] = f"{section.title}. {section.about}"
    chart.update()


def _paragraph(about: str) -> Safe:
    return element("p", about, class_="about") if about else Safe("")
