from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.preference.drawn_points import MOST_POINTS, DrawnPoints, drawn, newest

numbers = st.floats(-1e6, 1e6)
found = st.builds(
    DrawnPoints,
    window=st.tuples(st.integers(0, 3)),
    key=st.sampled_from("abcdefghijkl"),
    x=st.just((1.0,)),
    y=st.just((1.0,)),
    rows=st.just(1),
)


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=40), st.integers(2, 12))
def test_points_stay_evenly_apart(rows: list[tuple[float, float]], most: int) -> None:
    x, y = np.array(rows).T
    points = drawn((7,), "a", x, y, most)
    kept, by_x = list(zip(points.x, points.y, strict=True)), sorted(rows)
    assert (points.window, points.key, points.rows) == ((7,), "a", len(rows))
    assert len(kept) == min(most, len(rows))
    assert kept == sorted(kept)
    assert (kept[0], kept[-1]) == (by_x[0], by_x[-1] if len(kept) > 1 else by_x[0])
    step = (len(rows) - 1) / max(1, len(kept) - 1)
    assert all(
        point in by_x[max(0, round(at * step) - 1) : round(at * step) + 2]
        for at, point in enumerate(kept)
    )


def test_a_journal_line_stays_small() -> None:
    many = np.arange(100_000, dtype=np.float64)
    assert len(drawn((0,), None, many, -many).x) == MOST_POINTS == 500


def test_missing_numbers_come_last() -> None:
    points = drawn((0,), None, np.array([np.nan, 1.0]), np.array([2.0, 3.0]))
    assert (points.x[0], points.y) == (1.0, (3.0, 2.0))


@given(st.lists(found, unique_by=lambda each: (each.window, each.key)), st.integers(1, 8))
def test_it_does_not_matter_which_task_had_which_group(
    points: list[DrawnPoints], tasks: int
) -> None:
    by_task = [points[task::tasks] for task in range(tasks)]
    first = [each for task in by_task for each in newest(task)]
    assert newest(first) == newest(points)


def test_newest_window_and_first_groups() -> None:
    points = [DrawnPoints((window,), key, (), (), 0) for window in (1, 2) for key in "kjihgfedcba"]
    kept = newest(points)
    assert {each.window for each in kept} == {(2,)}
    assert "".join(each.key or "" for each in kept) == "abcdefgh"
    assert newest([]) == ()
