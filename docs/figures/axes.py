"""Axes of a chart: where numbers lie on a drawing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from drawing import FAINT, GRID, INK, MUTED, Drawing, Point


class Axes:
    """A chart within a drawing, from its left upper corner, for numbers between two bounds."""

    def __init__(
        self,
        drawing: Drawing,
        corner: Point,
        size: tuple[float, float],
        across: tuple[float, float],
        up: tuple[float, float],
    ) -> None:
        self.drawing = drawing
        self.left, self.top = corner
        self.width, self.height = size
        self._across, self._up = across, up

    @property
    def right(self) -> float:
        """The right end, in pixels."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """The lower end, in pixels."""
        return self.top + self.height

    def x(self, value: float) -> float:
        """Return where a number lies from left to right."""
        low, high = self._across
        return self.left + (value - low) / (high - low) * self.width

    def y(self, value: float) -> float:
        """Return where a number lies from bottom to top."""
        low, high = self._up
        return self.bottom - (value - low) / (high - low) * self.height

    def at(self, value_x: float, value_y: float) -> Point:
        """Return where a pair of numbers lies."""
        return self.x(value_x), self.y(value_y)

    def frame(
        self,
        across: Sequence[float],
        up: Sequence[float],
        *,
        x_label: str = "",
        y_label: str = "",
        written: str = "{:,g}",
    ) -> None:
        """Draw grid lines with their numbers, and say what is counted along both axes."""
        for value in up:
            y = self.y(value)
            colour = FAINT if y == self.bottom else GRID
            self.drawing.line([(self.left, y), (self.right, y)], colour, width=1)
            self.drawing.text(
                self.left - 8, y + 4.5, written.format(value), size=12.5, colour=MUTED, anchor="end"
            )
        for value in across:
            self.drawing.note(self.x(value), self.bottom + 18, f"{value:,g}")
        if x_label:
            self.drawing.note(self.right, self.bottom + 36, x_label, anchor="end")
        if y_label:
            self.drawing.text(self.left, self.top - 12, y_label, size=13, anchor="start")

    def curve(
        self,
        xs: Sequence[float],
        ys: Sequence[float],
        colour: str,
        *,
        width: float = 2,
        dashed: bool = False,
    ) -> None:
        """Draw a line through numbers."""
        points = [self.at(x, y) for x, y in zip(xs, ys, strict=True)]
        self.drawing.line(points, colour, width=width, dashed=dashed)

    def steps(
        self,
        xs: Sequence[float],
        ys: Sequence[float],
        colour: str,
        *,
        width: float = 2,
        dashed: bool = False,
    ) -> None:
        """Draw numbers each of which holds until the next."""
        points: list[Point] = []
        for x, y in zip(xs, ys, strict=True):
            if points:
                points.append((self.x(x), points[-1][1]))
            points.append(self.at(x, y))
        self.drawing.line(_corners(points), colour, width=width, dashed=dashed)

    def fill(self, xs: Sequence[float], ys: Sequence[float], colour: str) -> None:
        """Fill what lies below a line."""
        points = [self.at(x, y) for x, y in zip(xs, ys, strict=True)]
        ends = [(points[-1][0], self.bottom), (points[0][0], self.bottom)]
        self.drawing.area([*points, *ends], colour)

    def band(
        self, xs: Sequence[float], low: Sequence[float], high: Sequence[float], colour: str
    ) -> None:
        """Fill what lies between two lines."""
        there = [self.at(x, y) for x, y in zip(xs, high, strict=True)]
        back = [self.at(x, y) for x, y in zip(xs, low, strict=True)]
        self.drawing.area([*there, *reversed(back)], colour, solid=0.18)

    def level(self, value: float, colour: str = INK, words: str = "") -> None:
        """Draw a dashed line right across, with what it is above its right end."""
        y = self.y(value)
        self.drawing.line([(self.left, y), (self.right, y)], colour, width=1.2, dashed=True)
        if words:
            self.drawing.text(self.right, y - 6, words, size=12.5, colour=colour, anchor="end")


def _corners(points: Sequence[Point]) -> list[Point]:
    """Leave out what lies on a straight line between its neighbours."""
    kept = list(points[:1])
    for here, after in pairwise(points[1:]):
        level = kept[-1][1] == here[1] == after[1]
        upright = kept[-1][0] == here[0] == after[0]
        if not (level or upright):
            kept.append(here)
    return [*kept, *points[-1:]]
