"""Reads what a page says: its tiles and its tables, as a browser would parse them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser

from penstock.dashboard.sections import Chart, Html, Section


@dataclass
class Found:
    """All that stands in some HTML."""

    tags: list[str] = field(default_factory=list)
    attributes: list[tuple[str, str | None]] = field(default_factory=list)
    text: str = ""
    tiles: dict[str, tuple[str, str]] = field(default_factory=dict)
    tables: list[list[list[str]]] = field(default_factory=list)

    def rows(self, *heads: str) -> list[list[str]]:
        """Return the rows of the one table whose first columns are called so."""
        (found,) = (each for each in self.tables if tuple(each[0][: len(heads)]) == heads)
        return found[1:]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found = Found()
        self._path: list[str] = []
        self._cells: list[str] = []
        self._rows: list[list[str]] = []
        self._label = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.tags.append(tag)
        self.found.attributes += attrs
        self._path.append(tag)
        if tag == "table":
            self._rows = []
        elif tag == "tr":
            self._cells = []
        elif tag in ("td", "th"):
            self._cells.append("")

    def handle_data(self, data: str) -> None:
        self.found.text += data
        if "td" in self._path or "th" in self._path:
            self._cells[-1] += data
        elif self._path[-1:] == ["dt"]:
            self._label = data
            self.found.tiles[data] = ("", "")
        elif self._path[-1:] == ["dd"]:
            value, about = self.found.tiles.get(self._label, ("", ""))
            self.found.tiles[self._label] = (value, data) if value else (data, about)

    def handle_endtag(self, tag: str) -> None:
        assert self._path.pop() == tag
        if tag == "tr":
            self._rows.append(self._cells)
        elif tag == "table":
            self.found.tables.append(self._rows)


def read_html(content: str) -> Found:
    """Parse HTML; whatever is opened must be closed."""
    reader = _Reader()
    reader.feed(content)
    reader.close()
    assert not reader._path
    return reader.found


def read_page(sections: Iterable[Section]) -> Found:
    """Parse all that a page says in words."""
    return read_html("".join(each.content for each in sections if isinstance(each, Html)))


def charts(sections: Iterable[Section]) -> dict[str, Chart]:
    return {each.title: each for each in sections if isinstance(each, Chart)}


def curves(chart: Chart) -> dict[str, list[Sequence[float | None]]]:
    """Return the points of each curve by its name."""
    return {each["name"]: each["data"] for each in chart.options["series"] if "name" in each}
