from __future__ import annotations

from typing import Any

import moocore
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from paretoset import paretoset

from penstock.preference.skyline import dominance_counts, merge, skyline, skylines
from preference import reference

# Few values, so that points are equal, tie in one column, and tie in sums that floats round.
FLOATS = [0.0, 0.1, 0.2, 0.1 + 0.2, 0.3, 1.0, -1.0, 1e16, 1e16 + 2, 1e300, -1e308, np.inf, -np.inf]
EXTREMES = np.iinfo(np.int64)
INTEGERS = [0, 1, -1, 2**53, 2**53 + 1, EXTREMES.max, EXTREMES.max - 1, EXTREMES.min]


@st.composite
def point_sets(draw: st.DrawFn, most: int = 400) -> NDArray[Any]:
    columns = draw(st.integers(1, 16))
    rows = draw(st.one_of(st.integers(0, 12), st.integers(0, most)))
    dice = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(["floats", "integers", "grid", "uniform", "opposed", "chain"]))
    if kind == "floats":
        values = draw(st.lists(st.sampled_from(FLOATS), min_size=1, unique=True))
        return dice.choice(np.array(values), (rows, columns))
    if kind == "integers":
        values = draw(st.lists(st.sampled_from(INTEGERS), min_size=1, unique=True))
        return dice.choice(np.array(values, np.int64), (rows, columns))
    if kind == "grid":
        return dice.integers(0, draw(st.integers(1, 6)), (rows, columns)).astype(np.float64)
    points = dice.random((rows, columns))
    if kind == "opposed":
        return np.ascontiguousarray(points / np.maximum(points.sum(axis=1, keepdims=True), 1e-9))
    if kind == "chain":
        return np.ascontiguousarray(np.repeat(points[:, :1], columns, axis=1) + points // 0.9)
    return points


@given(point_sets())
def test_skyline_is_what_no_other_point_dominates(points: NDArray[Any]) -> None:
    assert skyline(points).tolist() == reference.skyline(points.tolist())


@pytest.mark.parametrize("columns", [2, 3, 4, 6, 9, 12, 16])
@pytest.mark.parametrize("kind", ["uniform", "opposed", "alike", "coarse"])
@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_large_skyline_is_that_of_moocore(columns: int, kind: str, dtype: type) -> None:
    dice = np.random.default_rng(columns)
    points = dice.random((6_000, columns))
    if kind == "opposed":
        points /= points.sum(axis=1, keepdims=True)
    elif kind == "alike":
        points = points * 0.1 + dice.random((6_000, 1))
    elif kind == "coarse":
        points = np.floor(points * 8)
    points = np.ascontiguousarray((points * 2**40).astype(dtype))
    expected = moocore.is_nondominated(points.astype(np.float64), keep_weakly=True)
    assert skyline(points).tolist() == np.flatnonzero(expected).tolist()


@given(point_sets(), st.data())
def test_each_segment_has_its_own_skyline(points: NDArray[Any], data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(points)), max_size=6))
    starts = [0, *sorted(cuts)]
    expected = [
        start + place
        for start, end in zip(starts, [*starts[1:], len(points)], strict=True)
        for place in reference.skyline(points[start:end].tolist())
    ]
    assert skylines(points, np.array(starts)).tolist() == expected


@given(point_sets(), st.integers(0, 400))
def test_merging_two_skylines_gives_that_of_both(points: NDArray[Any], cut: int) -> None:
    one, other = points[:cut], points[cut:]
    one, other = one[reference.skyline(one.tolist())], other[reference.skyline(other.tolist())]
    of_one, of_other = merge(one, other)
    both = np.concatenate([one, other])
    kept = np.flatnonzero(np.concatenate([of_one, of_other]))
    assert kept.tolist() == reference.skyline(both.tolist())


@pytest.mark.parametrize("columns", [3, 8, 16])
def test_merging_large_skylines_gives_that_of_moocore(columns: int) -> None:
    points = np.random.default_rng(columns).random((8_000, columns))
    points[4_000:4_100] = points[:100]  # the same point on both sides stays on both
    one, other = points[:4_000], points[4_000:]
    one, other = one[skyline(one)], other[skyline(other)]
    both = np.concatenate([one, other])
    expected = moocore.is_nondominated(both, keep_weakly=True)
    assert np.concatenate(merge(one, other)).tolist() == expected.tolist()


@given(point_sets(most=150))
def test_counts_are_of_all_points_dominated(points: NDArray[Any]) -> None:
    of = np.arange(len(points))[::2]
    counted = dominance_counts(points, of)
    assert counted.tolist() == reference.dominance_counts(points.tolist(), of.tolist())


@pytest.mark.parametrize("columns", [1, 2, 5, 16])
def test_counts_over_many_blocks(columns: int) -> None:
    points = np.random.default_rng(columns).random((3_000, columns))
    points[:, 0] = np.floor(points[:, 0] * 5)
    of = np.arange(0, 3_000, 50)
    expected = [
        int(((points[at] <= points).all(axis=1) & (points[at] < points).any(axis=1)).sum())
        for at in of
    ]
    assert dominance_counts(points, of).tolist() == expected


def test_a_million_equal_points_all_stay() -> None:
    assert len(skyline(np.ones((1_000_000, 5)))) == 1_000_000


@pytest.mark.parametrize("columns", [4, 12])
def test_paretoset_agrees(columns: int) -> None:
    points = np.floor(np.random.default_rng(columns).random((1_500, columns)) * 20)
    expected = paretoset(points, distinct=False, use_numba=False)
    assert skyline(points).tolist() == np.flatnonzero(expected).tolist()


@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_points_whose_sums_are_rounded_to_the_same(dtype: type) -> None:
    # Beside a constant of 1e17 the sums of all points are equal, so the order that a sum gives says
    # nothing about who dominates whom; half of the points follow what they dominate.
    dice = np.random.default_rng(3)
    good = np.floor(dice.dirichlet(np.ones(4), 1_000) * 1e5)
    worse = good.copy()
    worse[np.arange(1_000), dice.integers(0, 4, 1_000)] += 1
    points = np.column_stack([np.full(2_000, 1e17), dice.permutation(np.vstack([good, worse]))])
    expected = reference_mask(points)
    assert (
        skyline(np.ascontiguousarray(points, dtype)).tolist() == np.flatnonzero(expected).tolist()
    )


def reference_mask(points: NDArray[Any]) -> NDArray[np.bool_]:
    return np.array(
        [
            not ((points <= point).all(axis=1) & (points < point).any(axis=1)).any()
            for point in points
        ]
    )
