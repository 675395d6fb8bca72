"""Forecasts a rate with the model that has been least off lately."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

from penstock.elasticity.forecast.curve import Curve
from penstock.elasticity.forecast.damped_trend import DampedTrend
from penstock.elasticity.forecast.departures import Departures
from penstock.elasticity.forecast.forecast import Forecast
from penstock.elasticity.forecast.regression import regressions
from penstock.elasticity.forecast.samples import Sample, Samples
from penstock.elasticity.forecast.scores import LAST_VALUE, Scores
from penstock.elasticity.forecast.seasonal import Seasons
from penstock.errors import ConfigurationError

# Nothing is expected to exceed the largest rate seen by more than this factor.
MOST_GROWTH = 4.0
FEWEST_SAMPLES = 4
# Points at which a model is asked to get the mean over a horizon.
POINTS = 8
# Nine times in ten an error is within this many mean absolute errors: 2.1 if errors are normal, 2.3
# if they have Laplace's longer tails, and the mean is itself estimated.
BAND = 2.5
# A sample so many usual steps after the last comes after a gap.
GAP_STEPS = 4.0
# Forecasts are compared with what came at this part of the horizon.
COMPARED_EVERY = 0.25

# The name under which what was really forecast is compared.
OURS = "forecast"

Model = Callable[[float], float]


@dataclass(slots=True)
class _Made:
    """Forecasts made at one time, and the rates that came since."""

    until_seconds: float
    expected: dict[str, float]
    total: float = 0.0
    count: int = 0


class Forecaster:
    """Learns a rate sample by sample and forecasts it with the model that was least off lately.

    Linear, logarithmic and exponential regression over the last ``window_seconds`` (AutoScale+), a
    damped trend, the season before where there is a period, and the last value are followed side
    by side. The period is ``period_seconds``, or found where the rate repeated itself twice.

    No forecast is negative, over ``limit``, or over four times the largest rate seen. One wild
    sample is not believed, two in a row are; see ``Samples``.

    >>> forecaster = Forecaster()
    >>> for second in range(60):
    ...     forecaster.observe(float(second), 1_000.0 + 10 * second)
    >>> forecast = forecaster.forecast(30.0)
    >>> forecast.model, round(forecast.rate), round(forecast.growth, 2)
    ('linear', 1745, 0.1)
    """

    def __init__(
        self,
        window_seconds: float = 60.0,
        *,
        period_seconds: float | None = None,
        limit: float | None = None,
        horizon_seconds: float = 30.0,
    ) -> None:
        _check(window_seconds, "window_seconds")
        _check(horizon_seconds, "horizon_seconds")
        if period_seconds is not None:
            _check(period_seconds, "period_seconds")
        if limit is not None:
            _check(limit, "limit")
        self._limit = inf if limit is None else limit
        self._given_period = period_seconds
        self._samples = Samples(window_seconds)
        self._trend = DampedTrend()
        self._seasons = Seasons(period_seconds)
        self._largest = 0.0
        self._horizon = horizon_seconds
        self._made: list[_Made] = []
        self._next: dict[str, float] = {}
        self._one_step, self._whole_horizon = Scores(), Scores()
        self._departures = Departures()
        self._models: dict[str, Model] | None = None

    @property
    def period_seconds(self) -> float | None:
        """The period that was given or found."""
        return self._seasons.period_seconds

    def observe(self, at_seconds: float, rate: float) -> None:
        """Take in the rate of the time up to ``at_seconds``, in rows per second."""
        believed = self._samples.add(at_seconds, rate)
        for sample in believed:
            self._compare(sample)
            self._learn(sample)
        self._models = None  # also where it was averaged with the last, and is none of its own
        if believed:
            self._foresee()

    def forecast(self, horizon_seconds: float | None = None) -> Forecast:
        """Return the mean rate expected from the last sample until ``horizon_seconds`` later.

        Models are compared at the horizon that was asked for last.
        """
        if horizon_seconds is not None:
            _check(horizon_seconds, "horizon_seconds")
            self._horizon = horizon_seconds
        now = self._samples.now
        models, scores = self._followed(), self._scores
        weights = self._weights(scores)
        rate = sum(weight * self._mean_ahead(models[name]) for name, weight in weights.items())
        rate = min(rate, self._most)
        off = BAND * (scores.error(OURS) or 0.0)
        if any(map(self._departures.has_departed, models)):
            # Errors so far were of another time.
            off = max(off, abs(rate - now))
        return Forecast(
            rate=rate,
            low=max(0.0, rate - off),
            high=max(rate, min(rate + off, self._most)),
            now=min(now, self._limit),
            model=max(weights, key=weights.__getitem__),
            horizon_seconds=self._horizon,
        )

    def by_model(self) -> dict[str, float]:
        """Return what each model by itself expects over the horizon that was asked for last."""
        return {name: self._mean_ahead(model) for name, model in self._followed().items()}

    @property
    def _scores(self) -> Scores:
        return self._whole_horizon if self._whole_horizon.are_enough else self._one_step

    def _weights(self, scores: Scores) -> dict[str, float]:
        followed = self._followed()
        return scores.weights(m for m in followed if not self._departures.has_departed(m))

    @property
    def _most(self) -> float:
        return min(self._limit, MOST_GROWTH * self._largest)

    def _compare(self, sample: Sample) -> None:
        if sample.steps > GAP_STEPS:
            # Nobody knows what came in between.
            self._made, self._next = [], {}
        if self._next:
            usual = self._one_step.errors()
            # A model that is exact must not be dropped for errors that the last value has anyway.
            usual = {model: max(error, usual[LAST_VALUE]) for model, error in usual.items()}
            self._departures.observe(self._next, sample.rate, usual)
            self._one_step.compare(self._next, sample.rate)
        for made in self._made:
            made.total += sample.rate
            made.count += 1
            if sample.at_seconds >= made.until_seconds:
                self._whole_horizon.compare(made.expected, made.total / made.count)
        self._made = [made for made in self._made if sample.at_seconds < made.until_seconds]

    def _learn(self, sample: Sample) -> None:
        self._largest = max(self._largest, sample.rate)
        self._trend.observe(sample.rate, sample.steps)
        self._seasons.observe(sample.at_seconds, sample.rate, self._samples.step_seconds)

    def _foresee(self) -> None:
        """Keep what every model expects, to compare it with what comes."""
        self._next = {}
        if len(self._samples) < FEWEST_SAMPLES:
            return
        models, now = self._followed(), self._samples.times[-1]
        step = self._samples.step_seconds
        self._next = {name: self._bounded(model(step)) for name, model in models.items()}
        self._next[OURS] = _weighted(self._next, self._weights(self._one_step))
        until = now + self._horizon
        if not self._made or until >= self._made[-1].until_seconds + COMPARED_EVERY * self._horizon:
            expected = self.by_model()
            expected[OURS] = _weighted(expected, self._weights(self._scores))
            self._made.append(_Made(until, expected))

    def _followed(self) -> Mapping[str, Model]:
        """Return the models that can forecast now, as functions of the seconds ahead."""
        if self._models is None:
            samples = self._samples
            last = samples.rates[-1] if samples.rates else 0.0
            self._models = {LAST_VALUE: lambda seconds: last}
            if len(samples) >= FEWEST_SAMPLES:
                self._models |= self._with_regressions()
        return self._models

    def _with_regressions(self) -> dict[str, Model]:
        samples = self._samples
        elapsed, rates = samples.elapsed()
        newest, step = float(elapsed[-1]), samples.step_seconds
        models: dict[str, Model] = {
            curve.model: _from(curve, newest) for curve in regressions(elapsed, rates)
        }
        models["damped trend"] = lambda seconds: self._trend.ahead(seconds / step)
        seasonal = self._seasons.follow()
        if seasonal is not None:
            models["seasonal"] = seasonal
        return models

    def _mean_ahead(self, model: Model) -> float:
        step, horizon = self._samples.step_seconds, self._horizon
        points = max(1, min(POINTS, round(horizon / step))) if step > 0 else 1
        if points == 1:
            return self._bounded(model(step))
        apart = (horizon - step) / (points - 1)
        return sum(self._bounded(model(step + n * apart)) for n in range(points)) / points

    def _bounded(self, rate: float) -> float:
        return (
            max(0.0, min(rate, self._most))
            if isfinite(rate)
            else min(self._samples.now, self._most)
        )

    def save(self) -> dict[str, Any]:
        """Return all that was learnt, in what JSON knows."""
        return {
            "samples": self._samples.save(),
            "trend": self._trend.save(),
            "seasons": self._seasons.save(),
            "largest": self._largest,
            "horizon": self._horizon,
            "made": [
                [each.until_seconds, each.expected, each.total, each.count] for each in self._made
            ],
            "next": dict(self._next),
            "one_step": self._one_step.save(),
            "whole_horizon": self._whole_horizon.save(),
            "departures": self._departures.save(),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Take up what ``save`` returned; what is none of it is refused with ValueError."""
        try:
            restored = Forecaster(self._samples.window_seconds, period_seconds=self._given_period)
            restored._take_up(state)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"no saved forecaster: {error!r}") from error
        restored._limit = self._limit
        self.__dict__ = restored.__dict__

    def _take_up(self, state: dict[str, Any]) -> None:
        self._samples.load(state["samples"])
        self._trend = DampedTrend.saved(state["trend"])
        self._seasons.load(state["seasons"])
        self._largest = float(state["largest"])
        self._horizon = float(state["horizon"])
        self._made = [_Made(*each) for each in state["made"]]
        self._next = dict(state["next"])
        self._one_step = Scores.saved(state["one_step"])
        self._whole_horizon = Scores.saved(state["whole_horizon"])
        self._departures = Departures.saved(state["departures"])
        self._models = None


def _from(curve: Curve, newest: float) -> Model:
    return lambda seconds: curve.rate_at(newest + seconds)


def _weighted(rates: Mapping[str, float], weights: Mapping[str, float]) -> float:
    return sum(weight * rates[name] for name, weight in weights.items())


def _check(number: float, what: str) -> None:
    if not (isfinite(number) and number > 0):
        raise ConfigurationError(
            f"Forecaster({what}={number!r}) can't work. Give {what} as a number over 0."
        )
