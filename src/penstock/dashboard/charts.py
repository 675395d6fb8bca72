"""Charts as ECharts takes them: plain dictionaries, with nothing in them that is run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from penstock.history.growing_table import Numbers

Values = Sequence[float] | Numbers
COLOURS = ("#2f81f7", "#db6d28", "#2da44e", "#a371f7", "#bf8700", "#e5534b", "#1b9aaa", "#8b949e")
SOFT = "#8b949e"
_WHOLE = ("rows", "slots", "tasks", "windows")
_GRID = "rgba(139,148,158,0.22)"
# A long name must not make a page wider than its screen.
TIP = {
    "confine": True,
    "extraCssText": "white-space: normal; overflow-wrap: anywhere; max-width: min(80vw, 28rem)",
}


@dataclass(frozen=True, slots=True)
class Line:
    """A curve: times in seconds since the epoch, or seconds, and a value for each.

    ``low`` and ``high`` are a band around it. ``is_step`` is for what changes at once, and stays
    from its time on; with ``tells_before`` it was so until its time, as a batch tells at its end.
    """

    name: str
    x: Values
    y: Values
    colour: str | None = None
    low: Values = ()
    high: Values = ()
    is_dashed: bool = False
    is_step: bool = False
    tells_before: bool = False
    is_filled: bool = False
    width: float = 1.8


def lines(
    them: Iterable[Line],
    unit: str,
    *,
    is_time: bool = True,
    least: float | None = 0.0,
    nothing: str = "Nothing was measured in this time.",
) -> dict[str, Any]:
    """Draw curves over time; one without a value is left out, and ``nothing`` said for none."""
    series: list[dict[str, Any]] = []
    names = []
    for number, line in enumerate(them):
        if not any(map(isfinite, line.y)):
            continue
        colour = line.colour or COLOURS[number % len(COLOURS)]
        names.append(_cut(line.name))
        if len(line.low):
            series += _band(line, colour, is_time)
        series.append(_curve(line, colour, is_time))
    if not series:
        return _words_only(nothing)
    return {
        "animation": False,
        # As everywhere else on a page: what happened at 14:02 is not to be looked for at 16:02.
        "useUTC": True,
        "aria": {"enabled": True},
        "color": list(COLOURS),
        "textStyle": {"fontFamily": "system-ui, sans-serif"},
        "grid": {"left": 8, "right": 30, "top": 54, "bottom": 6, "containLabel": True},
        "legend": {
            "data": names,
            "top": 0,
            "left": 0,
            "type": "scroll",
            "icon": "roundRect",
            "itemWidth": 14,
            "itemHeight": 4,
            "textStyle": {"color": SOFT},
        },
        "tooltip": {**TIP, "trigger": "axis", "axisPointer": {"type": "line"}},
        "xAxis": _across(is_time, series),
        "yAxis": {
            "type": "value",
            "name": unit,
            "min": least,
            "minInterval": 1 if unit in _WHOLE else 0,
            "nameTextStyle": {"color": SOFT, "align": "left", "padding": [0, 0, 0, -24]},
            "nameGap": 14,
            "nameLocation": "end",
            "axisLabel": {"color": SOFT},
            "splitLine": {"lineStyle": {"color": _GRID}},
        },
        "series": series,
    }


def bars(names: Sequence[str], values: Sequence[float], unit: str) -> dict[str, Any]:
    """Draw a bar for each name, the first on top."""
    return {
        "animation": False,
        "aria": {"enabled": True},
        "textStyle": {"fontFamily": "system-ui, sans-serif"},
        "grid": {"left": 8, "right": 24, "top": 10, "bottom": 26, "containLabel": True},
        "tooltip": {**TIP, "trigger": "axis", "axisPointer": {"type": "shadow"}},
        "xAxis": {
            "type": "value",
            "name": unit,
            "nameLocation": "middle",
            "nameGap": 24,
            "nameTextStyle": {"color": SOFT},
            "axisLabel": {"color": SOFT},
            "splitLine": {"lineStyle": {"color": _GRID}},
        },
        "yAxis": {
            "type": "category",
            "inverse": True,
            "data": [_cut(name) for name in names],
            "axisLabel": {"color": SOFT},
            "axisTick": {"show": False},
        },
        "series": [
            {
                "type": "bar",
                "data": [_number(value) for value in values],
                "itemStyle": {"color": COLOURS[0], "borderRadius": [0, 3, 3, 0]},
                "barMaxWidth": 18,
            }
        ],
    }


@dataclass(frozen=True, slots=True)
class Points:
    """Points of one group, in the order of ``x``; joined only where they are a staircase."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    is_staircase: bool = True


def scatter(
    groups: Sequence[Points],
    x_name: str,
    y_name: str,
    *,
    x_is_time: bool = False,
    y_is_time: bool = False,
    x_is_maximized: bool = False,
) -> dict[str, Any]:
    """Draw points and the staircase that parts what they dominate from what no row reaches."""
    # Between two points the one counts that is better across: of larger ones the right one.
    step = "start" if x_is_maximized else "end"
    series = []
    for number, group in enumerate(groups):
        colour = COLOURS[number % len(COLOURS)]
        data = [
            [_time(x) if x_is_time else _number(x), _time(y) if y_is_time else _number(y)]
            for x, y in zip(group.x, group.y, strict=True)
        ]
        series.append(
            {
                "name": _cut(group.name),
                "type": "line" if group.is_staircase else "scatter",
                **({"step": step} if group.is_staircase else {}),
                "data": data,
                "symbol": "circle",
                "symbolSize": 8,
                "lineStyle": {"width": 1, "color": colour, "opacity": 0.5},
                "itemStyle": {"color": colour},
            }
        )
    return {
        "animation": False,
        "useUTC": True,
        "aria": {"enabled": True},
        "textStyle": {"fontFamily": "system-ui, sans-serif"},
        "grid": {"left": 12, "right": 24, "top": 40, "bottom": 30, "containLabel": True},
        "legend": {"show": len(groups) > 1, "top": 0, "type": "scroll",
                   "textStyle": {"color": SOFT}},
        "tooltip": {**TIP, "trigger": "item"},
        "xAxis": _named_axis(x_name, x_is_time)
        | {"nameLocation": "middle", "nameGap": 28, "nameTextStyle": {"color": SOFT}},
        "yAxis": _named_axis(y_name, y_is_time),
        "series": series,
    }  # fmt: skip


def _curve(line: Line, colour: str, is_time: bool) -> dict[str, Any]:
    made: dict[str, Any] = {
        "name": _cut(line.name),
        "type": "line",
        "showSymbol": len(line.x) < 2,
        "data": _data(line.x, line.y, is_time),
        "lineStyle": {
            "width": line.width,
            "color": colour,
            "type": "dashed" if line.is_dashed else "solid",
        },
        "itemStyle": {"color": colour},
        "emphasis": {"disabled": True},
    }
    if line.is_step:
        made["step"] = "start" if line.tells_before else "end"
    if line.is_filled:
        made["areaStyle"] = {"opacity": 0.12, "color": colour}
    return made


def _band(line: Line, colour: str, is_time: bool) -> list[dict[str, Any]]:
    """Draw a band as two areas, the lower of which can't be seen."""
    hidden = {"opacity": 0}
    high = [top - bottom for bottom, top in zip(line.low, line.high, strict=True)]
    common = {"type": "line", "stack": f"band of {line.name}", "symbol": "none", "silent": True,
              "lineStyle": hidden, "tooltip": {"show": False}}  # fmt: skip
    return [
        {**common, "data": _data(line.x, line.low, is_time), "areaStyle": hidden},
        {
            **common,
            "data": _data(line.x, high, is_time),
            "areaStyle": {"color": colour, "opacity": 0.18},
        },
    ]


def _data(x: Values, y: Values, is_time: bool) -> list[list[float | None]]:
    return [
        [_time(at) if is_time else _number(at), _number(value)]
        for at, value in zip(x, y, strict=True)
    ]


def _words_only(words: str) -> dict[str, Any]:
    """Say something where a chart would be: axes without a curve look like a mistake."""
    style = {
        "color": SOFT, "fontSize": 13, "lineHeight": 19, "fontWeight": "normal", "width": 280
    }  # fmt: skip
    return {
        "animation": False,
        "aria": {"enabled": True},
        "title": {
            "text": words,
            "left": "center",
            "top": "middle",
            "textStyle": {**style, "overflow": "break", "fontFamily": "system-ui, sans-serif"},
        },
        "series": [],
    }


def _across(is_time: bool, series: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the axis of times; around a single moment a minute, or days would be drawn."""
    moments = {x for each in series for x, _ in each["data"] if x is not None} if is_time else set()
    around: dict[str, Any] = {}
    if len(moments) == 1:
        (moment,) = moments
        around = {"min": moment - 30_000, "max": moment + 30_000}
    return {
        **around,
        "type": "time" if is_time else "value",
        "axisLabel": {"color": SOFT, "hideOverlap": True},
        "axisLine": {"lineStyle": {"color": SOFT}},
        "splitLine": {"show": False},
    }


def _named_axis(name: str, is_time: bool) -> dict[str, Any]:
    return {
        "type": "time" if is_time else "value",
        "scale": True,
        "name": _cut(name, 60),
        "nameTextStyle": {"color": SOFT, "align": "left", "padding": [0, 0, 0, -24]},
        "axisLabel": {"color": SOFT, "hideOverlap": True},
        "splitLine": {"lineStyle": {"color": _GRID}},
    }


def _number(value: float) -> float | None:
    value = float(value)
    return float(f"{value:.6g}") if isfinite(value) else None


def _time(seconds: float) -> float | None:
    milliseconds = float(seconds) * 1000  # infinite where the seconds just were not
    return round(milliseconds) if isfinite(milliseconds) else None


def _cut(name: str, most: int = 40) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"
