"""The planner: Enorm's counts, single plans, and cheapest paths."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.windows.consolidation import ClosingPlan, plan_closing
from penstock.windows.panes import PanedSpec, Panes, paned
from penstock.windows.paths import Paths
from penstock.windows.rungs import Ladder, Rung
from penstock.windows.segments import CROSSING, Piece, Segment
from penstock.windows.shelf import Shelf
from penstock.windows.specs import sliding, tumbling
from windows.store_model import StoreModel


def tumbling_panes(*lengths: int) -> Panes:
    """Windows of so many panes, where one pane is given and not the GCD."""
    return Panes(1_000_000, tuple(PanedSpec(tumbling(n), n, n, 0) for n in lengths))


def run_of(first: int, end: int, batch: int = 0, rows: int = 100) -> Segment:
    return Segment(f"b{batch}", first, end, 1, batch, True, rows, rows)


# --- Enorm's counts -------------------------------------------------------------------------------

ENORM = [
    pytest.param((5, 10, 15, 20), (5, 10), 60, 240, 86, id="an hour"),
    pytest.param((1, 3, 6, 36, 144), (3, 6, 36), 144, 720, 364, id="a day"),
]


@pytest.mark.parametrize(("lengths", "kept", "panes", "naive", "efficient"), ENORM)
def test_enorm_counts_in_one_closing(
    lengths: tuple[int, ...], kept: tuple[int, ...], panes: int, naive: int, efficient: int
) -> None:
    specs = tumbling_panes(*lengths)
    plan = plan_closing(specs, [run_of(0, panes)], Ladder(), None, panes)
    assert (plan.naive_inputs, plan.inputs) == (naive, efficient)


@pytest.mark.parametrize(("lengths", "kept", "panes", "naive", "efficient"), ENORM)
def test_enorm_counts_pane_by_pane(
    lengths: tuple[int, ...], kept: tuple[int, ...], panes: int, naive: int, efficient: int
) -> None:
    store = StoreModel(tumbling_panes(*lengths), Ladder(tuple(Rung(n) for n in kept)))
    counts: Counter[str] = Counter()
    for pane in range(panes):
        store.add_batch([(pane, key + 100 * pane) for key in range(4)])
        plan, _ = store.close(pane + 1)
        store.drop_expired()
        counts += Counter({"naive": plan.naive_inputs, "efficient": plan.inputs})
    assert counts == {"naive": naive, "efficient": efficient}


def test_fifteen_minutes_are_ten_and_five() -> None:
    # panes    0         10   15
    #          |-- k10 --|-k5-|
    k10 = Segment("k10", 0, 10, 10, through=0, is_delta=False, rows=100, bytes=1)
    k5 = Segment("k5", 0, 15, 5, through=0, is_delta=False, rows=300, bytes=1)
    store = [run_of(0, 15, rows=1_500), k10, k5]
    (merge,) = plan_closing(tumbling_panes(15), store, Ladder(), 14, 15).merges
    assert merge.pieces == (Piece("k10", 0, 10, 10), Piece("k5", 10, 15, 5))
    assert (merge.inputs, merge.panes) == (2, 15)


# --- single plans ---------------------------------------------------------------------------------


def test_an_entry_is_read_with_the_late_rows_of_its_panes() -> None:
    # panes      0     4     8
    # b0         |-----------|
    # k (b0)     |-----|
    # b1            |-----|
    kept = Segment("k", 0, 4, 4, through=0, is_delta=False, rows=10, bytes=1)
    store = [run_of(0, 8), run_of(2, 6, batch=1), kept]
    (merge,) = plan_closing(tumbling_panes(8), store, Ladder(), 0, 8).merges
    assert merge.pieces == (Piece("b0", 4, 8, 1), Piece("b1", 2, 6, 1), Piece("k", 0, 4, 4))


def test_the_lighter_of_two_paths_is_taken() -> None:
    light = Segment("light", 0, 5, 5, through=0, is_delta=False, rows=10, bytes=1)
    rest = Segment("rest", 5, 20, 15, through=0, is_delta=False, rows=10, bytes=1)
    tens = Segment("tens", 0, 20, 10, through=0, is_delta=False, rows=2_000, bytes=1)
    store = [run_of(0, 20, rows=20_000), tens, light, rest]
    (merge,) = plan_closing(tumbling_panes(20), store, Ladder(), 0, 20).merges
    assert {piece.segment for piece in merge.pieces} == {"light", "rest"}


def test_a_window_that_is_also_a_block_is_one_merge() -> None:
    specs = Panes(1, (PanedSpec(tumbling(4), 4, 4, 0), PanedSpec(tumbling(8), 8, 8, 0)))
    plan = plan_closing(specs, [run_of(0, 4)], Ladder((Rung(4),)), None, 4)
    (merge,) = plan.merges
    assert (merge.start, merge.end, merge.spec, merge.keep) == (0, 4, 0, True)
    (kept,) = plan.keeps
    assert kept.segment("k", 0, 9, 80) == Segment("k", 0, 4, 4, 0, False, 9, 80)


def test_what_lies_across_the_start_goes_to_the_window_and_not_to_the_block() -> None:
    specs = tumbling_panes(4, 8)
    plan = plan_closing(specs, [run_of(0, 4)], Ladder((Rung(4),)), None, 4, crossings=True)
    block, window = plan.merges
    assert (block.spec, block.keep, block.pieces) == (None, True, (Piece("b0", 0, 4, 1),))
    assert (window.spec, window.keep) == (0, False)
    assert window.pieces == (Piece("b0", 0, 4, 1), Piece("b0", 0, 1, CROSSING))
    assert (block.inputs, window.inputs) == (4, 1)


def test_windows_of_two_specs_that_coincide_are_emitted_twice() -> None:
    specs = paned([sliding(4, 2, name="a"), tumbling(4, name="b")])
    plan = plan_closing(specs, [run_of(0, 2)], Ladder(), 1, 2)
    assert [(m.spec, m.start, m.end, m.inputs) for m in plan.merges] == [(0, 0, 2, 2), (1, 0, 2, 1)]


def test_windows_without_a_row_are_left_out() -> None:
    plan = plan_closing(tumbling_panes(2), [run_of(0, 2), run_of(40, 41, 1)], Ladder(), None, 1_000)
    assert [(merge.start, merge.end) for merge in plan.merges] == [(0, 2), (40, 42)]


def test_nothing_to_do() -> None:
    assert plan_closing(tumbling_panes(2), [], Ladder((Rung(2),)), None, 10).is_empty
    assert plan_closing(tumbling_panes(2), [run_of(0, 2)], Ladder(), 2, 2).is_empty


def test_a_block_that_no_open_window_can_use_is_not_built() -> None:
    plan = plan_closing(tumbling_panes(8), [run_of(0, 9)], Ladder((Rung(4),)), None, 8)
    assert not plan.keeps


def test_a_jump_over_many_windows_is_left_to_arithmetic() -> None:
    specs = paned([sliding(100, 1)])
    store = [run_of(0, 1_000), run_of(5, 7, batch=1)]
    plan = plan_closing(specs, store, Ladder((Rung(10),)), 200, 900, max_enumerated=512)
    assert plan.is_bulk
    assert not plan.is_empty
    assert (plan.merges, plan.keeps) == ((), ())
    assert plan.reads == (Piece("b0", 101, 900, 1),)
    crossing = plan_closing(specs, store, Ladder(), 200, 900, crossings=True)
    assert crossing.reads == (Piece("b0", 101, 900, 1), Piece("b0", 101, 900, CROSSING))


@pytest.mark.parametrize("wild", [-(10**9), 10**9])
def test_one_wild_row_does_not_make_the_driver_count_to_a_billion(wild: int) -> None:
    store = [run_of(min(0, wild), max(4, wild + 1))]
    plan = plan_closing(paned([sliding(4, 1)]), store, Ladder((Rung(2),)), None, 10**9 + 9)
    assert plan.is_bulk
    later = plan_closing(paned([sliding(4, 1)]), store, Ladder((Rung(2),)), 10, 12)
    assert len(later.merges) < 10


def test_blocks_left_out_are_built_later_the_widest_and_newest_first() -> None:
    specs = paned([sliding(64, 1)])
    ladder = Ladder((Rung(2), Rung(8)))
    plan = plan_closing(specs, [run_of(0, 64)], ladder, 63, 64, max_enumerated=10)
    built = [(merge.start, merge.end) for merge in plan.merges if merge.keep]
    wide = [(start, start + 8) for start in range(8, 64, 8)]
    assert sorted(built) == sorted([*wide, (58, 60), (60, 62), (62, 64)])
    assert [(kept.width, kept.first, kept.end) for kept in plan.keeps] == [(8, 8, 64), (2, 58, 64)]


def test_blocks_left_out_are_not_taken_for_empty_ones() -> None:
    # panes    0    8               32  36
    # kept     |--|                          and only the newest block is built now
    kept = Segment("k", 8, 12, 4, through=0, is_delta=False, rows=1, bytes=1)
    store = [run_of(0, 36), kept]
    plan = plan_closing(
        paned([sliding(30, 1)]), store, Ladder((Rung(4),)), 35, 36, max_enumerated=1
    )
    assert [(kept.width, kept.first, kept.end) for kept in plan.keeps] == [(4, 32, 36)]


def test_a_segment_of_blocks_reaches_back_over_empty_ones() -> None:
    kept = Segment("k", 8, 12, 4, through=0, is_delta=False, rows=1, bytes=1)
    store = [run_of(8, 12), run_of(33, 36, batch=1), kept]
    plan = plan_closing(paned([sliding(30, 1)]), store, Ladder((Rung(4),)), 35, 36)
    assert [(kept.width, kept.first, kept.end) for kept in plan.keeps] == [(4, 12, 36)]
    assert [(merge.start, merge.end) for merge in plan.merges if merge.keep] == [(32, 36)]


def test_a_block_that_is_not_over_yet_is_not_built() -> None:
    plan = plan_closing(paned([sliding(30, 1)]), [run_of(0, 36)], Ladder((Rung(4),)), 33, 34)
    assert max(kept.end for kept in plan.keeps) == 32


def test_the_next_window_is_the_last_one_plus_new_panes_minus_old_ones() -> None:
    # panes     0 1                9 10
    # kept      |-------------------|        (b0)
    # wanted      |--------------------|
    specs = paned([sliding(10, 1)])
    kept = Segment("w", 0, 10, 10, through=0, is_delta=False, rows=10, bytes=1)
    store = [run_of(0, 10), run_of(0, 11, batch=1), kept]
    plan = plan_closing(specs, store, Ladder(inverse=(0,)), 10, 11)
    (merge,) = plan.merges
    assert set(merge.pieces) == {
        Piece("w", 0, 1, 10),
        Piece("b1", 1, 11, 1),  # late rows within the kept window, and the new pane
        Piece("b0", 0, 1, 1, sign=-1),  # the old pane, as far as the kept window holds it
    }
    assert merge.keep
    assert merge.inputs == 3


def test_a_closing_names_the_segments_it_reads() -> None:
    store = [run_of(0, 4), run_of(4, 8, batch=1)]
    plan: ClosingPlan = plan_closing(tumbling_panes(4), store, Ladder(), None, 4)
    assert plan.segments == {"b0"}


# --- paths ----------------------------------------------------------------------------------------


@st.composite
def nested_stores(draw: st.DrawFn) -> tuple[list[Segment], int]:
    """Entries of a nested ladder, with holes, over panes that all hold rows."""
    phase, width, end = draw(st.integers(0, 40)), 1, 240
    pane_rows, keys = draw(st.integers(1, 500)), draw(st.integers(1, 5_000))
    store = [run_of(-60, end, rows=pane_rows * (end + 60))]
    for level in range(draw(st.integers(1, 4))):
        width *= draw(st.integers(2, 5))
        rows = min(pane_rows * width, max(keys, pane_rows))  # never more than its parts
        starts = range(phase % width - width, end - width, width)
        holes = draw(st.sets(st.integers(0, len(starts)), max_size=3)) if starts else set()
        for at, start in enumerate(starts):
            if at not in holes:
                store.append(
                    Segment(f"k{level}.{at}", start, start + width, width, 0, False, rows, 1)
                )
    return store, end


@given(nested_stores(), st.data())
def test_the_widest_first_is_a_shortest_path_where_blocks_nest(
    case: tuple[list[Segment], int], data: st.DataObject
) -> None:
    store, last = case
    first = data.draw(st.integers(0, last - 1))
    end = data.draw(st.integers(first + 1, last))
    paths = Paths(Shelf(store))
    quick, full = paths.widest_first(first, end), paths.searched(first, end)
    assert paths.weight(quick) == pytest.approx(paths.weight(full))


def test_paths_over_a_day_take_few_steps() -> None:
    widths = (12, 144, 1_728)
    store = [run_of(0, 20_000)]
    store += [Segment(f"k{w}", 0, 20_000 // w * w, w, 0, False, 100, 1) for w in widths]
    paths = Paths(Shelf(store))
    for first in range(0, 9_000, 7):
        path = paths.cheapest(first, first + 8_640)
        assert len(path.steps) <= 2 * len(widths) + 1
        assert path.inputs <= 2 * 11 * len(widths) + 5
        assert [step.first for step in path.steps[1:]] == [step.end for step in path.steps[:-1]]
