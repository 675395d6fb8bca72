"""Which windows are open, held against windows listed one by one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.windows.panes import paned
from penstock.windows.specs import sliding

specs = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=3)
ranges = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)), max_size=4)


@given(specs=specs, ranges=ranges, closed=st.integers(0, 90))
def test_open_windows_are_those_with_rows_that_end_after_what_is_closed(
    specs: list[tuple[int, int]], ranges: list[tuple[int, int]], closed: int
) -> None:
    panes = paned(
        [
            sliding(max(one, other), min(one, other), name=str(number))
            for number, (one, other) in enumerate(specs)
        ]
    )
    held = {pane for first, length in ranges for pane in range(first, first + length)}
    windows = sum(
        end > closed and any(end - spec.length <= pane < end for pane in held)
        for spec in panes.specs
        for end in range(-100, 200)
        if (end - spec.length - spec.offset) % spec.slide == 0
    )
    stored = [(first, first + length) for first, length in ranges]
    assert panes.open_windows(closed, stored) == windows
