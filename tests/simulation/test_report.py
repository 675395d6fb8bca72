"""The report of a simulation: whole, escaped, and nothing from elsewhere."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from math import isnan, nan
from xml.etree import ElementTree

import pytest

from penstock.drawing.figure import Figure
from penstock.drawing.svg import svg
from penstock.drawing.ticks import ticks
from penstock.simulation.batch_costs import BatchCosts
from penstock.simulation.comparison import Simulation
from penstock.simulation.laws import Constant
from penstock.simulation.micro_batch import MicroBatch
from penstock.simulation.report.figures import MOST_CURVES, figures_of
from penstock.simulation.report.page import page
from penstock.simulation.simulating import simulate
from penstock.simulation.topology import SimulatedOperator, SimulatedSource, SimulatedTopology

SCORE = SimulatedOperator("score", {"clicks": 1.0}, Constant(0.01))
NASTY = SimulatedTopology('<script>"&', (SimulatedSource("clicks"),), (SCORE,))
COUNTS = [100.0] * 30 + [300.0] * 30
SPARK = MicroBatch(executor_seconds=2.0, costs=BatchCosts(0.1, 0.0, 1.0))


@pytest.fixture(scope="module")
def found() -> Simulation:
    return simulate(COUNTS, NASTY, ["static:2", "static:4", "replica-pool"], cluster=SPARK)


class Tags(HTMLParser):
    """Collects tags, and checks that they close in turn."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_loads_nothing(found: Simulation) -> None:
    text = page(found, {"trace": "a <b> & c"}, "penstock simulate '<x>'")
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    assert not {"script", "link", "img", "iframe"} & set(tags.seen)
    assert not re.search(r"(https?:)?//|url\(|@import", text.replace("<!doctype html>", ""))
    assert "a &lt;b&gt; &amp; c" in text
    assert "penstock simulate &#x27;&lt;x&gt;&#x27;" in text
    assert "Simulation of &lt;script&gt;" in text
    assert "prefers-color-scheme: dark" in text
    # Each figure is there for a screen, and once more for a phone.
    assert tags.seen.count("svg") / 2 == len(figures_of(found)) == 5


def test_the_page_tells_the_best_and_why_it_decided(found: Simulation) -> None:
    text = page(found, {}, "")
    best = found.best
    assert f'<tr class="best"><td>{best.label}</td>' in text
    for each in found.outcomes:
        assert f"<td>{each.label}</td><td>{each.measures.saved:,.4g}</td>" in text
    first = best.run.decisions[0].decision
    assert first.reason.split("'")[0].split("<")[0] in text


def test_figures_tell_what_the_runs_did(found: Simulation) -> None:
    figures = {each.name: each for each in figures_of(found)}
    assert list(figures) == ["rate", "slots", "latency", "waiting", "frontier"]
    assert list(figures["rate"].series["arriving"])[:60] == COUNTS
    assert set(list(figures["slots"].series["static:4"])[:60]) == {4.0}
    frontier = figures["frontier"]
    # In one order everywhere: a run has the same colour in every figure.
    assert list(frontier.series) == list(figures["slots"].series)
    assert list(frontier.x) == [each.measures.saved for each in found.outcomes]
    for each in found.outcomes:
        (point,) = [value for value in frontier.series[each.label] if not isnan(value)]
        assert point == each.measures.mean_latency_seconds


def test_of_many_runs_a_few_are_drawn_over_time() -> None:
    swept = ["costs.fixed_seconds=0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8"]
    many = simulate(COUNTS, NASTY, ["static:4"], cluster=SPARK, sweep=swept)
    figures = {each.name: each for each in figures_of(many)}
    assert len(figures["slots"].series) == MOST_CURVES
    assert many.best.label in figures["slots"].series
    (points,) = figures["frontier"].series.values()
    assert list(figures["frontier"].series) == ["static"]
    assert list(points) == [each.measures.mean_latency_seconds for each in many.outcomes]
    assert "Of 8 runs, the figures over time show 6" in page(many, {}, "")


def test_a_long_run_is_drawn_in_few_points() -> None:
    long = simulate([10.0] * 5_000, NASTY, ["static:4"], cluster=SPARK)
    (rate, *_) = figures_of(long)
    assert len(rate.x) <= 600
    assert list(rate.series["arriving"])[:500] == pytest.approx([10.0] * 500)


def test_a_drawing_has_its_values_where_they_belong() -> None:
    figure = Figure(
        "f", "t", "x", "y", [0.0, 5.0, 10.0], {"a": [0.0, 2.0, 4.0], "b": [nan, 4, nan]}
    )
    root = ElementTree.fromstring(svg(figure))
    (line,) = root.iter("polyline")
    assert line.attrib["points"] == "62.0,220.0 385.0,115.0 708.0,10.0"
    (dot,) = root.iter("circle")
    assert (dot.attrib["cx"], dot.attrib["cy"]) == ("385.0", "10.0")


def test_points_that_are_not_joined_have_no_line() -> None:
    figure = Figure("a", "A", "x", "y", [2.0, 0.0, 1.0], {"a": [1.0, 2.0, nan]}, joined=False)
    drawn = svg(figure)
    assert drawn.count("<circle") == 2
    assert "<polyline" not in drawn


def test_a_drawing_of_nothing_is_a_drawing() -> None:
    for series in ({}, {"a": [nan]}, {"a": [0.0]}):
        root = ElementTree.fromstring(svg(Figure("f", "t", "x", "y", [0.0], series)))
        assert root.tag.endswith("svg")
        assert not list(root.iter("polyline"))


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, 1.0, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (0.0, 0.0, [0.0, 0.2]),
        (0.0, 32.0, [0.0, 10.0, 20.0, 30.0, 40.0]),
        (-1.0, 4.0, [-1.0, 0.0, 1.0, 2.0, 3.0, 4.0]),
    ],
)
def test_ticks_are_round_numbers(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high) == expected
