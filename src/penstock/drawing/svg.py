"""Draws a figure as SVG, in colours that its page chooses: no library, and nothing to load."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import isfinite

from penstock.drawing.figure import Figure
from penstock.drawing.ticks import number_label, ticks, time_labels, time_ticks
from penstock.topology.explain_svg import safe

WIDTH, HEIGHT = 720, 260
NARROW_WIDTH, NARROW_HEIGHT = 360, 230
COLOURS = 6
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 12, 10, 40
_TIME_LABEL_WIDTH = 76

Points = list[tuple[float, float]]


def svg(figure: Figure, width: int = WIDTH, height: int = HEIGHT) -> str:
    """Return the drawing of a figure; curve N has the class ``cN``, for N from 0 to 5.

    >>> drawn = svg(Figure("slots", "Slots", "s", "n", [0.0, 1.0], {"a<b": [1.0, 2.0]}))
    >>> drawn.startswith("<svg"), "a&lt;b" in drawn, "a<b" in drawn
    (True, True, False)
    """
    at = _Scale(figure, width, height)
    parts = [f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{safe(figure.title)}">']
    parts += _axes(figure, at)
    for number, (name, curve) in enumerate(figure.series.items()):
        kind = f"c{number % COLOURS}{' dashed' if name in figure.dashed else ''}"
        parts.append(f'<g class="{kind}"><title>{safe(name)}</title>')
        if name in figure.bands:
            parts += _band(figure, at, *figure.bands[name])
        parts += _drawn(figure, at, name, curve)
        parts.append("</g>")
    return "".join([*parts, "</svg>"])


class _Scale:
    """Where a value is in the drawing."""

    def __init__(self, figure: Figure, width: int, height: int) -> None:
        self.right, self.bottom, self.height = width - _RIGHT, height - _BOTTOM, height
        up = ticks(*_range(figure))
        low, high = min(figure.x, default=0.0), max(figure.x, default=1.0)
        if figure.zone is None:
            across = ticks(low, high, most=max(2, width // 140))
            self._x0, self._x1 = across[0], across[-1]
            labels = [number_label(value) for value in across]
        else:
            self._x0, self._x1 = low, max(high, low + 1.0)
            most = max(2, (width - _LEFT - _RIGHT) // _TIME_LABEL_WIDTH)
            across = time_ticks(low, self._x1, figure.zone, most)
            labels = time_labels(across, figure.zone)
        self.across = list(zip(across, labels, strict=True))
        self._y0, self._y1 = up[0], up[-1]
        self.up = up

    def x(self, value: float) -> float:
        share = (value - self._x0) / (self._x1 - self._x0)
        return round(_LEFT + share * (self.right - _LEFT), 1)

    def y(self, value: float) -> float:
        share = (value - self._y0) / (self._y1 - self._y0)
        return round(self.bottom - share * (self.bottom - _TOP), 1)


def _range(figure: Figure) -> tuple[float, float]:
    curves = [*figure.series.values(), *(side for band in figure.bands.values() for side in band)]
    values = [v for curve in curves for v in curve if isfinite(v)]
    return (min(0.0, *values) if values else 0.0, max(values, default=1.0))


def _axes(figure: Figure, at: _Scale) -> list[str]:
    left, right, bottom = _LEFT, at.right, at.bottom
    parts = []
    for value in at.up:
        y = at.y(value)
        parts.append(f'<line class="grid" x1="{left}" x2="{right}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text class="end" x="{left - 6}" y="{y + 4}">{number_label(value)}</text>')
    for value, label in at.across:
        parts.append(f'<text class="mid" x="{at.x(value)}" y="{bottom + 16}">{label}</text>')
    middle = (left + right) / 2
    x_label = safe(figure.x_label)
    parts.append(f'<text class="mid" x="{middle}" y="{at.height - 6}">{x_label}</text>')
    turned = f'transform="rotate(-90)" x="{-(bottom + _TOP) / 2}" y="13"'
    parts.append(f'<text class="mid" {turned}>{safe(figure.y_label)}</text>')
    return parts


def _drawn(figure: Figure, at: _Scale, name: str, curve: Sequence[float]) -> Iterator[str]:
    if name in figure.barred:
        yield from _bars(at, figure.x, curve)
        return
    for run in _runs(figure, at, curve):
        if len(run) == 1 or not figure.joined:
            yield from (f'<circle cx="{x}" cy="{y}" r="4"/>' for x, y in run)
        else:
            points = _steps(run) if name in figure.stepped else run
            yield f'<polyline points="{_written(points)}"/>'


def _runs(figure: Figure, at: _Scale, curve: Sequence[float]) -> Iterator[Points]:
    """Part a curve where there is no value, and at gaps."""
    for places in _stretches(figure, [isfinite(up) for up in curve]):
        yield [(at.x(figure.x[n]), at.y(curve[n])) for n in places]


def _stretches(figure: Figure, known: Sequence[bool]) -> Iterator[list[int]]:
    """Yield the places of points that belong together: all known, and no gap between them."""
    after_gap = _after_gaps(figure)
    stretch: list[int] = []
    for n, is_known in enumerate(known):
        if stretch and (not is_known or n in after_gap):
            yield stretch
            stretch = []
        if is_known:
            stretch.append(n)
    if stretch:
        yield stretch


def _after_gaps(figure: Figure) -> set[int]:
    """Return the places of the points that come first after a gap.

    A point may stand for several and lie a little way into a gap, but not beyond its middle.
    """
    middles = [(start + end) / 2 for start, end in figure.gaps]
    return {bisect_left(figure.x, middle) for middle in middles}


def _steps(run: Points) -> Points:
    """Hold each value until the next one."""
    points = [run[0]]
    for (_, before), (x, y) in pairwise(run):
        if y != before:
            points.append((x, before))
        points.append((x, y))
    return points


def _bars(at: _Scale, x: Sequence[float], curve: Sequence[float]) -> Iterator[str]:
    gaps = [at.x(b) - at.x(a) for a, b in pairwise(x) if b > a]
    room = max(1.0, min([*gaps, 24.0]) * 0.8)
    floor = at.y(0.0)
    for across, up in zip(x, curve, strict=True):
        if isfinite(up) and up:
            top, left = at.y(max(up, 0.0)), at.x(across) - room / 2
            high = max(0.5, at.y(min(up, 0.0)) - top if up < 0 else floor - top)
            yield f'<rect x="{left:.1f}" y="{top}" width="{room:.1f}" height="{high:.1f}"/>'


def _band(figure: Figure, at: _Scale, low: Sequence[float], high: Sequence[float]) -> Iterator[str]:
    """Fill what lies between two curves, where both are known."""
    known = [isfinite(a) and isfinite(b) for a, b in zip(low, high, strict=True)]
    for places in _stretches(figure, known):
        there = [(at.x(figure.x[n]), at.y(high[n])) for n in places]
        back = [(at.x(figure.x[n]), at.y(low[n])) for n in reversed(places)]
        yield f'<polygon class="band" points="{_written(there + back)}"/>'


def _written(points: Points) -> str:
    return " ".join(f"{x},{y}" for x, y in points)
