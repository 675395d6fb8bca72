"""What may be dropped: nothing that an open window needs, and everything else."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.windows.panes import Panes, paned
from penstock.windows.retention import expired, needed_from, usable
from penstock.windows.rungs import Ladder
from penstock.windows.segments import Segment
from penstock.windows.specs import sliding


@st.composite
def spec_sets(draw: st.DrawFn) -> Panes:
    specs = []
    for index in range(draw(st.integers(1, 3))):
        length = draw(st.integers(1, 12))
        slide = draw(st.integers(1, length))
        offset = draw(st.integers(0, slide - 1))
        specs.append(sliding(length, slide, offset=offset, name=f"w{index}"))
    return paned(specs)


def open_windows(panes: Panes, closed: int) -> list[tuple[int, int]]:
    """Windows that end soon after ``closed``; later ones start after it."""
    longest = max(spec.length for spec in panes.specs)
    return [
        (end - spec.length, end)
        for spec in panes.specs
        for end in spec.ends(closed, closed + 3 * longest)
    ]


@given(spec_sets(), st.integers(-30, 30), st.integers(-20, 20), st.integers(1, 9))
def test_a_run_is_needed_by_the_windows_it_overlaps(
    panes: Panes, first: int, closed: int, length: int
) -> None:
    run = Segment("b", first, first + length, 1, 0, True, 1, 1)
    windows = open_windows(panes, closed)
    is_needed = any(run.overlaps(*window) for window in windows)
    is_future = run.end > min(start for start, _ in windows)
    gone = expired(panes, [run], Ladder(), closed)
    assert (gone == ()) == (is_needed or is_future)


@given(
    spec_sets(), st.integers(-30, 10), st.integers(-20, 20), st.integers(1, 9), st.integers(1, 5)
)
def test_an_entry_is_needed_by_the_windows_that_hold_it(
    panes: Panes, first: int, closed: int, width: int, count: int
) -> None:
    entries = Segment("k", first, first + width * count, width, 0, False, 1, 1)
    ends = range(first + width, first + width * count + 1, width)
    holding = [
        any(start <= end - width and end <= window_end for start, window_end in windows)
        for windows in [open_windows(panes, closed)]
        for end in ends
        if end <= closed
    ]
    if entries.end <= closed:  # entries are built when they are over
        assert (expired(panes, [entries], Ladder(), closed) == ()) == any(holding)
        assert [usable(panes, end - width, width, closed) for end in ends] == holding


def test_nothing_expires_before_anything_is_closed() -> None:
    run = Segment("b", 0, 1, 1, 0, True, 1, 1)
    assert expired(paned([sliding(4, 1)]), [run], Ladder(), None) == ()
    assert needed_from(paned([sliding(4, 1)]), [run], Ladder(), None) is None


def test_a_kept_window_holds_on_to_the_panes_that_will_be_taken_out_of_it() -> None:
    # panes    6 7                16
    # kept     |-------------------|    closed is 16, the next window starts at 7
    panes = paned([sliding(10, 1)])
    run = Segment("b", 6, 7, 1, 0, True, 1, 1)
    old = Segment("old", 5, 15, 10, 0, False, 1, 1)
    base = Segment("base", 6, 16, 10, 0, False, 1, 1)
    chained = Ladder(inverse=(0,))
    assert expired(panes, [run, old, base], chained, 16) == ("old",)
    assert expired(panes, [run, old, base], Ladder(), 16) == ("b", "old", "base")
    assert needed_from(panes, [run, old, base], chained, 16) == 6


def test_a_kept_window_that_the_next_one_does_not_overlap_is_of_no_use() -> None:
    panes = paned([sliding(10, 1)])
    base = Segment("base", 6, 16, 10, 0, False, 1, 1)
    assert expired(panes, [base], Ladder(inverse=(0,)), 24) == ()
    assert expired(panes, [base], Ladder(inverse=(0,)), 25) == ("base",)
