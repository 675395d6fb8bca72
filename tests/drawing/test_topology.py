"""Topologies as journals tell them: whatever they say, there is a drawing, and nothing is lost."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from penstock.drawing.topology import OperatorNote, in_order, topology_svg
from penstock.journal.topology_events import PlannedOperator

SVG = "{http://www.w3.org/2000/svg}"
NAMES = st.sampled_from("abcdef")
OPERATORS = st.lists(
    st.builds(
        PlannedOperator,
        NAMES,
        st.sampled_from(["source", "map", "dead letters", "sink"]),
        st.sampled_from(["", "x", "y"]),
        st.lists(NAMES, max_size=3).map(tuple),
        st.booleans(),
    ),
    max_size=8,
)


@given(OPERATORS)
def test_any_operators_are_drawn_each_once(operators: list[PlannedOperator]) -> None:
    drawn = topology_svg(operators)
    if not operators:
        assert drawn == ""
        return
    root = ElementTree.fromstring(drawn)
    boxes = [g for g in root.iter(f"{SVG}g") if g.get("class", "").startswith("operator")]
    assert len(boxes) == len({each.name for each in operators})


@given(OPERATORS)
def test_in_order_puts_each_after_what_it_reads(operators: list[PlannedOperator]) -> None:
    ordered = in_order(operators)
    names = [each.name for each in ordered]
    assert sorted(names) == sorted({each.name for each in operators})
    for place, each in enumerate(ordered):
        assert set(each.inputs) & set(names) <= set(names[:place])


def test_a_plan_is_drawn_with_its_components_and_how_busy_they_are() -> None:
    plan = [
        PlannedOperator("clicks", "source", "clicks"),
        PlannedOperator("score", "map", "both", ("clicks",), runs_python=True),
        PlannedOperator("good", "filter", "both", ("score",)),
        PlannedOperator("bad", "dead letters", "", ("score",)),
    ]
    notes = {"score": OperatorNote("10 rows/s", 0.95), "good": OperatorNote("9 rows/s", 0.0)}
    root = ElementTree.fromstring(topology_svg(plan, notes))
    classes = [g.get("class", "") for g in root.iter(f"{SVG}g")]
    assert classes.count("component") == 1
    assert classes.count("edge plain") == 2
    assert classes.count("edge failed") == 1
    assert "operator python heat4" in classes
    assert "operator jvm heat0" in classes
    said = " ".join(root.itertext())
    assert "10 rows/s" in said
    assert "score, map, reads clicks" in root.get("aria-label", "")


def test_names_are_text() -> None:
    nasty = "<img src=x onerror=alert(1)>"
    drawn = topology_svg([PlannedOperator(nasty, nasty, nasty, (), detail=nasty)])
    assert "<img" not in drawn
    assert nasty in "".join(ElementTree.fromstring(drawn).itertext())
