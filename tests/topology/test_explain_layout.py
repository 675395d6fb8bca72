"""Where a topology is drawn: nothing on top of anything else, and everything from left to right."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.topology.components import Components
from penstock.topology.dag import Topology
from penstock.topology.explain_blocks import Box
from penstock.topology.explain_components import facts_of
from penstock.topology.explain_layout import Layout, edges_of, layout
from penstock.topology.explain_ordering import ordered, settled
from penstock.topology.explain_words import MOST_LETTERS, Words, cut, letters
from topology.builders import filter_, map_, sink, source, union
from topology.strategies import topologies
from topology.test_explain import lending


def drawn(components: Components) -> Layout:
    facts = {each.name: facts_of(each, components) for each in components}
    return layout(components, Words.of(components, facts))


def overlap(one: Box, other: Box) -> bool:
    return (
        one.x < other.right
        and other.x < one.right
        and one.y < other.y + other.height
        and other.y < one.y + one.height
    )


def holds(outer: Box, inner: Box) -> bool:
    return (
        outer.x < inner.x
        and inner.right < outer.right
        and outer.y < inner.y
        and inner.y + inner.height < outer.y + outer.height
    )


def check(components: Components) -> None:
    found = drawn(components)
    homes = components.grouping.homes
    assert set(found.operators) == {op.name for op in components.topology}
    assert set(found.components) == {each.name for each in components}
    for one, other in combinations(found.operators.values(), 2):
        assert not overlap(one, other)
    for one, other in combinations(found.components.values(), 2):
        assert not overlap(one, other)
    for name, box in found.operators.items():
        assert holds(Box(0, 0, found.width, found.height), box)
        for component, around in found.components.items():
            inside = homes.get(name) == component
            assert holds(around, box) if inside else not overlap(around, box)
    check_routes(components, found)


def check_routes(components: Components, found: Layout) -> None:
    """Edges lead from one to the other, to the right, and level parts keep clear of the rest."""
    assert tuple(found.routes) == edges_of(components)
    for edge, runs in found.routes.items():
        source_box, target = found.operators[edge.source], found.operators[edge.target]
        assert (runs[0].start, runs[0].y) == (source_box.right, source_box.middle)
        assert (runs[-1].end, runs[-1].y) == (target.x, target.middle)
        assert all(run.start <= run.end for run in runs)
        assert all(before.end < after.start for before, after in pairwise(runs))
        for name, box in found.operators.items():
            if name not in (edge.source, edge.target):
                assert not any(overlap(Box(r.start, r.y, r.end - r.start, 0), box) for r in runs)


@given(topologies())
def test_nothing_is_drawn_over_anything_else(topology: Topology) -> None:
    check(Components(topology))


def test_nor_are_windows() -> None:
    check(Components(lending()))


@given(topologies())
def test_a_drawing_is_the_same_every_time(topology: Topology) -> None:
    assert drawn(Components(topology)) == drawn(Components(topology))


def test_a_chain_is_level() -> None:
    # a --> f --> m --> out
    found = drawn(
        Components(Topology([source("a"), filter_("f", "a"), map_("m", "f"), sink("out", "m")]))
    )
    assert len({box.middle for box in found.operators.values()}) == 1
    assert [len({run.y for run in runs}) for runs in found.routes.values()] == [1, 1, 1]


def test_what_reads_two_stands_between_them() -> None:
    topology = Topology([source("a"), source("b"), union("u", "a", "b"), sink("out", "u")])
    boxes = drawn(Components(topology)).operators
    assert boxes["a"].x == boxes["b"].x
    assert boxes["u"].middle == (boxes["a"].middle + boxes["b"].middle) / 2


def test_what_is_read_from_afar_has_a_lane() -> None:
    # a --> m --\
    #            u --> out
    # a --------/
    topology = Topology([source("a"), map_("m", "a"), union("u", "a", "m"), sink("out", "u")])
    found = drawn(Components(topology))
    (far,) = [runs for edge, runs in found.routes.items() if edge[:2] == ("a", "u")]
    (_, lane, _) = far
    around = found.components["m"]
    assert (lane.start, lane.end) == (around.x, around.right)
    assert not around.y <= lane.y <= around.y + around.height


def test_long_names_are_cut_and_wide_letters_count_twice() -> None:
    assert cut("short") == "short"
    for name in ("x" * 100, "流" * 100, "x流" * 50):
        assert MOST_LETTERS - 2 <= letters(cut(name)) <= MOST_LETTERS
    long = "x" * 200
    found = drawn(Components(Topology([source(long), sink("out", long)])))
    assert found.operators[long].width < 300


@given(st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(1, 100)), max_size=12))
def test_settled_things_keep_their_order_and_distance(things: list[tuple[float, float]]) -> None:
    wanted, sizes = [place for place, _ in things], [size for _, size in things]
    found = settled(wanted, sizes, gap=5.0)
    ends = [start + size for start, size in zip(found, sizes, strict=True)]
    assert all(end + 5 <= start + 1e-6 for end, start in zip(ends, found[1:], strict=False))
    # Where there is room for all, all are where they want to be.
    assert settled(found, sizes, gap=4.9) == pytest.approx(found)


@given(st.data())
def test_orders_keep_all_and_never_have_more_crossings(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    layers = [[(n, each) for each in range(size)] for n, size in enumerate(sizes)]
    all_links = [(a, b) for one, other in pairwise(layers) for a in one for b in other]
    links = data.draw(st.lists(st.sampled_from(all_links), unique=True)) if all_links else []
    found = ordered(layers, dict.fromkeys(links, 0.0))
    assert [sorted(layer) for layer in found] == layers
    assert crossings(found, links) <= crossings(layers, links)


Place = tuple[int, int]


def crossings(layers: list[list[Place]], links: list[tuple[Place, Place]]) -> int:
    at = {each: number for layer in layers for number, each in enumerate(layer)}
    return sum(
        (at[a] - at[c]) * (at[b] - at[d]) < 0
        for (a, b), (c, d) in combinations(links, 2)
        if a[0] == c[0]
    )
