from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import ConfigurationError
from penstock.sources import UniformKeys, ZipfKeys
from penstock.sources.draws import uniform

LAST_DRAW = 1 - 2.0**-53


@given(n=st.integers(1, 300), s=st.floats(0, 4))
def test_zipf_probabilities_are_proportional_to_the_power_of_the_rank(n: int, s: float) -> None:
    weights = [1 / rank**s for rank in range(1, n + 1)]
    exact = [weight / sum(weights) for weight in weights]
    np.testing.assert_allclose(ZipfKeys(n, s).probabilities(), exact, rtol=1e-9)


@given(n=st.integers(1, 300), s=st.floats(0, 4))
def test_zipf_draws_meet_the_probabilities_on_an_even_grid(n: int, s: float) -> None:
    """An even grid of draws gives every key its share of the grid, give or take one."""
    grid = (np.arange(20_000) + 0.5) / 20_000
    keys = ZipfKeys(n, s)
    counts = np.bincount(keys.draw(grid), minlength=n)
    assert len(counts) == n
    assert np.abs(counts - 20_000 * keys.probabilities()).max() <= 1 + 1e-6


def test_a_draw_on_the_edge_belongs_to_the_next_key() -> None:
    assert ZipfKeys(4, s=0.0).draw(np.array([0.0, 0.25, 0.5, 0.75])).tolist() == [0, 1, 2, 3]


def test_zipf_keys_of_rows_pass_a_chi_square_test() -> None:
    keys, rows = ZipfKeys(100, 1.0), 200_000
    counts = np.bincount(keys.draw(uniform(np.arange(rows), seed=3, stream=0)), minlength=100)
    expected = rows * keys.probabilities()
    chi_square = ((counts - expected) ** 2 / expected).sum()
    assert 61 < chi_square < 149  # 99 degrees of freedom, one in a thousand on either side


@given(n=st.integers(1, 2**53))
def test_uniform_keys_cover_their_range_and_no_more(n: int) -> None:
    keys = UniformKeys(n).draw(np.array([0.0, LAST_DRAW]))
    assert keys[0] == 0
    assert keys[1] == n - 1 if n < 2**52 else n - 2 <= keys[1] <= n - 1


def test_uniform_keys_share_an_even_grid_equally() -> None:
    grid = (np.arange(7_000) + 0.5) / 7_000
    assert np.bincount(UniformKeys(7).draw(grid)).tolist() == [1_000] * 7


@given(n=st.integers(1, 1_000), s=st.floats(0, 6))
def test_the_highest_draw_is_still_a_key(n: int, s: float) -> None:
    assert ZipfKeys(n, s).draw(np.array([LAST_DRAW]))[0] < n


@pytest.mark.parametrize("n", [0, -1, 2.5, True, "9", 2**53 + 1])
def test_a_wrong_number_of_keys_is_refused(n: Any) -> None:
    with pytest.raises(ConfigurationError, match="number of keys n is"):
        UniformKeys(n)
    with pytest.raises(ConfigurationError, match="number of keys n is"):
        ZipfKeys(n)


@pytest.mark.parametrize("s", [-0.1, float("nan"), float("inf")])
def test_a_wrong_exponent_is_refused(s: float) -> None:
    with pytest.raises(ConfigurationError, match="exponent"):
        ZipfKeys(10, s)
