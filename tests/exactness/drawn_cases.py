"""Draws cases: windows, keys, aggregates, disorderly rows, cuts, restarts and break-offs.

All lengths and times of a case are whole units with a few microseconds more or less, so that rows
often lie right at the borders of windows and at the watermark.
"""

from __future__ import annotations

import itertools
import math
from decimal import Decimal

from hypothesis import strategies as st

from exactness.case import KEYS, BreakOff, Case, Event, Measure, Second
from penstock.engine.steps import Step
from penstock.windows.specs import WindowSpec, sliding

UNITS_MICROS = (1_000_000, 60_000_000, 250_000, 3_600_000_000, 1_000, 700)
LATE_2023_MICROS = 1_700_000_000_000_000
MICROS_OFF = (0, 0, 0, 0, 1, -1, 999, 1_000, -500)
# In units. The long jump closes more windows at once than are worth planning one by one.
STEPS = (0, 1, 2, 3, 5, 8, 20, 2_000)
LAGS = (0, 0, 0, 0, 1, 2, 3, 5, 9, 17, 60)

WHOLES = (0, 1, 2, 3, 7, -4, 1_000_000_007, None)
REALS = (0.0, -0.0, 0.125, 2.5, -7.75, 1000.0, math.nan, math.inf, None)
PRICES = (Decimal("0.00"), Decimal("0.25"), Decimal("-3.10"), Decimal("99999.99"), None)
WORDS = ("", "a", "b", "zz", "Ähre", None)
FILTERS = (None, None, None, "ok", "whole > 0", "word <> 'b'", "id % 3 = 1")

COLUMNS = {
    "count": (None, "whole", "real", "word"),
    "sum": ("whole", "real", "price"),
    "min": ("whole", "real", "price", "word"),
    "max": ("whole", "real", "price", "word"),
    "avg": ("whole", "real", "price"),
    "variance": ("whole", "real"),
    "stddev": ("whole", "real"),
    "count_distinct": ("whole", "word"),
    "quantile": ("whole", "real"),
    "top_k": ("whole", "real", "price", "word"),
    "first": ("whole", "real", "word", "ok"),
    "last": ("whole", "real", "word", "ok"),
    "collect": ("whole", "real", "price", "word"),
}


@st.composite
def cases(draw: st.DrawFn, is_eager: bool | None = None) -> Case:
    """Draw a case, with restarts and break-offs on its way."""
    unit = draw(st.sampled_from(UNITS_MICROS))
    specs = draw(st.lists(specs_of(unit), min_size=1, max_size=4, unique_by=_shape))
    named = tuple(_renamed(spec, number) for number, spec in enumerate(specs))
    cuts = draw(cuts_of(unit, max(spec.length_micros for spec in specs)))
    return Case(
        delay_micros=draw(st.sampled_from((0, 1, 2, 3, 10))) * unit
        + draw(st.sampled_from((0, 0, 0, 1, 999))),
        specs=named,
        keys=tuple(draw(st.permutations(KEYS)))[: draw(st.integers(0, 3))],
        measures=draw(measures()),
        cuts=cuts,
        restarts=draw(_restarts(len(cuts))),
        break_offs=draw(_break_offs(len(cuts))),
        is_eager=draw(st.booleans()) if is_eager is None else is_eager,
    )


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Case, Case]:
    """Draw two cases to run at the same time: both eager or neither, as the engine is one."""
    is_eager = draw(st.booleans())
    return draw(cases(is_eager)), draw(cases(is_eager))


@st.composite
def seconds_of(draw: st.DrawFn, case: Case) -> Second:
    """Draw a second level of windows, by fewer keys or by none."""
    unit = math.gcd(case.specs[0].length_micros, case.specs[0].slide_micros)
    specs = draw(st.lists(specs_of(unit), min_size=1, max_size=2, unique_by=_shape))
    keys = case.keys[: draw(st.integers(0, len(case.keys)))]
    return Second(tuple(_renamed(spec, number) for number, spec in enumerate(specs)), keys)


@st.composite
def specs_of(draw: st.DrawFn, unit: int) -> WindowSpec:
    """Draw one spec; lengths are often no multiples of slides, offsets no multiples of either."""
    slide = draw(st.integers(1, 8))
    extra = draw(st.sampled_from((0, 0, 1, 2, 3, slide, 2 * slide, 30)))
    offset = draw(st.sampled_from((0, 0, 1, 2, 5)))
    micros = [units * unit / 1_000_000 for units in (slide + extra, slide, offset)]
    return sliding(micros[0], micros[1], offset=micros[2])


@st.composite
def cuts_of(draw: st.DrawFn, unit: int, longest_micros: int) -> tuple[tuple[Event, ...], ...]:
    """Draw rows around a front that moves on, cut by cut; often a last row closes all windows."""
    front = draw(st.sampled_from((LATE_2023_MICROS, LATE_2023_MICROS, 3 * unit)))
    ids, cuts = itertools.count(), []
    for size in draw(st.lists(st.sampled_from((5, 3, 8, 1, 0)), min_size=2, max_size=4)):
        front += draw(st.sampled_from(STEPS)) * unit
        cuts.append(tuple(draw(_event(next(ids), front, unit)) for _ in range(size)))
    if draw(st.sampled_from((True, True, True, False))):
        cuts.append((Event(next(ids), front + 100 * unit + 2 * longest_micros),))
    return tuple(cuts)


@st.composite
def measures(draw: st.DrawFn) -> tuple[Measure, ...]:
    """Draw one to five aggregates of any kind."""
    kinds = draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=5))
    return tuple(draw(_measure(f"m{number}", kind)) for number, kind in enumerate(kinds))


@st.composite
def _measure(draw: st.DrawFn, name: str, kind: str) -> Measure:
    column = draw(st.sampled_from(COLUMNS[kind]))
    where = draw(st.sampled_from(FILTERS))
    setting: float | int | None = None
    if kind == "quantile":
        setting = draw(st.sampled_from((0.0, 0.25, 0.5, 0.9, 1.0)))
    if kind == "top_k":
        setting = draw(st.integers(1, 3))
    return Measure(name, kind, column, where, setting)


@st.composite
def _event(draw: st.DrawFn, number: int, front: int, unit: int) -> Event:
    lag, off = draw(st.sampled_from(LAGS)), draw(st.sampled_from(MICROS_OFF))
    has_time = draw(st.integers(0, 19)) > 0
    return Event(
        id=number,
        micros=front - lag * unit + off if has_time else None,
        area=draw(st.sampled_from(("north", "", None))),
        shard=draw(st.sampled_from((1, -1, None))),
        grade=draw(st.sampled_from((0.0, -0.0, math.nan, None))),
        whole=draw(st.sampled_from(WHOLES)),
        real=draw(st.sampled_from(REALS)),
        price=draw(st.sampled_from(PRICES)),
        word=draw(st.sampled_from(WORDS)),
        ok=draw(st.sampled_from((True, False, None))),
    )


def _restarts(cuts: int) -> st.SearchStrategy[tuple[int, ...]]:
    ends = st.lists(st.integers(1, cuts), max_size=2, unique=True)
    return ends.map(lambda found: tuple(sorted(n for n in found if n < cuts)))


def _break_offs(cuts: int) -> st.SearchStrategy[tuple[BreakOff, ...]]:
    one = st.builds(BreakOff, st.sampled_from([s.value for s in Step]), st.integers(0, cuts - 1))
    return st.lists(one, max_size=2).map(lambda found: tuple(sorted(found, key=lambda b: b.cut)))


def _shape(spec: WindowSpec) -> tuple[int, int, int]:
    return spec.length_micros, spec.slide_micros, spec.offset_micros


def _renamed(spec: WindowSpec, number: int) -> WindowSpec:
    """Give every other spec a name of its own; the rest keep the one made from their lengths."""
    name = f"window {number}" if number % 2 else spec.name
    return WindowSpec(name, *_shape(spec))
