"""The page of a topology: whole, escaped, and nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given

from penstock.topology.components import Components
from penstock.topology.dag import Topology
from penstock.topology.explain import explain
from penstock.topology.explain_html import page
from penstock.topology.explain_svg import NAMESPACE, safe
from penstock.topology.operators import DeadLetters, Operator
from topology.builders import by_key, filter_, loans, rate, select, sink, source, union
from topology.strategies import topologies
from topology.test_explain import keyed_on, lending, small

ATTACK = "<img src=x onerror=alert(1)>"
SVG = f"{{{NAMESPACE}}}"


class Read(HTMLParser):
    """Reads a page: its tags, which must close in turn, and the text of every kind of element."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.setdefault(self.open[-1] if self.open else "", []).append(data)


def drawing(text: str) -> ElementTree.Element:
    (found,) = re.findall(r"<svg.*</svg>", text, re.DOTALL)
    return ElementTree.fromstring(found)


def check_page(topology: Topology) -> None:
    components = Components(topology)
    text = explain(components, "html")
    found = Read(text)
    assert found.open == []
    assert not {"script", "link", "img", "iframe", "object", "foreignobject"} & set(found.tags)
    assert not [name for name, _ in found.attributes if name.startswith("on") or name == "href"]
    assert not re.search(r"https?:|//|url\(|@import", text.replace(f'xmlns="{NAMESPACE}"', ""))
    svg = drawing(text)
    names = [each.text for each in svg.iter(f"{SVG}text") if each.get("class") == "name"]
    titles = [each.text for each in svg.iter(f"{SVG}text") if each.get("class") == "title"]
    assert sorted(map(str, names)) == sorted(op.name for op in topology)
    assert titles == [each.name for each in components]
    assert len(svg.findall(f"{SVG}g[@class='edge failed']")) == sum(
        len(set(op.inputs)) for op in topology if isinstance(op, DeadLetters)
    )
    told = found.texts["code"]
    assert {op.name for op in topology} <= set(told)
    assert {each.name for each in components} <= set(told)


@given(topologies())
def test_every_page_is_whole_and_loads_nothing(topology: Topology) -> None:
    check_page(topology)


@pytest.mark.parametrize("topology", [small(), lending()], ids=["small", "lending"])
def test_so_are_those_with_windows_and_failed_rows(topology: Topology) -> None:
    check_page(topology)


def test_it_tells_what_the_text_tells() -> None:
    text = page(Components(lending()))
    cells = Read(text).texts
    for told in (
        "Python(score) -> JVM(by_area_partials) -> JVM(by_user_partials) -> JVM(by_area) -> "
        "JVM(by_user)",
        "rigid and stateful",
        "partitioned on area",
        "rows are exchanged on area",
        "50",
        "rows are exchanged by Spark's own aggregate",
        "n=count() by area, panes of 10 minutes",
    ):
        assert told in cells["td"]
    assert "score → total_partials" in cells["code"]
    reasons = [each.removeprefix(": ") for each in cells["li"]]
    assert "the windows of 'by_area' come out wherever they are formed" in reasons
    assert cells["title"][0] == "Topology of loans"
    assert cells["p"][0] == "10 operators, 3 components."
    assert "prefers-color-scheme: dark" in text


def test_the_drawing_says_what_it_shows_to_those_who_cannot_see_it() -> None:
    svg = drawing(page(Components(small())))
    assert svg.get("role") == "img"
    title, description = svg.findall(f"{SVG}title") + svg.findall(f"{SVG}desc")
    assert svg.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"
    assert description.text == (
        "Component clicks: JVM(clicks); rows come as they come. "
        "Component parse: Python(parse + check) -> JVM(good), reads clicks; "
        "rows are placed by the placement. "
        "letters, dead letters, reads parse. bad, sink, reads letters. out, sink, reads good."
    )


def test_edges_along_which_rows_move_are_marked_and_labelled() -> None:
    svg = drawing(page(Components(lending())))
    labels = [each.text for each in svg.iter(f"{SVG}text") if each.get("class") == "label"]
    assert labels == ["on area", "Spark's exchange"]
    assert len(svg.findall(f"{SVG}g[@class='edge moved']")) == 2
    python = svg.findall(f"{SVG}g[@class='operator python']")
    assert [each.find(f"{SVG}title").text for each in python] == [  # type: ignore[union-attr]
        "score: map (work, bad rows stop the query)"
    ]


def test_what_users_write_is_text() -> None:
    operators = [
        source("a"),
        filter_("f", "a", f"x = '{ATTACK}'"),
        select(
            "s", "f", f"'\"{ATTACK}' AS x", "ts", "'</style></svg><script>' AS y", "'\x00\ud800'"
        ),
        sink("out", "s", ATTACK),
    ]
    topology = Topology(operators)
    check_page(topology)
    text = explain(Components(topology), "html")
    assert "<img" not in text
    assert "<script" not in text
    assert f"x = '{ATTACK}'" in Read(text).texts["td"]
    assert ATTACK in Read(text).texts["td"]
    text.encode()
    titles = [each.text for each in drawing(text).iter(f"{SVG}title")]
    assert f"f: filter (x = '{ATTACK}')" in titles


def test_columns_are_text_too() -> None:
    text = explain(Components(keyed_on(ATTACK)), "html")
    assert "<img" not in text
    (label,) = [
        each.text for each in drawing(text).iter(f"{SVG}text") if each.get("class") == "label"
    ]
    assert label == "key groups of <img src=x oner…"
    assert f"partitioned on {ATTACK}" in Read(text).texts["td"]


def test_text_may_stand_between_quotes() -> None:
    assert safe("\"a\" & 'b'\n") == "&quot;a&quot; &amp; &#x27;b&#x27;\n"
    assert safe("a\x00b\x1f\ud800") == "a\ufffdb\ufffd?"


def test_many_sources_are_not_all_in_the_title() -> None:
    names = ["a", "b", "c", "d", "e"]
    topology = Topology([*map(source, names), union("u", *names), sink("out", "u")])
    assert Read(page(Components(topology))).texts["title"][0] == "Topology of a, b, c and 2 more"


def test_one_component_is_not_several() -> None:
    topology = Topology([source("a"), sink("out", "a")])
    text = page(Components(topology))
    assert "2 operators, 1 component." in text
    assert "Why components are apart" not in text
    assert "Windows" not in text
    assert "Kept once" not in text


PROGRAM = """
from penstock.topology.components import Components
from penstock.topology.explain import explain
from topology.test_explain import lending
print([explain(Components(lending()), each) for each in ("text", "mermaid", "html")])
"""


def test_it_is_the_same_in_every_process() -> None:
    def shown(seed: str) -> str:
        tests = str(Path(__file__).parents[1])
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": tests}
        return subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout

    assert shown("1") == shown("2")


def test_a_hundred_operators_fit_on_a_page() -> None:
    # a --> p0 --> m0 --> p1 --> m1 ..., and a sink after each m
    operators: list[Operator] = [loans("m0")]
    for number in range(1, 34):
        operators.append(by_key(f"p{number}", f"m{number - 1}", "user"))
        operators.append(rate(f"m{number}", f"p{number}", "user" if number % 2 else "area"))
        operators.append(sink(f"out{number}", f"m{number}"))
    check_page(Topology(operators))
