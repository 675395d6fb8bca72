"""Bands, steps, bars and times: each value is where it belongs."""

from __future__ import annotations

from datetime import UTC, timedelta, timezone
from itertools import pairwise
from math import nan
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.drawing.figure import Figure
from penstock.drawing.page import drawn, page, table
from penstock.drawing.svg import svg
from penstock.drawing.ticks import local, ticks, time_labels, time_ticks

NOON = 1_794_916_800.0  # 17 November 2026, 12:00 UTC


def figure(**settings: object) -> Figure:
    fields = {"x": [0.0, 5.0, 10.0], "series": {"a": [0.0, 2.0, 4.0]}} | settings
    return Figure("f", "t", "x", "y", **fields)  # type: ignore[arg-type]


def root_of(drawing: str) -> ElementTree.Element:
    return ElementTree.fromstring(drawing)


def test_a_stepped_curve_holds_its_value_until_the_next() -> None:
    (line,) = root_of(svg(figure(stepped={"a"}))).iter("polyline")
    assert line.get("points") == "62.0,220.0 385.0,220.0 385.0,115.0 708.0,115.0 708.0,10.0"


def test_a_band_lies_between_its_sides_and_stretches_the_axis() -> None:
    band = {"a": ([0.0, 1.0, nan], [5.0, 10.0, 3.0])}
    (shape,) = root_of(svg(figure(bands=band))).iter("polygon")
    assert shape.get("points") == "62.0,115.0 385.0,10.0 385.0,199.0 62.0,220.0"


def test_nothing_is_drawn_across_a_gap() -> None:
    x, y = [0.0, 1.0, 2.0, 8.0, 9.0, 10.0], [1.0, 2.0, 1.0, 3.0, 4.0, 3.0]
    band = {"a": ([0.0] * 6, y)}
    plain = root_of(svg(figure(x=x, series={"a": y}, bands=band)))
    assert [len(list(plain.iter(tag))) for tag in ("polyline", "polygon")] == [1, 1]
    for stepped in (set(), {"a"}):
        parted = figure(x=x, series={"a": y}, bands=band, gaps=[(2.0, 8.0)], stepped=stepped)
        for tag in ("polyline", "polygon"):
            before, after = root_of(svg(parted)).iter(tag)
            assert max(across(before)) < min(across(after))
            assert (min(across(before)), max(across(after))) == (62.0, 708.0)


def across(shape: ElementTree.Element) -> list[float]:
    return [float(point.split(",")[0]) for point in shape.get("points", "").split()]


def test_bars_stand_on_zero() -> None:
    bars = list(root_of(svg(figure(barred={"a"}))).iter("rect"))
    tops = [float(each.get("y", "")) for each in bars]
    assert tops == [115.0, 10.0]
    assert [t + float(b.get("height", "")) for t, b in zip(tops, bars, strict=True)] == [220.0] * 2


def test_times_are_told_as_clocks_there_show_them() -> None:
    x = [NOON, NOON + 60.0, NOON + 120.0]
    east = timezone(timedelta(hours=5, minutes=30))
    drawing = svg(figure(x=x, zone=east))
    said = [each.text for each in root_of(drawing).iter("text")]
    assert {"17:30:00", "17:31:00", "17:32:00"} <= set(said)
    (line,) = root_of(drawing).iter("polyline")
    assert line.get("points", "").startswith("62.0,")
    assert " 708.0," in line.get("points", "")


def test_long_times_have_dates() -> None:
    times = time_ticks(NOON, NOON + 2 * 86_400.0, UTC)
    assert time_labels(times, UTC) == ["12:00", "18 Nov", "12:00", "19 Nov", "12:00"]
    days = time_ticks(NOON, NOON + 5 * 86_400.0, UTC)
    assert time_labels(days, UTC) == ["18 Nov", "19 Nov", "20 Nov", "21 Nov", "22 Nov"]


@given(
    st.integers(0, 2_000_000_000).map(float),
    st.floats(1.0, 2e9),
    st.integers(-14 * 60, 14 * 60).map(lambda m: timezone(timedelta(minutes=m))),
    st.integers(2, 10),
)
def test_ticks_of_time_are_few_even_and_within(
    low: float, span: float, zone: timezone, most: int
) -> None:
    found = time_ticks(low, low + span, zone, most)
    assert len(found) <= most + 1
    assert all(low <= each <= low + span for each in found)
    assert len({round(b - a) for a, b in pairwise(found)}) <= 1
    assert all(local(each, zone).microsecond == 0 for each in found)


FAR = (0.0, 1.0, -1e9, 2e9, 1e11, 1e12, 1e16, -1e16, 2.0**62, -(2.0**62), 5e-324, 1e300, -1.7e308)
anything = st.sampled_from(FAR) | st.floats(allow_nan=False, allow_infinity=False)


@given(anything, anything, st.integers(2, 10))
@example(NOON, 1e16, 6)
@example(-1.7e308, 1.7e308, 6)
@example(0.0, 5e-324, 6)
def test_ticks_are_few_whatever_a_journal_says(one: float, other: float, most: int) -> None:
    low, high = sorted((one, other))
    assert len(ticks(low, high, most)) <= most + 3
    assert len(time_ticks(low, high, UTC, most)) <= most + 1


@pytest.mark.parametrize("far", FAR)
@pytest.mark.parametrize("zone", [UTC, None])
def test_a_figure_of_absurd_numbers_is_drawn(far: float, zone: timezone | None) -> None:
    drawing = svg(figure(x=sorted((NOON, far)), series={"a": [1.0, far]}, zone=zone))
    assert len(list(root_of(drawing).iter("text"))) < 30


def test_a_figure_is_there_for_a_screen_and_for_a_phone() -> None:
    text = drawn(figure(series={"a": [1.0, 2.0, 3.0], "<b>": [nan, nan, nan]}, dashed={"a"}))
    assert text.count("<svg") == 2
    assert 'viewBox="0 0 720 260"' in text
    assert 'viewBox="0 0 360 230"' in text
    assert "&lt;b&gt;" in text
    assert "<b>" not in text
    assert 'class="c0 dashed"' in text


@pytest.mark.parametrize("nasty", ["<script>", '"><img src=x>', "\ud800", "\x00"])
def test_texts_stay_texts(nasty: str) -> None:
    text = page(nasty, [table([nasty], [[nasty]]), drawn(figure(series={nasty: [1.0, 2.0, nan]}))])
    assert nasty not in text
    assert text.encode()
