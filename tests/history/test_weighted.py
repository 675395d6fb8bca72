"""Quantiles of rows that stand for several, beside those of the several."""

from __future__ import annotations

from math import isnan, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.history.weighted import thinned_quantile, weighted_mean

VALUES = st.lists(st.integers(0, 100).map(float), min_size=1, max_size=40)


@given(VALUES, st.floats(0, 1))
def test_of_single_rows_it_is_the_quantile(values: list[float], share: float) -> None:
    each = np.array(values)
    found = thinned_quantile(each, each, np.ones(len(each)), share)
    assert found == pytest.approx(np.quantile(each, share))


@given(VALUES, VALUES, st.floats(0, 1))
def test_of_pairs_it_is_the_quantile_too(
    values: list[float], newest: list[float], share: float
) -> None:
    pairs, single = np.array([*values, *values[::-1]]).reshape(-1, 2), np.array(newest)
    means = np.concatenate((pairs.mean(axis=1), single))
    greatest = np.concatenate((pairs.max(axis=1), single))
    counts = np.concatenate((np.full(len(pairs), 2.0), np.ones(len(single))))
    found = thinned_quantile(means, greatest, counts, share)
    assert found == pytest.approx(np.quantile(np.concatenate((pairs.ravel(), single)), share))


@given(st.lists(st.tuples(st.integers(1, 9), VALUES), min_size=1), st.floats(0, 1))
def test_of_any_rows_it_is_between_the_least_and_the_greatest(
    rows: list[tuple[int, list[float]]], share: float
) -> None:
    means = np.array([np.mean(values) for _, values in rows])
    greatest = np.array([max(values) for _, values in rows])
    counts = np.array([float(len(values)) for _, values in rows])
    every = np.concatenate([values for _, values in rows])
    found = thinned_quantile(means, greatest, counts, share)
    assert every.min() - 1e-9 <= found <= every.max() + 1e-9
    assert thinned_quantile(means, greatest, counts, 1.0) == every.max()


def test_of_what_nobody_knows_there_is_no_quantile_and_no_mean() -> None:
    unknown = np.array([nan, nan])
    assert isnan(thinned_quantile(unknown, unknown, np.ones(2), 0.5))
    assert isnan(weighted_mean(unknown, np.ones(2)))
    assert isnan(weighted_mean(np.empty(0), np.empty(0)))
