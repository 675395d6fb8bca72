import numpy as np
import pytest

from penstock.simulation.workloads.burstiness import index_of_dispersion, lag_1_correlation
from penstock.simulation.workloads.map2 import Map2
from penstock.simulation.workloads.poisson import Poisson


def step_counts(workload: Map2 | Poisson) -> np.ndarray:
    return np.array(workload.load().trace.counts, dtype=float)


def test_the_fit_is_the_papers() -> None:
    fitted = Map2(dispersion=1000)
    assert fitted.slows == pytest.approx(0.00090098, abs=5e-9)
    assert fitted.quickens == pytest.approx(0.00360428, abs=5e-9)
    assert fitted.lag_1_correlation == pytest.approx(0.4073, abs=5e-5)


def test_times_between_rows_have_the_rate_and_the_correlation_they_claim() -> None:
    bursty = Map2(rate=10_000, dispersion=1000, seconds=300, seed=5)
    gaps = np.diff(bursty.arrival_seconds())
    assert len(gaps) / 300 == pytest.approx(10_000, rel=0.03)
    assert lag_1_correlation(gaps) == pytest.approx(0.4073, abs=0.01)
    # One state's rows alone would have a squared coefficient of variation of 1.
    assert gaps.var() / gaps.mean() ** 2 == pytest.approx(1 + 2 * 3.0004**2 / 4.0004, rel=0.03)


@pytest.mark.parametrize("dispersion", [30.0, 300.0, 1000.0])
def test_the_index_of_dispersion_is_what_was_asked_for(dispersion: float) -> None:
    # Bursts last some hundred rows; 2 s have 20,000 rows, long against them.
    found = [
        index_of_dispersion(
            step_counts(Map2(rate=10_000, dispersion=dispersion, seconds=200, seed=seed)), 20
        )
        for seed in range(4)
    ]
    assert np.mean(found) == pytest.approx(dispersion, rel=0.2)


def test_without_bursts_it_is_one() -> None:
    rows = step_counts(Poisson(rate=10_000, seconds=1000))
    assert index_of_dispersion(rows) == pytest.approx(1.0, abs=0.06)
    assert index_of_dispersion(rows, 20) == pytest.approx(1.0, abs=0.25)
    assert lag_1_correlation(rows) == pytest.approx(0.0, abs=0.04)


def test_the_load_has_every_row_in_its_step() -> None:
    bursty = Map2(rate=500, dispersion=100, seconds=20, step_seconds=0.5)
    arrivals = bursty.arrival_seconds()
    assert (np.diff(arrivals) >= 0).all()
    assert arrivals[-1] < 20
    expected = np.histogram(arrivals, bins=40, range=(0, 20))[0]
    assert bursty.load().trace.counts == tuple(expected.tolist())
