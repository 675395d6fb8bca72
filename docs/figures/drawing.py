"""A small SVG writer: one palette, one font, one white panel that reads on any background.

Numbers are written with one digit after the point, so that the same drawing is the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from math import hypot

BLUE, ORANGE, GREEN, VIOLET, BROWN, RED = (
    "#0969da",
    "#cf5b00",
    "#1a7f37",
    "#8250df",
    "#b35900",
    "#cf222e",
)
INK, MUTED, FAINT, GRID = "#1f2328", "#59636e", "#afb8c1", "#e3e7eb"
WIDTH = 720
_SANS = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"
_MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace"

Point = tuple[float, float]


class Drawing:
    """Shapes and words on a panel of 720 pixels' width; y runs down."""

    def __init__(self, height: float, title: str) -> None:
        self.height = height
        self._title = title
        self._parts: list[str] = []

    def svg(self) -> str:
        """Return the whole file."""
        size = f'width="{WIDTH}" height="{_n(self.height)}"'
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {_n(self.height)}" '
            f'{size} role="img" font-family="{_SANS}" font-size="14">'
        )
        panel = (
            f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{_n(self.height - 1)}" rx="10" '
            'fill="#ffffff" stroke="#d0d7de"/>'
        )
        words = f"<title>{escape(self._title)}</title>"
        return "\n".join([head, words, panel, *self._parts, "</svg>", ""])

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        size: float = 14,
        colour: str = INK,
        anchor: str = "middle",
        bold: bool = False,
        mono: bool = False,
    ) -> None:
        """Write words on a baseline; ``anchor`` is start, middle or end."""
        more = f' font-family="{_MONO}"' if mono else ""
        more += ' font-weight="600"' if bold else ""
        more += f' font-size="{_n(size)}"' if size != 14 else ""
        more += f' text-anchor="{anchor}"' if anchor != "start" else ""
        self._add(f'<text x="{_n(x)}" y="{_n(y)}" fill="{colour}"{more}>{escape(words)}</text>')

    def heading(self, x: float, y: float, words: str, *, anchor: str = "start") -> None:
        """Write what a part of the figure shows."""
        self.text(x, y, words, bold=True, anchor=anchor)

    def note(self, x: float, y: float, words: str, *, anchor: str = "middle") -> None:
        """Write a remark, smaller and lighter."""
        self.text(x, y, words, size=12.5, colour=MUTED, anchor=anchor)

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        words: str = "",
        *,
        colour: str = BLUE,
        detail: str = "",
        dashed: bool = False,
        filled: float = 0.1,
        mono: bool = False,
        radius: float = 6,
    ) -> None:
        """Draw a rounded box with a name in its middle, and a detail below it."""
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self._add(
            f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}" '
            f'rx="{_n(radius)}" fill="{colour}" fill-opacity="{filled:g}" stroke="{colour}" '
            f'stroke-width="1.5"{dash}/>'
        )
        middle, centre = x + width / 2, y + height / 2 + 5
        if words:
            self.text(middle, centre - (9 if detail else 0), words, mono=mono, bold=bool(detail))
        if detail:
            self.note(middle, centre + 9, detail)

    def bar(
        self, x: float, y: float, width: float, height: float, colour: str, *, solid: float = 1.0
    ) -> None:
        """Draw a plain filled rectangle."""
        faded = f' fill-opacity="{solid:g}"' if solid != 1 else ""
        self._add(
            f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}" rx="1.5" '
            f'fill="{colour}"{faded}/>'
        )

    def line(
        self,
        points: Iterable[Point],
        colour: str = MUTED,
        *,
        width: float = 1.5,
        dashed: bool = False,
    ) -> None:
        """Draw a line through points."""
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self._add(
            f'<polyline points="{_points(points)}" fill="none" stroke="{colour}" '
            f'stroke-width="{width:g}" stroke-linejoin="round"{dash}/>'
        )

    def area(self, points: Iterable[Point], colour: str, *, solid: float = 0.14) -> None:
        """Fill what lies within points."""
        self._add(f'<polygon points="{_points(points)}" fill="{colour}" fill-opacity="{solid:g}"/>')

    def arrow(
        self,
        points: Sequence[Point],
        colour: str = MUTED,
        *,
        width: float = 1.5,
        dashed: bool = False,
    ) -> None:
        """Draw a line with a head at its last point."""
        (x0, y0), (x1, y1) = points[-2:]
        length = hypot(x1 - x0, y1 - y0)
        dx, dy = (x1 - x0) / length, (y1 - y0) / length
        base = (x1 - 8 * dx, y1 - 8 * dy)
        self.line([*points[:-1], base], colour, width=width, dashed=dashed)
        wings = ((base[0] - 4.5 * dy, base[1] + 4.5 * dx), (base[0] + 4.5 * dy, base[1] - 4.5 * dx))
        self._add(f'<polygon points="{_points([(x1, y1), *wings])}" fill="{colour}"/>')

    def dot(
        self, x: float, y: float, colour: str = BLUE, *, radius: float = 4, hollow: bool = False
    ) -> None:
        """Draw a dot, or a ring."""
        paint = f'fill="#ffffff" stroke="{colour}" stroke-width="1.5"'
        look = paint if hollow else f'fill="{colour}"'
        self._add(f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}" {look}/>')

    def key(self, x: float, y: float, entries: Sequence[tuple[str, str]], *, step: float) -> None:
        """Write what colours mean, side by side."""
        for place, (words, colour) in enumerate(entries):
            self.bar(x + place * step, y - 9, 14, 10, colour)
            self.text(x + place * step + 20, y, words, size=13, anchor="start")

    def _add(self, part: str) -> None:
        self._parts.append(part)


def _n(value: float) -> str:
    return f"{round(value, 1) + 0.0:g}"


def _points(points: Iterable[Point]) -> str:
    return " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
