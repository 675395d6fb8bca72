"""Block-nested loops keep the skyline, and compare as often as they say."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.simulation.preference.block_nested import insert

points = st.lists(
    st.lists(st.integers(0, 3).map(float), min_size=2, max_size=2), min_size=1, max_size=12
)


def by_definition(rows: list[list[float]]) -> list[list[float]]:
    return [
        row
        for row in rows
        if not any(all(a <= b for a, b in zip(o, row, strict=True)) and o != row for o in rows)
    ]


@given(points, st.integers(0, 12))
def test_what_is_kept_is_the_skyline_however_it_came(rows: list[list[float]], cut: int) -> None:
    window = np.empty((len(rows), 2))
    size = 0
    for some in (rows[:cut], rows[cut:]):
        size, _ = insert(window, size, np.array(some).reshape(-1, 2))
    assert sorted(window[:size].tolist()) == sorted(by_definition(rows))


def test_comparisons_end_where_a_row_is_dominated() -> None:
    window = np.empty((4, 2))
    rows = np.array([[2.0, 2.0], [1.0, 3.0], [3.0, 3.0], [0.0, 0.0]])
    # None for the first, one for the second; the third falls at once, the last beats both.
    assert insert(window, 0, rows) == (1, 0 + 1 + 1 + 2)
