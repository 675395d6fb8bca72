"""Which intermediate results are kept, and what that does for long windows."""

from __future__ import annotations

import random
from collections import Counter
from itertools import accumulate
from math import ceil, log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.windows.compaction import FAN, compaction
from penstock.windows.consolidation import plan_closing
from penstock.windows.ladder import choose_ladder
from penstock.windows.ladder_costs import LadderCosts, Sizes, bill
from penstock.windows.panes import PanedSpec, Panes, paned
from penstock.windows.paths import Paths
from penstock.windows.retention import expired
from penstock.windows.rungs import Ladder, Rung, nested
from penstock.windows.segments import Segment
from penstock.windows.shelf import Shelf
from penstock.windows.specs import sliding, tumbling

DAY = paned([sliding("1 day", "10 seconds")])
FREE = LadderCosts(write_rows=0, kept_write_rows=0)


@given(st.floats(0.01, 1e6), st.floats(1, 1e7), st.integers(1, 10_000), st.integers(1, 100))
def test_rows_grow_with_the_width_up_to_the_number_of_keys(
    pane_rows: float, keys: float, width: int, more: int
) -> None:
    sizes = Sizes(pane_rows, keys)
    assert sizes.rows(1) == pytest.approx(pane_rows)
    assert sizes.rows(width) <= sizes.rows(width + more) * (1 + 1e-12)
    assert sizes.rows(width) <= max(keys, pane_rows) * (1 + 1e-12)
    assert sizes.rows(width) <= width * pane_rows * (1 + 1e-9)


def test_sizes_are_read_off_the_store() -> None:
    store = [
        Segment("b0", 0, 10, 1, 0, True, 100, 1),
        Segment("b1", 10, 20, 1, 1, True, 300, 1),
        Segment("k4", 0, 8, 4, 1, False, 50, 1),
        Segment("k8", 0, 16, 8, 1, False, 90, 1),
    ]
    assert Sizes.measured(store) == Sizes(20.0, keys=45.0)
    assert Sizes.measured([]) == Sizes(0.0)


@pytest.mark.parametrize("invertible", [False, True])
@pytest.mark.parametrize("pane_rows", [1, 1_000, 200_000, 10_000_000])
def test_a_window_of_six_panes_keeps_nothing(pane_rows: int, invertible: bool) -> None:
    panes = paned([sliding("1 minute", "10 seconds")])
    ladder = choose_ladder(panes, Sizes(pane_rows), invertible=invertible)
    assert ladder.is_empty
    assert ladder.reason == (
        "nothing is kept: a result merges 6 inputs on average, "
        "and keeping blocks would cost more than it saves"
    )


def test_tumbling_windows_alone_keep_nothing() -> None:
    assert choose_ladder(paned([tumbling("1 hour")]), Sizes(1_000_000)).is_empty


@pytest.mark.parametrize("pane_rows", [1, 1_000, 200_000])
def test_a_long_window_keeps_a_ladder(pane_rows: int) -> None:
    ladder = choose_ladder(DAY, Sizes(pane_rows))
    assert ladder.is_nested
    assert ladder.rungs
    assert bill(DAY, ladder, Sizes(pane_rows), LadderCosts()).inputs_per_result <= 30


def test_a_long_window_with_an_inverse_keeps_the_last_one_when_rows_are_many() -> None:
    ladder = choose_ladder(DAY, Sizes(200_000), invertible=True)
    assert (ladder.rungs, ladder.inverse) == ((), (0,))
    assert ladder.reason == (
        "keeps the last window of '1 day every 10 seconds': a result merges 3.0 inputs "
        "on average with what is kept, 8,640 without"
    )


def test_blocks_lie_on_the_slides_of_the_windows() -> None:
    panes = Panes(1_000_000, (PanedSpec(sliding(960, 12, offset=5), 960, 12, 5),))
    ladder = choose_ladder(panes, Sizes(50_000))
    assert ladder.rungs
    assert all(rung.width % 12 == 0 and rung.phase % 12 == 5 for rung in ladder.rungs)


@pytest.mark.parametrize(
    ("lengths", "panes", "efficient"),
    [((5, 10, 15, 20), 60, 86), ((1, 3, 6, 36, 144), 144, 364)],
)
def test_where_keeping_is_free_enorm_counts_come_out(
    lengths: tuple[int, ...], panes: int, efficient: int
) -> None:
    specs = Panes(60_000_000, tuple(PanedSpec(tumbling(n), n, n, 0) for n in lengths))
    ladder = choose_ladder(specs, Sizes(1_000), FREE)
    assert count_inputs(specs, ladder, panes)["inputs"] == efficient


def test_a_ladder_in_use_stays_unless_another_is_much_cheaper() -> None:
    best = choose_ladder(DAY, Sizes(1_000))
    near = Ladder(tuple(Rung(4**power) for power in range(1, 7)))
    near_cost = bill(DAY, near, Sizes(1_000), LadderCosts())
    assert near_cost.is_small
    best_cost = bill(DAY, best, Sizes(1_000), LadderCosts())
    assert best_cost.total < near_cost.total < 1.25 * best_cost.total
    assert choose_ladder(DAY, Sizes(1_000), current=near).rungs == near.rungs
    assert choose_ladder(DAY, Sizes(1_000), current=Ladder()).rungs == best.rungs


def test_a_ladder_says_what_it_keeps() -> None:
    assert Ladder().describe(DAY) == "nothing"
    assert Ladder((Rung(6),)).describe(DAY) == "blocks of 1 minute"
    rungs = (Rung(6), Rung(60), Rung(360))
    assert Ladder(rungs).describe(DAY) == "blocks of 1 minute, 10 minutes and 1 hour"


@pytest.mark.parametrize(("width", "phase"), [(1, 0), (4, 4), (4, -1)])
def test_an_impossible_rung_is_refused(width: int, phase: int) -> None:
    with pytest.raises(ValueError, match="rung"):
        Rung(width, phase)


@given(st.lists(st.tuples(st.integers(2, 12), st.integers(0, 11)), max_size=4))
def test_rungs_nest_when_no_two_blocks_half_overlap(drawn: list[tuple[int, int]]) -> None:
    rungs = sorted({(width, phase % width) for width, phase in drawn})
    blocks = [range(s, s + w) for w, p in rungs for s in range(p - w, 300, w)]
    half = any(
        set(a) & set(b) and not set(a) <= set(b) and not set(b) <= set(a)
        for a in blocks
        for b in blocks
        if len(a) <= len(b) and a.start <= b.stop and b.start <= a.stop
    )
    assert nested(rungs) == (not half)


def naive_bill(panes: Panes, ladder: Ladder, sizes: Sizes, costs: LadderCosts) -> float:
    """Price reading by a full search over every way in which the windows can lie."""
    total = 0.0
    for spec in panes.specs:
        starts = range(spec.offset, spec.offset + spec.slide * 60, spec.slide)
        total += sum(
            _shortest(ladder, sizes, costs, start, start + spec.length) for start in starts
        ) / (60 * spec.slide)
    return total


def _shortest(ladder: Ladder, sizes: Sizes, costs: LadderCosts, first: int, end: int) -> float:
    best = {first: 0.0}
    for at in range(first, end):
        for width in [1, *(r.width for r in ladder.rungs if (at - r.phase) % r.width == 0)]:
            to = at + width
            # A block that ends with the window is built in the same closing, from its own parts.
            if to < end or (to == end and width == 1):
                price = best[at] + sizes.rows(width) + costs.input_rows
                best[to] = min(best.get(to, float("inf")), price)
    return best[end]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([(2,), (3,), (2, 4), (3, 6), (2, 6, 12), (5, 10)]),
    st.integers(1, 30),
    st.integers(1, 1_000),
    st.data(),
)
def test_reading_is_priced_as_a_shortest_path(
    widths: tuple[int, ...], length: int, pane_rows: int, data: st.DataObject
) -> None:
    slide = data.draw(st.sampled_from([s for s in (1, 2, 3, 4, 5, 6) if s <= length]))
    spec = PanedSpec(sliding(length, slide), length, slide, 0)
    panes, ladder = Panes(1, (spec,)), Ladder(tuple(Rung(w) for w in widths if w < length))
    sizes, costs = Sizes(pane_rows), LadderCosts()
    priced = bill(panes, ladder, sizes, costs).reading
    assert priced == pytest.approx(naive_bill(panes, ladder, sizes, costs))


# --- over more than a day -------------------------------------------------------------------------


def count_inputs(
    panes: Panes, ladder: Ladder, boundaries: int, filled: float = 1.0, settled: int = 0
) -> Counter[str]:
    """Close pane by pane over a store without rows; count from ``settled`` on.

    Before that 16 panes are closed at once, which leaves the same blocks sooner.
    """
    chance, segments, counts = random.Random(1), dict[str, Segment](), Counter[str]()
    after = 0
    for batch in range(boundaries):
        if chance.random() < filled:
            segments[f"b{batch}"] = Segment(f"b{batch}", batch, batch + 1, 1, batch, True, 9, 9)
        if batch < settled - 16 and batch % 16:
            continue
        plan = plan_closing(panes, list(segments.values()), ladder, after, batch + 1)
        after = batch + 1
        if batch >= settled:
            counts["inputs"] += plan.inputs
            counts["results"] += sum(merge.spec is not None for merge in plan.merges)
        for at, kept in enumerate(plan.keeps):
            name = f"k{batch}.{at}"
            segments[name] = kept.segment(name, batch, 9 * kept.entries, 9)
        for name in expired(panes, list(segments.values()), ladder, batch + 1):
            del segments[name]
        done = compaction(panes, list(segments.values()), ladder, batch + 1)
        if done is not None:
            segments |= {segment.name: segment for segment in done.restamped}
            for name in done.replaced:
                del segments[name]
            for at, rewrite in enumerate(done.rewrites):
                name = f"c{batch}.{at}"
                segments[name] = rewrite.segment(name, 9, 9)
        if batch >= settled:
            counts["most segments"] = max(counts["most segments"], len(segments))
    return counts


@pytest.mark.parametrize("filled", [1.0, 0.02], ids=["dense", "sparse"])
def test_a_day_every_ten_seconds_merges_at_most_thirty_inputs_per_result(filled: float) -> None:
    ladder = choose_ladder(DAY, Sizes(1_000))
    counts = count_inputs(DAY, ladder, boundaries=9_700, filled=filled, settled=8_640)
    assert counts["results"] == 1_060
    assert counts["inputs"] / counts["results"] <= 30  # building included
    # Runs, and entries of each rung: fewer than FAN of every length, which grows FAN-fold.
    lengths = ceil(log(9_700, FAN))
    assert counts["most segments"] <= (1 + len(ladder.rungs)) * (FAN - 1) * lengths


@pytest.mark.parametrize("pane_rows", [1, 30, 1_000, 200_000])
def test_no_stretch_of_windows_takes_more_than_thirty_inputs(pane_rows: int) -> None:
    # Every block of the ladder is there, and all the ways in which a window can lie are counted.
    ladder = choose_ladder(DAY, Sizes(pane_rows))
    widest = ladder.rungs[-1].width
    end = 8_640 + 2 * widest
    store = [Segment("b", 0, end, 1, 0, True, end * pane_rows, 1)]
    for rung in ladder.rungs:
        count = end // rung.width
        blocks = Segment(f"k{rung.width}", 0, count * rung.width, rung.width, 0, False, count, 1)
        store.append(blocks)
    paths = Paths(Shelf(store))
    counts = [paths.cheapest(start, start + 8_640).inputs for start in range(widest)]
    widths = [1, *(rung.width for rung in ladder.rungs)]
    building = sum(1 / narrow for narrow in widths[:-1])  # each block once, by the next wider ones
    stretch = min(1_000, widest)
    sums = list(accumulate([*counts, *counts], initial=0))
    worst = max(sums[at + stretch] - sums[at] for at in range(widest)) / stretch
    assert worst + building <= 30
    priced = bill(DAY, ladder, Sizes(pane_rows), LadderCosts()).inputs_per_result
    assert priced == pytest.approx(sum(counts) / widest + building, rel=0.03)
