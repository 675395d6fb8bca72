from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from penstock.preference.growing import GrowingSkyline
from preference import reference
from preference.test_skyline import point_sets


@given(point_sets(most=120), st.lists(st.integers(0, 120), max_size=5))
def test_pieces_come_to_the_skyline_of_all(points: NDArray[Any], cuts: list[int]) -> None:
    growing = GrowingSkyline(points.shape[1])
    held: list[int] = []
    numbers = np.arange(len(points))
    bounds = [0, *sorted(min(cut, len(points)) for cut in cuts), len(points)]
    for start, end in pairwise(bounds):
        still_held, is_new = growing.add(points[start:end])
        kept = [row for row, stays in zip(held, still_held, strict=True) if stays]
        held = kept + numbers[start:end][is_new].tolist()
        assert sorted(held) == reference.skyline(points[:end].tolist())
    assert growing.positions.tolist() == held
    assert growing.points.tolist() == points[held].tolist()


def test_only_the_skyline_is_held() -> None:
    growing = GrowingSkyline(3)
    dice = np.random.default_rng(0)
    for _ in range(20):
        growing.add(dice.random((5_000, 3)))
    assert growing.added == 100_000
    assert len(growing.points) < 1_000
