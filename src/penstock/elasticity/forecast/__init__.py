"""What a rate will be: models, and the forecaster that chooses among them."""

from penstock.elasticity.forecast.damped_trend import DampedTrend
from penstock.elasticity.forecast.exponential import exponential
from penstock.elasticity.forecast.forecast import Forecast
from penstock.elasticity.forecast.forecaster import Forecaster
from penstock.elasticity.forecast.linear import linear
from penstock.elasticity.forecast.logarithmic import logarithmic
from penstock.elasticity.forecast.period import find_period
from penstock.elasticity.forecast.regression import best_regression, regressions
from penstock.elasticity.forecast.seasonal import Seasons

__all__ = [
    "DampedTrend",
    "Forecast",
    "Forecaster",
    "Seasons",
    "best_regression",
    "exponential",
    "find_period",
    "linear",
    "logarithmic",
    "regressions",
]
