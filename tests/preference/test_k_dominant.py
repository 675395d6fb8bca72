"""K-dominance beside its definition, and the fact that lets it wait for a plain skyline."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from penstock.errors import ConfigurationError
from penstock.preference.k_dominant import k_dominant, top_dominant
from penstock.preference.skyline import skyline


def dominates(one: NDArray[Any], other: NDArray[Any], k: int) -> bool:
    """Whether a row k-dominates another, as the definition says."""
    return bool((one <= other).sum() >= k and (one < other).any())


def by_definition(points: NDArray[Any], k: int) -> list[int]:
    return [
        row
        for row in range(len(points))
        if not any(dominates(other, points[row], k) for other in points)
    ]


def top_by_definition(points: NDArray[Any], delta: int) -> tuple[list[int], int]:
    columns = points.shape[1]
    for k in range(1, columns + 1):
        found = by_definition(points, k)
        if len(found) >= delta:
            return found, k
    return by_definition(points, columns), columns


@st.composite
def drawn_points(draw: st.DrawFn, most_rows: int = 25) -> NDArray[Any]:
    """Points with many ties and duplicates, infinities, and whole numbers that no float holds."""
    shape = draw(st.tuples(st.integers(0, most_rows), st.integers(1, 16)))
    few = st.sampled_from([0.0, -0.0, 0.5, 1.0, np.inf, -np.inf])
    large = st.integers(-3, 3).map(lambda step: 2**62 + step)
    kinds: list[tuple[Any, Any]] = [(np.float64, few), (np.int64, large)]
    kind, numbers = draw(st.sampled_from(kinds))
    points: NDArray[Any] = draw(arrays.arrays(kind, shape, elements=numbers))
    repeated = draw(st.lists(st.integers(0, max(0, len(points) - 1)), max_size=3))
    return np.concatenate([points, points[repeated]]) if len(points) else points


@given(drawn_points(), st.data())
def test_k_dominant_rows_are_those_of_the_definition(
    points: NDArray[Any], data: st.DataObject
) -> None:
    k = data.draw(st.integers(1, points.shape[1]))
    assert k_dominant(points, k).tolist() == by_definition(points, k)


@given(drawn_points(), st.integers(1, 30))
def test_top_dominant_takes_the_smallest_k_with_enough_rows(
    points: NDArray[Any], delta: int
) -> None:
    positions, k = top_dominant(points, delta)
    assert (positions.tolist(), k) == top_by_definition(points, delta)


@given(drawn_points(), st.data())
def test_a_k_dominated_row_is_k_dominated_by_a_row_of_the_skyline(
    points: NDArray[Any], data: st.DataObject
) -> None:
    k = data.draw(st.integers(1, points.shape[1]))
    best = points[skyline(points)]
    for row in points:
        if any(dominates(other, row, k) for other in points):
            assert any(dominates(other, row, k) for other in best)
    assert set(by_definition(points, k)) <= set(skyline(points).tolist())


@given(drawn_points(), st.integers(1, 30), st.data())
def test_a_skyline_of_parts_gives_what_all_rows_give(
    points: NDArray[Any], delta: int, data: st.DataObject
) -> None:
    part = data.draw(st.lists(st.integers(0, 2), min_size=len(points), max_size=len(points)))
    kept = [
        number
        for each in range(3)
        for number in np.flatnonzero(np.array(part) == each)[
            skyline(points[np.flatnonzero(np.array(part) == each)])
        ]
    ]
    kept = [kept[each] for each in skyline(points[kept])]
    positions, k = top_dominant(points[kept], delta, is_skyline=True)
    expected, expected_k = top_by_definition(points, delta)
    assert (sorted(kept[each] for each in positions), k) == (expected, expected_k)


@pytest.mark.parametrize("columns", [2, 5, 12])
@pytest.mark.parametrize("delta", [1, 40, 10_000])
def test_several_blocks_of_rows(columns: int, delta: int) -> None:
    """More rows than are counted at once, of which the last ones matter too."""
    numbers = np.random.default_rng(columns).integers(0, 60, (700, columns))
    # On this plane no row dominates another, so that none is left out before.
    points = np.column_stack([numbers, 60 * columns - numbers.sum(axis=1)])
    positions, k = top_dominant(points, delta)
    as_good = (points[:, None, :] <= points[None, :, :]).sum(axis=2)
    better = (points[:, None, :] < points[None, :, :]).any(axis=2)
    most = np.where(better, as_good, 0).max(axis=0)
    rows = [int((most < each).sum()) for each in range(1, columns + 2)]
    expected = next((each + 1 for each, n in enumerate(rows) if n >= delta), columns + 1)
    assert k == expected
    assert positions.tolist() == np.flatnonzero(most < k).tolist()
    for each in range(1, columns + 2):
        assert k_dominant(points, each).tolist() == np.flatnonzero(most < each).tolist()


def test_more_rows_than_small_ranks_can_number() -> None:
    number = np.arange(40_000)
    points = np.column_stack([number, number[::-1], number])
    assert k_dominant(points, 2, is_skyline=True).tolist() == [0]
    assert top_dominant(points, 2, is_skyline=True)[1] == 3


def test_what_can_not_be_asked_is_refused() -> None:
    points = np.zeros((3, 4))
    with pytest.raises(ConfigurationError, match=r"k is 5\. Write 1 to 4"):
        k_dominant(points, 5)
    with pytest.raises(ConfigurationError, match="k is 0"):
        k_dominant(points, 0)
    with pytest.raises(ConfigurationError, match="delta is 0"):
        top_dominant(points, 0)
