"""The forecaster on shapes it should know, and on samples that nobody wants."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from math import isfinite
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.elasticity.forecast import Forecast, Forecaster
from penstock.errors import ConfigurationError

Shape = Callable[[int], float]


def learnt(rates: Iterable[float], **options: Any) -> Forecaster:
    forecaster = Forecaster(**options)
    for second, rate in enumerate(rates):
        forecaster.observe(float(second), float(rate))
    return forecaster


def waves(second: int) -> float:
    return 1_000 + 600 * float(np.sin(2 * np.pi * second / 120))


@pytest.mark.parametrize(
    ("model", "shape", "seconds"),
    [
        ("linear", lambda t: 1_000 + 10.0 * t, 120),
        ("exponential", lambda t: 100 * 1.02**t, 120),
        ("seasonal", waves, 600),
        ("last value", lambda t: 500.0, 120),
    ],
)
def test_a_shape_is_known_and_goes_on(model: str, shape: Shape, seconds: int) -> None:
    forecast = learnt(map(shape, range(seconds))).forecast(30.0)
    coming = np.mean([shape(t) for t in range(seconds, seconds + 30)])
    assert forecast.model == model
    assert forecast.rate == pytest.approx(coming, rel=0.05)
    assert forecast.low <= coming <= forecast.high * 1.01


def test_noise_is_not_followed() -> None:
    dice = np.random.default_rng(7)
    forecaster, errors, naive = Forecaster(), [], []
    for second, rate in enumerate(dice.poisson(100, 400)):
        forecaster.observe(float(second), float(rate))
        if second > 60:
            errors.append(abs(forecaster.forecast(30.0).rate - 100))
            naive.append(abs(rate - 100))
    assert np.mean(errors) < 0.5 * np.mean(naive)


def test_a_ramp_after_a_long_steady_time_is_foreseen_within_seconds() -> None:
    """In steady noise the mean is the best forecast; it must not be held on to.

    ::

         rate                ___
                            /
                           /  5 rows/s more each second
         100 _____________/
                        300   315
    """
    foreseen, last = [], []
    for seed in range(6):
        dice = np.random.default_rng(seed)
        expected = [100.0] * 300 + [100.0 + 5 * more for more in range(16)]
        rates = dice.poisson(expected)
        forecaster = learnt(rates)
        foreseen.append(forecaster.forecast(30.0).rate)
        last.append(rates[-1])
    coming = 175 + 5 * 15.5
    assert np.mean(foreseen) > 0.8 * coming
    assert np.mean(foreseen) > 1.1 * np.mean(last)


def test_a_given_period_is_used_after_the_first_time() -> None:
    forecaster = learnt(map(waves, range(200)), period_seconds=120.0)
    assert forecaster.period_seconds == 120.0
    assert "seasonal" in forecaster.save()["next"]
    assert "seasonal" not in learnt(map(waves, range(200))).save()["next"]


def test_every_model_can_be_asked() -> None:
    forecaster = learnt(1_000 + 10.0 * t for t in range(60))
    forecast = forecaster.forecast(30.0)
    by_model = forecaster.by_model()
    assert set(by_model) == {"linear", "logarithmic", "exponential", "damped trend", "last value"}
    assert by_model["linear"] == pytest.approx(1_000 + 10 * (59 + 15.5))
    assert by_model["last value"] == 1_590
    assert min(by_model.values()) <= forecast.rate <= max(by_model.values())


def test_nothing_is_known_before_the_first_sample() -> None:
    assert Forecaster().forecast(30.0) == Forecast(0.0, 0.0, 0.0, 0.0, "last value", 30.0)
    assert Forecaster().forecast().growth is None


def test_a_sample_averaged_with_the_last_is_forecast_too() -> None:
    forecaster = Forecaster()
    forecaster.observe(0.0, 4.0)
    assert forecaster.forecast().rate == 4.0
    forecaster.observe(0.5, 2.0)  # sooner than samples are kept apart
    assert forecaster.forecast().rate == 3.0


@pytest.mark.parametrize("samples", [1, 2, 3])
def test_few_samples_are_taken_as_they_are(samples: int) -> None:
    forecast = learnt([40.0, 50.0, 60.0][:samples]).forecast(30.0)
    assert (forecast.rate, forecast.model) == ([40.0, 50.0, 60.0][samples - 1], "last value")


@pytest.mark.parametrize("wild", [100.0, 0.0, 0.01])
def test_one_wild_sample_hardly_moves_the_forecast(wild: float) -> None:
    dice = np.random.default_rng(9)
    rates = dice.normal(1_000, 30, 100)
    usual = learnt(rates).forecast(30.0).rate
    odd = learnt([*rates, 1_000 * wild])
    assert odd.forecast(30.0).rate == pytest.approx(usual, rel=0.02)
    odd.observe(101.0, 1_000.0)
    assert odd.forecast(30.0).rate == pytest.approx(usual, rel=0.05)


def test_two_wild_samples_are_believed() -> None:
    dice = np.random.default_rng(9)
    forecaster = learnt([*dice.normal(1_000, 30, 100), 10_000.0, 10_000.0, 10_000.0])
    assert forecaster.forecast(30.0).rate > 5_000


def test_irregular_times_and_gaps_do_not_bend_a_line() -> None:
    dice, forecaster, second = np.random.default_rng(10), Forecaster(), 0.0
    for _ in range(80):
        second += float(dice.choice([0.7, 1.0, 1.6, 6.0]))
        forecaster.observe(second, 500 + 4 * second)
    assert forecaster.forecast(20.0).rate == pytest.approx(500 + 4 * (second + 10), rel=0.03)


def test_forecasts_from_before_a_gap_are_not_held_against_a_model() -> None:
    forecaster = learnt(1_000 + 10.0 * t for t in range(60))
    before = forecaster.save()
    forecaster.observe(75.0, 500.0)
    after = forecaster.save()
    for scores in ("one_step", "whole_horizon"):
        assert after[scores] == before[scores]
    forecaster.observe(76.0, 500.0)
    assert forecaster.save()["one_step"] != before["one_step"]


def test_a_falling_rate_never_goes_below_zero() -> None:
    forecast = learnt(max(0.0, 1_000 - 20.0 * t) for t in range(48)).forecast(60.0)
    assert forecast.low == 0.0
    assert 0.0 <= forecast.rate < 60.0


def test_no_forecast_exceeds_the_limit() -> None:
    forecast = learnt((100 * 1.1**t for t in range(40)), limit=3_000.0).forecast(60.0)
    assert forecast.rate <= forecast.high <= 3_000.0
    assert forecast.now <= 3_000.0


def test_no_forecast_exceeds_four_times_the_largest_rate() -> None:
    rates = [100 * 1.3**t for t in range(20)]
    forecast = learnt(rates).forecast(600.0)
    assert max(rates) < forecast.rate <= forecast.high <= 4 * max(rates)


def test_the_band_holds_nine_times_in_ten() -> None:
    dice = np.random.default_rng(11)
    rates = [waves(t) + dice.normal(0, 60) for t in range(900)]
    forecaster, within = Forecaster(), []
    for second, rate in enumerate(rates[:-30]):
        forecaster.observe(float(second), float(rate))
        if second > 300:
            forecast = forecaster.forecast(30.0)
            within.append(forecast.low <= np.mean(rates[second + 1 : second + 31]) <= forecast.high)
    assert np.mean(within) > 0.85


samples = st.lists(
    st.tuples(
        st.floats(-1e9, 2e9) | st.integers(0, 500).map(float),
        st.floats(0, 1e6) | st.floats() | st.sampled_from([0.0, 1.0, 1e15]),
    ),
    max_size=60,
)


@settings(max_examples=60)
@given(samples, st.floats(0.01, 1e5), st.none() | st.floats(1, 1e6), st.none() | st.floats(1, 1e9))
def test_whatever_comes_the_forecast_is_a_rate_within_its_bounds(
    seen: list[tuple[float, float]],
    horizon: float,
    period: float | None,
    limit: float | None,
) -> None:
    forecaster = Forecaster(period_seconds=period, limit=limit)
    for at_seconds, rate in seen:
        forecaster.observe(at_seconds, rate)
        forecast = forecaster.forecast(horizon)
        numbers = (forecast.rate, forecast.low, forecast.high, forecast.now)
        assert all(isfinite(number) and number >= 0 for number in numbers)
        assert forecast.low <= forecast.rate <= forecast.high
        assert limit is None or max(numbers) <= limit
    json.dumps(forecaster.save(), allow_nan=False)


@settings(max_examples=30)
@given(
    st.lists(st.floats(0, 1e4), min_size=5, max_size=80),
    st.integers(0, 80),
    st.floats(0.5, 100),
)
def test_what_was_saved_goes_on_as_before(rates: list[float], cut: int, horizon: float) -> None:
    whole, first, second = Forecaster(), Forecaster(), Forecaster()
    for at, rate in enumerate(rates):
        if at == cut:
            second.load(json.loads(json.dumps(first.save(), allow_nan=False)))
        for forecaster in (whole, first if at < cut else second):
            forecaster.observe(float(at), rate)
            last = forecaster.forecast(horizon)
        assert last == whole.forecast(horizon)


@pytest.mark.parametrize("damage", [{"samples": {}}, {"trend": [1]}, {"made": [[1]]}])
def test_a_state_of_another_kind_is_refused_and_changes_nothing(damage: dict[str, object]) -> None:
    forecaster = learnt(map(waves, range(50)))
    before = forecaster.save()
    for state in ({}, before | damage):
        with pytest.raises(ValueError, match="no saved forecaster"):
            forecaster.load(state)
    assert forecaster.save() == before


def test_a_state_keeps_the_options_of_the_one_that_loads_it() -> None:
    forecaster = Forecaster(limit=10.0, period_seconds=7.0)
    forecaster.load(learnt(map(waves, range(50))).save())
    assert forecaster.forecast(30.0).rate == 10.0
    assert forecaster.period_seconds == 7.0


@pytest.mark.parametrize("option", ["window_seconds", "period_seconds", "limit", "horizon_seconds"])
@pytest.mark.parametrize("number", [0.0, -1.0, float("nan"), float("inf")])
def test_options_that_cannot_work_are_refused(option: str, number: float) -> None:
    with pytest.raises(ConfigurationError, match=rf"Give {option} as a number over 0"):
        Forecaster(**{option: number})  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="horizon_seconds"):
        Forecaster().forecast(number)
