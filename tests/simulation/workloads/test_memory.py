import numpy as np
import pytest

from penstock.errors import ConfigurationError
from penstock.simulation.workloads.burstiness import (
    hurst_by_spectrum,
    hurst_by_variance,
    lag_1_correlation,
    peak_to_mean,
)
from penstock.simulation.workloads.random_walk import RandomWalk
from penstock.simulation.workloads.self_similar import SelfSimilar, fractional_noise


@pytest.mark.parametrize("hurst", [0.5, 0.75, 0.9])
def test_the_noise_has_the_covariance_of_its_hurst_parameter(hurst: float) -> None:
    rng = np.random.default_rng(1)
    noises = np.array([fractional_noise(64, hurst, rng) for _ in range(4_000)])
    for lag in (0, 1, 10):
        expected = (
            abs(lag + 1) ** (2 * hurst) - 2 * lag ** (2 * hurst) + abs(lag - 1) ** (2 * hurst)
        ) / 2
        assert np.mean(noises[:, 20] * noises[:, 20 + lag]) == pytest.approx(expected, abs=0.07)
    # What makes it self-similar: the sum of n steps has the variance n^2H.
    assert noises.sum(axis=1).var() == pytest.approx(64 ** (2 * hurst), rel=0.1)


@pytest.mark.parametrize("hurst", [0.5, 0.6, 0.75, 0.9])
def test_two_estimators_find_the_hurst_parameter_in_the_rows(hurst: float) -> None:
    loads = [SelfSimilar(rate=10_000, hurst=hurst, seconds=3277, seed=seed) for seed in range(3)]
    rows = [np.array(each.load().trace.counts, dtype=float) for each in loads]
    by_spectrum = np.mean([hurst_by_spectrum(each) for each in rows])
    by_variance = np.mean([hurst_by_variance(each) for each in rows])
    assert by_spectrum == pytest.approx(hurst, abs=0.03)
    # The mean of a finite stream wanders with it: variances fall short where memory is long.
    assert by_variance == pytest.approx(hurst, abs=0.05 if hurst < 0.9 else 0.1)


def test_heavy_tails_alone_have_no_memory() -> None:
    # Independent Pareto draws are what passes for self-similar traffic; the estimators tell.
    draws = np.random.default_rng(0).pareto(2.2, 32_768) + 1
    assert hurst_by_spectrum(draws) == pytest.approx(0.5, abs=0.05)
    assert hurst_by_variance(draws) == pytest.approx(0.5, abs=0.07)


def test_rates_vary_as_much_as_asked() -> None:
    rates = SelfSimilar(rate=1000, hurst=0.5, variation=0.4, seconds=3000).rates()
    assert rates.mean() == pytest.approx(1000, rel=0.02)
    assert rates.std() / rates.mean() == pytest.approx(0.4, rel=0.05)


def test_too_short_a_stream_tells_no_hurst_parameter() -> None:
    with pytest.raises(ConfigurationError, match=r"100 steps are too few.*512 or more"):
        hurst_by_variance(np.ones(100))


@pytest.mark.parametrize("volatility", [0.1, 0.4])
def test_the_walk_has_the_volatility_it_claims(volatility: float) -> None:
    walk = RandomWalk(rate=1000, volatility=volatility, every_seconds=5, seconds=10_000)
    changes = np.diff(np.log(walk.rates()))
    assert changes.std() == pytest.approx(volatility, rel=0.05)
    assert changes.mean() == pytest.approx(0.0, abs=4 * volatility / np.sqrt(len(changes)))
    assert lag_1_correlation(changes) == pytest.approx(0.0, abs=0.08)


def test_the_walks_rows_follow_its_rates() -> None:
    walk = RandomWalk(rate=10_000, every_seconds=5, seconds=300, seed=2)
    rows = np.array(walk.load().trace.counts, dtype=float).reshape(-1, 5).mean(axis=1)
    assert rows == pytest.approx(walk.rates(), rel=0.1)
    assert rows.mean() == pytest.approx(10_000, rel=0.01)
    assert peak_to_mean(rows) > 1.5
