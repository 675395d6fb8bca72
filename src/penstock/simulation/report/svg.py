"""Draws a figure as SVG, in colours that its page chooses: no library, and nothing to load."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import ceil, floor, isfinite, log10

from penstock.simulation.figure import Figure

WIDTH, HEIGHT = 720, 260
COLOURS = 6
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 12, 10, 40
_TICKS = 5


def svg(figure: Figure) -> str:
    """Return the drawing of a figure; curve N has the class ``cN``, for N from 0 to 5.

    >>> drawn = svg(Figure("slots", "Slots", "s", "n", [0.0, 1.0], {"a<b": [1.0, 2.0]}))
    >>> drawn.startswith("<svg"), "a&lt;b" in drawn, "a<b" in drawn
    (True, True, False)
    """
    values = [v for curve in figure.series.values() for v in curve if isfinite(v)]
    across = ticks(min(figure.x, default=0.0), max(figure.x, default=1.0))
    up = ticks(min(0.0, *values) if values else 0.0, max(values, default=1.0))
    at = _Scale(across, up)
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(figure.title, quote=True)}">'
    ]
    parts += _axes(figure, at, across, up)
    for number, (name, curve) in enumerate(figure.series.items()):
        colour = f"c{number % COLOURS}"
        parts.append(f'<g class="{colour}"><title>{escape(name)}</title>')
        parts += (_curve if figure.joined else _points)(at, figure.x, curve)
        parts.append("</g>")
    return "".join([*parts, "</svg>"])


def ticks(low: float, high: float) -> list[float]:
    """Return round numbers from below the low to above the high.

    >>> ticks(0.0, 5751.0)
    [0.0, 2000.0, 4000.0, 6000.0]
    """
    span = (high - low) or abs(high) or 1.0
    rough = span / _TICKS
    power = 10.0 ** floor(log10(rough))
    step = next(nice * power for nice in (1, 2, 5, 10) if nice * power >= rough * (1 - 1e-9))
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    return [round(number * step, 12) for number in range(first, max(last, first + 1) + 1)]


class _Scale:
    def __init__(self, across: Sequence[float], up: Sequence[float]) -> None:
        self._x0, self._x1, self._y0, self._y1 = across[0], across[-1], up[0], up[-1]

    def x(self, value: float) -> float:
        share = (value - self._x0) / (self._x1 - self._x0)
        return round(_LEFT + share * (WIDTH - _LEFT - _RIGHT), 1)

    def y(self, value: float) -> float:
        share = (value - self._y0) / (self._y1 - self._y0)
        return round(HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM), 1)


def _axes(figure: Figure, at: _Scale, across: Sequence[float], up: Sequence[float]) -> list[str]:
    left, right, bottom = _LEFT, WIDTH - _RIGHT, HEIGHT - _BOTTOM
    parts = []
    for value in up:
        y = at.y(value)
        parts.append(f'<line class="grid" x1="{left}" x2="{right}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text class="end" x="{left - 6}" y="{y + 4}">{_number(value)}</text>')
    for value in across:
        parts.append(
            f'<text class="mid" x="{at.x(value)}" y="{bottom + 16}">{_number(value)}</text>'
        )
    middle = (left + right) / 2
    parts.append(f'<text class="mid" x="{middle}" y="{HEIGHT - 6}">{escape(figure.x_label)}</text>')
    turned = f'transform="rotate(-90)" x="{-(bottom + _TOP) / 2}" y="13"'
    parts.append(f'<text class="mid" {turned}>{escape(figure.y_label)}</text>')
    return parts


def _curve(at: _Scale, x: Sequence[float], curve: Sequence[float]) -> list[str]:
    """Draw a curve; it is broken where there is no value, and a lone value is a dot."""
    parts: list[str] = []
    run: list[tuple[float, float]] = []
    for across, up in [*zip(x, curve, strict=True), (0.0, float("nan"))]:
        if isfinite(up):
            run.append((at.x(across), at.y(up)))
        elif len(run) == 1:
            parts.append(_dot(*run[0]))
            run = []
        elif run:
            points = " ".join(f"{px},{py}" for px, py in run)
            parts.append(f'<polyline points="{points}"/>')
            run = []
    return parts


def _points(at: _Scale, x: Sequence[float], curve: Sequence[float]) -> list[str]:
    there = [(across, up) for across, up in zip(x, curve, strict=True) if isfinite(up)]
    return [_dot(at.x(across), at.y(up)) for across, up in there]


def _dot(x: float, y: float) -> str:
    return f'<circle cx="{x}" cy="{y}" r="4"/>'


def _number(value: float) -> str:
    return f"{value:,.10g}"
