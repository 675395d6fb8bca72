"""Each model on the shape it is for, and on what it can't know."""

from __future__ import annotations

import json

import numpy as np
import pytest

from penstock.elasticity.forecast import (
    DampedTrend,
    best_regression,
    exponential,
    find_period,
    linear,
    logarithmic,
)
from penstock.elasticity.forecast.curve import Floats
from penstock.elasticity.forecast.departures import Departures
from penstock.elasticity.forecast.history import MOST_BUCKETS, History
from penstock.elasticity.forecast.scores import Scores
from penstock.elasticity.forecast.seasonal import Seasons

SECONDS = np.arange(1.0, 31.0)
SHAPES = {
    "linear": 50 + 3 * SECONDS,
    "logarithmic": 50 + 30 * np.log(SECONDS),
    "exponential": 50 * np.exp(0.05 * SECONDS),
}


@pytest.mark.parametrize("model", [linear, logarithmic, exponential])
def test_a_regression_goes_on_as_its_shape_does(model: object) -> None:
    name = model.__name__  # type: ignore[attr-defined]
    curve = model(SECONDS, SHAPES[name])  # type: ignore[operator]
    assert curve.squared_error == pytest.approx(0.0, abs=1e-9)
    further = {
        "linear": 50 + 3 * 60.0,
        "logarithmic": 50 + 30 * np.log(60.0),
        "exponential": 50 * np.exp(0.05 * 60.0),
    }
    assert curve.rate_at(60.0) == pytest.approx(further[name])


@pytest.mark.parametrize(("shape", "rates"), SHAPES.items())
def test_the_best_regression_is_that_of_the_shape(shape: str, rates: Floats) -> None:
    assert best_regression(SECONDS, rates).model == shape


def test_the_fit_is_judged_on_the_scale_of_the_rates() -> None:
    """On logarithms the exponential fits better here; in rows per second it is a hundred off."""
    rates = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 500.0, 510.0, 520.0, 530.0, 540.0])
    seconds = np.arange(1.0, 11.0)
    curves = {fit.__name__: fit(seconds, rates) for fit in (linear, logarithmic, exponential)}
    errors = {
        name: sum((curve.rate_at(x) - y) ** 2 for x, y in zip(seconds, rates, strict=True))
        for name, curve in curves.items()
    }
    assert best_regression(seconds, rates).model == min(errors, key=errors.__getitem__)
    assert {name: curve.squared_error for name, curve in curves.items()} == pytest.approx(errors)


@pytest.mark.parametrize("rates", [[0.0] * 5, [0.0, 0.0, 5.0, 0.0, 0.0], [1e-300] * 5, [7.0] * 5])
def test_zeros_and_constants_are_no_trouble(rates: list[float]) -> None:
    for fit in (linear, logarithmic, exponential):
        curve = fit(np.arange(1.0, 6.0), np.array(rates))
        assert np.isfinite([curve.rate_at(1e6), curve.squared_error]).all()


@pytest.mark.filterwarnings("error")
def test_a_fit_that_is_too_far_off_for_numbers_is_no_trouble() -> None:
    seconds = np.array([0.0012, 8.78, 742.8, 3_462.4, 30_100.8])
    curve = exponential(seconds, np.array([1e6, 1.0, 1e12, 0.0, 100.0]))
    assert curve.squared_error > 1e300
    assert best_regression(seconds, np.array([1e6, 1.0, 1e12, 0.0, 100.0])).model != "exponential"


def test_zeros_weigh_nothing_in_an_exponential_fit() -> None:
    rates = 50 * np.exp(0.05 * SECONDS)
    rates[::3] = 0.0
    assert exponential(SECONDS, rates).rate_at(60.0) == pytest.approx(50 * np.exp(3.0))


def test_a_damped_trend_follows_a_line_and_then_levels_off() -> None:
    trend = DampedTrend()
    for second in range(60):
        trend.observe(100.0 + 5 * second, steps=1.0)
    assert trend.ahead(1.0) == pytest.approx(400.0, rel=0.02)
    assert trend.ahead(10.0) > trend.ahead(1.0) + 20
    assert trend.ahead(1e6) - trend.ahead(1e3) < 1.0


def test_a_damped_trend_smooths_what_only_shakes() -> None:
    trend, dice = DampedTrend(), np.random.default_rng(1)
    for _ in range(200):
        trend.observe(100.0 + float(dice.normal(0, 20)), steps=1.0)
    assert trend.ahead(5.0) == pytest.approx(100.0, abs=10)


def test_a_damped_trend_takes_up_a_ramp_after_steady_noise() -> None:
    trend, dice = DampedTrend(), np.random.default_rng(6)
    for second in range(315):
        trend.observe(100.0 + 5 * max(0, second - 300) + float(dice.normal(0, 10)), steps=1.0)
    assert trend.ahead(10.0) > 0.85 * (100 + 5 * 24)


def test_a_damped_trend_gives_more_to_a_sample_after_a_gap() -> None:
    near, far = DampedTrend(), DampedTrend()
    for trend, steps in ((near, 1.0), (far, 10.0)):
        for _ in range(50):
            trend.observe(100.0, steps=1.0)
        trend.observe(200.0, steps=steps)
    assert near.ahead(0.0) < far.ahead(0.0) <= 200.0


@pytest.mark.parametrize("period", [8, 20, 33.3, 90])
@pytest.mark.parametrize("noise", [0.0, 15.0])
def test_a_period_is_found(period: float, noise: float) -> None:
    time = np.arange(240)
    rates = 100 + 50 * np.sin(2 * np.pi * time / period) + 0.5 * time
    rates += np.random.default_rng(2).normal(0, noise, len(time))
    assert find_period(rates) == pytest.approx(period, rel=0.05)


def test_pulses_are_a_period_too() -> None:
    rates = np.where(np.arange(300) % 50 < 10, 500.0, 100.0)
    assert find_period(rates) == pytest.approx(50, rel=0.02)


@pytest.mark.parametrize(
    "rates",
    [
        np.zeros(100),
        np.full(100, 7.0),
        3.0 * np.arange(100),
        np.random.default_rng(3).normal(100, 10, 300),
        100 + 50 * np.sin(2 * np.pi * np.arange(100) / 60),  # seen not even twice
        np.arange(10) % 5,
    ],
    ids=["zeros", "constant", "line", "noise", "not twice", "too short"],
)
def test_no_period_is_found_where_none_is(rates: Floats) -> None:
    assert find_period(rates.astype(float)) is None


def test_seasons_are_found_and_come_again_at_the_level_of_today() -> None:
    seasons = Seasons()
    for second in range(300):
        # every day 100 more than the day before
        rate = 1_000 + 300 * np.sin(2 * np.pi * second / 100) + second
        seasons.observe(float(second), float(rate), step_seconds=1.0)
    assert seasons.period_seconds == pytest.approx(100, rel=0.03)
    ahead = seasons.follow()
    assert ahead is not None
    assert ahead(25.0) == pytest.approx(1_000 + 300 + 324, rel=0.02)
    assert ahead(75.0) == pytest.approx(1_000 - 300 + 374, rel=0.04)


def test_seasons_need_a_period_and_a_past() -> None:
    assert Seasons().follow() is None
    young = Seasons(period_seconds=100.0)
    for second in range(50):
        young.observe(float(second), 5.0, step_seconds=1.0)
    assert young.follow() is None


def test_history_joins_buckets_to_see_further() -> None:
    history = History(1.0)
    for second in range(10 * MOST_BUCKETS):
        history.add(float(second), float(second))
    assert history.width_seconds == 16.0
    assert len(history.rates) <= MOST_BUCKETS
    assert history.rate_at(1_000.0) == pytest.approx(1_000.0, abs=2)


def test_history_forgets_the_oldest_where_buckets_must_stay_short() -> None:
    history = History(1.0)
    for second in range(2 * MOST_BUCKETS):
        history.add(float(second), float(second), longest_seconds=1.0)
    assert history.width_seconds == 1.0
    assert history.start_seconds == MOST_BUCKETS
    assert history.rate_at(10.0) is None
    assert history.rate_at(2 * MOST_BUCKETS - 10.0) == pytest.approx(758, abs=1)


def test_history_knows_its_gaps() -> None:
    history = History(1.0)
    for second in [*range(20), *range(40, 60)]:
        history.add(float(second), 5.0)
    assert history.rate_at(30.0) is None
    assert history.filled().tolist() == [5.0] * 60
    history.add(1e9, 7.0)
    assert history.rates == [7.0]


def test_scores_compare_each_model_with_the_last_value_on_the_same_rates() -> None:
    """A model that came late, in a hard time, is not behind those that saw easy times too."""
    scores = Scores()
    for _ in range(20):
        scores.compare({"linear": 99.0, "last value": 98.0}, 100.0)
    for _ in range(4):
        scores.compare({"linear": 60.0, "seasonal": 95.0, "last value": 50.0}, 100.0)
    assert scores.skill("seasonal") == pytest.approx(0.1)
    weights = scores.weights(["linear", "seasonal", "last value"])
    assert max(weights, key=weights.__getitem__) == "seasonal"


def test_in_doubt_the_last_value_weighs_more() -> None:
    scores = Scores()
    for _ in range(10):
        scores.compare({"linear": 98.0, "last value": 98.0}, 100.0)
    weights = scores.weights(["linear", "last value"])
    assert weights["last value"] > 2 * weights["linear"]
    assert sum(weights.values()) == pytest.approx(1.0)


def test_a_model_never_compared_weighs_nothing() -> None:
    assert Scores().weights(["linear", "last value"]) == {"last value": 1.0}


def test_errors_to_both_sides_are_no_departure_and_to_one_side_are() -> None:
    both, one = Departures(), Departures()
    for second in range(100):
        both.observe({"m": 100.0}, 100.0 + (2.5 if second % 2 else -2.5), {"m": 2.0})
    for _ in range(8):
        one.observe({"m": 100.0}, 103.0, {"m": 2.0})
    assert not both.has_departed("m")
    assert one.has_departed("m")


def test_a_single_error_is_no_departure_and_a_model_comes_back() -> None:
    departures = Departures()
    departures.observe({"m": 100.0}, 1e9, {"m": 2.0})
    assert not departures.has_departed("m")
    departures.observe({"m": 100.0}, 1e9, {"m": 2.0})
    assert departures.has_departed("m")
    for _ in range(5):
        departures.observe({"m": 100.0}, 100.0, {"m": 2.0})
    assert not departures.has_departed("m")


def test_learners_go_on_from_what_they_saved() -> None:
    trend, seasons = DampedTrend(), Seasons(period_seconds=30.0)
    assert DampedTrend.saved(trend.save()).save() == trend.save()
    for second in range(100):
        trend.observe(float(second % 30), steps=1.0)
        seasons.observe(float(second), float(second % 30), step_seconds=1.0)
    again = Seasons(period_seconds=30.0)
    again.load(json.loads(json.dumps(seasons.save())))
    one, other = seasons.follow(), again.follow()
    assert one is not None
    assert other is not None
    assert one(12.0) == other(12.0)
    assert DampedTrend.saved(json.loads(json.dumps(trend.save()))).ahead(3.0) == trend.ahead(3.0)
