from __future__ import annotations

import numpy as np
import pytest

from penstock.errors import ConfigurationError
from penstock.sources import ExponentialDelay, NoDelay, UniformDelay

GRID = (np.arange(100_000) + 0.5) / 100_000


def test_uniform_delays_are_even_from_zero_to_the_maximum() -> None:
    micros = UniformDelay(max_seconds=10).draw_micros(GRID)
    assert np.abs(micros - np.arange(50, 10_000_000, 100)).max() <= 1


def test_exponential_delays_follow_the_law() -> None:
    micros = ExponentialDelay(mean_seconds=2).draw_micros(GRID)
    # The share above t is exp(-t / mean), within a row of the grid.
    for seconds in (0.1, 1.0, 2.0, 8.0):
        share = (micros >= seconds * 1e6).mean()
        assert abs(share - np.exp(-seconds / 2)) <= 1.01e-5
    assert micros.min() >= 0


@pytest.mark.parametrize("late", [UniformDelay(10, fraction=0.2), ExponentialDelay(10, 0.2)])
def test_only_the_fraction_is_late_and_with_the_whole_law(
    late: UniformDelay | ExponentialDelay,
) -> None:
    micros = late.draw_micros(GRID)
    assert (micros[20_000:] == 0).all()
    assert (micros[:20_000] > 0).all()
    whole = type(late)(10).draw_micros((np.arange(20_000) + 0.5) / 20_000)
    np.testing.assert_allclose(micros[:20_000], whole, atol=1, rtol=1e-9)


def test_no_delay_is_none() -> None:
    assert not NoDelay().draw_micros(GRID).any()


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf"), 1e12])
def test_wrong_delays_are_refused(seconds: float) -> None:
    with pytest.raises(ConfigurationError, match="max_seconds"):
        UniformDelay(seconds)
    with pytest.raises(ConfigurationError, match="mean_seconds"):
        ExponentialDelay(seconds)


@pytest.mark.parametrize("fraction", [0.0, -0.1, 1.1, float("nan")])
def test_wrong_fractions_are_refused(fraction: float) -> None:
    with pytest.raises(ConfigurationError, match="fraction"):
        UniformDelay(1, fraction)
    with pytest.raises(ConfigurationError, match="fraction"):
        ExponentialDelay(1, fraction)
