import numpy as np
import pytest

from penstock.simulation.workloads.erratic import Erratic
from penstock.simulation.workloads.progressive import Progressive


def counts(workload: Progressive | Erratic) -> np.ndarray:
    return np.array(workload.load().trace.counts, dtype=float)


def test_progressive_rises_and_falls_along_a_straight_line() -> None:
    #     rows/s
    # 1000         ________
    #             /        \
    #  200 ______/          \______
    #      0   150  400  600  850  1000 s
    rows = counts(Progressive(low=200, high=1000, seconds=1000))
    seconds = np.arange(1000) + 0.5
    up, down = slice(150, 400), slice(600, 850)
    assert np.polyfit(seconds[up], rows[up], 1)[0] == pytest.approx(800 / 250, rel=0.03)
    assert np.polyfit(seconds[down], rows[down], 1)[0] == pytest.approx(-800 / 250, rel=0.03)
    assert rows[400:600].mean() == pytest.approx(1000, rel=0.01)
    assert rows[:150].mean() == pytest.approx(200, rel=0.02)
    assert rows[850:].mean() == pytest.approx(200, rel=0.02)


def test_rows_scatter_around_the_rate_as_independent_ones_do() -> None:
    plateau = counts(Progressive(low=200, high=1000, seconds=10_000))[4000:6000]
    assert plateau.var() / plateau.mean() == pytest.approx(1.0, abs=0.12)


def test_erratic_has_two_brief_peaks_and_one_that_lasts() -> None:
    rows = counts(Erratic(low=200, high=1000, seconds=1000))
    edges = np.flatnonzero(np.diff((rows > 700).astype(int)))
    began, ended = edges[::2], edges[1::2]
    assert len(began) == len(ended) == 3
    lengths = ended - began
    assert max(lengths[:2]) < 60
    assert lengths[2] > 180
    # A change takes ten seconds of the thousand: the steepest slope is 80 rows/s each second.
    assert rows[130:180].mean() == pytest.approx(1000, rel=0.02)
    assert rows[660:860].mean() == pytest.approx(200 + 0.8 * 800, rel=0.02)
    assert rows[10:110].mean() == pytest.approx(200, rel=0.02)


def test_erratic_is_more_sudden_than_progressive() -> None:
    def steepest(rows: np.ndarray) -> float:
        means = rows.reshape(-1, 10).mean(axis=1)
        return float(np.abs(np.diff(means)).max())

    settings = {"low": 200, "high": 1000, "seconds": 1000}
    assert steepest(counts(Erratic(**settings))) > 5 * steepest(counts(Progressive(**settings)))
